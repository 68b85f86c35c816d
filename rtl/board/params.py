# SPDX-License-Identifier: Apache-2.0
"""Parameters of the top behind a serial line, and the addresses of its streams."""

from dataclasses import dataclass, field

from ahasd.rtl.ahasd.params import AhasdParams, request_widths
from ahasd.rtl.bridge.params import ADDRESS_BITS, BridgeParams
from ahasd.rtl.host.map import BLOCK_WIDTH
from ahasd.rtl.host.params import BLOCKS

PUSHED = {"pim": ("draft", "request", "task", "done", "measure"), "npu": ("feedback_in",)}
"""Input streams of the top that the host pushes to, by domain."""

POPPED = {
    "pim": ("decision", "feedback", "answer", "preverify", "issue"),
    "npu": ("batch_out",),
}
"""Output streams of the top that the host pops from, by domain."""


def channel(name: str) -> int:
    """Return the address of a stream: in the block of its domain, its place among its like."""
    for streams in (PUSHED, POPPED):
        for domain, names in streams.items():
            if name in names:
                return BLOCKS[domain] << BLOCK_WIDTH | names.index(name)
    raise KeyError(name)


@dataclass(frozen=True, kw_only=True)
class BoardParams:
    """Sizes of the top behind a serial line: those of its parts, which must fit together.

    Parameters
    ----------
    ahasd, bridge
        Sizes of the top and of the bridge.

    Raises
    ------
    ValueError
        The two do not fit; the message names the rule and the values.
    """

    ahasd: AhasdParams = field(default_factory=AhasdParams)
    bridge: BridgeParams = field(default_factory=BridgeParams)

    def __post_init__(self) -> None:
        width = self.ahasd.host.address_width
        if width != ADDRESS_BITS:
            raise ValueError(f"ahasd.host.address_width must be {ADDRESS_BITS}, not {width}")
        widths = stream_widths(self.ahasd)
        widest = max(widths, key=lambda name: widths[name])
        if widths[widest] > self.bridge.data_bits:
            raise ValueError(
                f"bridge.payload_bytes = {self.bridge.payload_bytes} must hold the"
                f" {widths[widest]} bits of {widest}"
            )


def stream_widths(params: AhasdParams) -> dict[str, int]:
    """Return the bits of every stream's payload."""
    queues, tvc, number = params.queues, params.tvc, params.gtsu.id_width
    word = 2 + queues.epoch_width + queues.body_width
    flags = 5  # event, full, void, last, next_valid
    report = flags + queues.batch_width + queues.length_width + queues.token_width
    report += queues.npu_cycles_width + queues.kv_width
    return {
        "draft": word + params.edc.entropy_width,
        "request": sum(request_widths(params).values()),
        "task": number,
        "done": number,
        "measure": 2 + tvc.cycles_width + tvc.length_width,
        "feedback_in": report,
        "decision": 1 + 3,
        "feedback": report + queues.epoch_width,
        "answer": tvc.tokens_width + 3 + 2 * tvc.cycles_width,
        "preverify": queues.epoch_width
        + queues.branch_width
        + queues.kv_width
        + queues.length_width
        + queues.task_width,
        "issue": 2 + number,
        "batch_out": word,
    }
