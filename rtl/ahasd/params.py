# SPDX-License-Identifier: Apache-2.0
"""Parameters of the top and the encodings of the ports that are its own."""

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

from ahasd.rtl.edc.params import EdcParams
from ahasd.rtl.gtsu.params import GtsuParams
from ahasd.rtl.host.params import HostParams
from ahasd.rtl.queues.params import QueuesParams
from ahasd.rtl.tvc.params import TvcParams


class State(enum.IntEnum):
    """What becomes of the batch on its way from the sequencer to the draft queue."""

    COLLECT = 0
    """Its words come in."""
    READY = 1
    """It is complete and waits for room, and for the feedback before it."""
    OFFER = 2
    """The EDC is asked."""
    AWAIT = 3
    """The EDC decides."""
    GRANT = 4
    """Without EDC: the top decides to go on."""
    HEAD = 5
    """Its header goes into the queue; a cut too."""
    TOKENS = 6
    """Its tokens do."""


@dataclass(frozen=True, kw_only=True)
class AhasdParams:
    """Sizes of the top: those of its units, which must fit together.

    Parameters
    ----------
    edc, tvc, queues, gtsu, host
        Sizes of the units.

    Raises
    ------
    ValueError
        Two units do not fit; the message names the rule and the values.
    """

    edc: EdcParams = field(default_factory=EdcParams)
    tvc: TvcParams = field(default_factory=lambda: TvcParams(tokens_width=5))
    queues: QueuesParams = field(default_factory=lambda: QueuesParams(batch_width=6))
    gtsu: GtsuParams = field(default_factory=GtsuParams)
    host: HostParams = field(default_factory=HostParams)

    def __post_init__(self) -> None:
        for left, right in (
            ("queues.kv_width", "tvc.length_width"),
            ("queues.npu_cycles_width", "tvc.cycles_width"),
            ("queues.length_width", "tvc.tokens_width"),
            ("queues.task_width", "gtsu.id_width"),
        ):
            values = [self._value(name) for name in (left, right)]
            if values[0] != values[1]:
                raise ValueError(f"{left} = {values[0]} must equal {right} = {values[1]}")
        # The register map has places of these sizes.
        for name, limit in (
            ("edc.boundary_count", 7),
            ("edc.entropy_width", 16),
            ("edc.llr_width", 5),
            ("tvc.cycles_width", 32),
            ("tvc.length_width", 16),
            ("tvc.tokens_width", 6),
            ("queues.waiting_width", 16),
            ("gtsu.ranks", 32),
        ):
            value = self._value(name)
            if value > limit:
                raise ValueError(f"{name} must be at most {limit} for the registers, not {value}")

    def _value(self, name: str) -> int:
        unit, attribute = name.split(".")
        return getattr(getattr(self, unit), attribute)

    @property
    def index_width(self) -> int:
        """Bits of a token's place in its batch."""
        return max(1, (self.queues.batch_tokens - 1).bit_length())


class Request(NamedTuple):
    """Payload of the `request` stream, lowest field first.

    Shall tokens be pre-verified, and how many? If so, `epoch`, `branch`, `position` and `task` go
    into the pre-verification queue with the length that the TVC finds.
    """

    epoch: int
    branch: int
    position: int
    task: int
    overhead_tokens: int
    available_tokens: int

    def pack(self, params: AhasdParams) -> int:
        """Return the payload as the integer on the wires."""
        packed = offset = 0
        for value, width in zip(self, request_widths(params).values(), strict=True):
            packed |= value << offset
            offset += width
        return packed


def request_widths(params: AhasdParams) -> dict[str, int]:
    """Return the fields of the `request` stream and their widths, lowest first."""
    queues, tvc = params.queues, params.tvc
    return {
        "epoch": queues.epoch_width,
        "branch": queues.branch_width,
        "position": queues.kv_width,
        "task": queues.task_width,
        "overhead_tokens": tvc.tokens_width,
        "available_tokens": tvc.tokens_width,
    }
