# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the top behind a serial line: its parts, and what joins them.

What one part gives to another depends on flip-flops only, so each can be asked for its outputs
before any takes its edge.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ahasd.rtl.ahasd.golden import NPU, PIM, AhasdGolden, Part
from ahasd.rtl.board.params import POPPED, PUSHED, BoardParams, channel, stream_widths
from ahasd.rtl.bridge.golden import STATUS_BITS, BridgeGolden
from ahasd.rtl.bridge.params import ADDRESS_BITS, Status
from ahasd.rtl.host.map import BLOCK_WIDTH
from ahasd.rtl.host.params import BLOCKS
from ahasd.rtl.lib.crossing import AsyncFifoGolden

MASTER_OUT = ("aw__valid", "aw__payload", "w__valid", "w__payload", "ar__valid", "ar__payload")
MASTER_IN = ("aw__ready", "w__ready", "ar__ready")
SLAVE_OUT = ("b__valid", "b__payload", "r__valid", "r__payload")


class Access(NamedTuple):
    """An access to a stream."""

    pop: int
    channel: int
    data: int

    @classmethod
    def unpack(cls, payload: int) -> "Access":
        """Read a payload from the wires."""
        address = payload >> 1 & ((1 << ADDRESS_BITS) - 1)
        return cls(payload & 1, address, payload >> 1 + ADDRESS_BITS)


class ChannelsGolden:
    """The streams of a domain behind addresses.

    Parameters
    ----------
    widths
        Bits of every stream's payload, by name.
    pushed, popped
        Names of those that are pushed to and popped from.
    """

    def __init__(
        self, widths: Mapping[str, int], pushed: Iterable[str], popped: Iterable[str]
    ) -> None:
        self._masks = {name: (1 << width) - 1 for name, width in widths.items()}
        self._pushed = {channel(name): name for name in pushed}
        self._popped = {channel(name): name for name in popped}
        self._offers: dict[str, int] = {}
        self._payloads = dict.fromkeys(self._pushed.values(), 0)
        self.result: int | None = None  # status and data, packed

    def pins(self, access: Access | None) -> dict[str, int]:
        """Return what the streams see."""
        pins: dict[str, int] = {}
        for name, payload in self._payloads.items():
            pins |= {f"{name}__valid": int(name in self._offers), f"{name}__payload": payload}
        asked = access.channel if access and access.pop and self.result is None else None
        for address, name in self._popped.items():
            pins[f"{name}__ready"] = int(address == asked)
        return pins

    @property
    def idle(self) -> bool:
        """Whether nothing is on offer."""
        return not self._offers and self.result is None

    def edge(self, access: Access | None, streams: Mapping[str, int], *, taken: bool) -> None:
        """Take an edge.

        Parameters
        ----------
        access
            On offer.
        streams
            Outputs of the unit behind the streams.
        taken
            The result is taken, if there is one.
        """
        result = None if taken else self.result
        full = set(self._offers)
        self._offers = {
            name: payload for name, payload in self._offers.items() if not streams[f"{name}__ready"]
        }
        if access is not None and self.result is None:
            status, data = Status.ABSENT, 0
            if access.pop and access.channel in self._popped:
                name = self._popped[access.channel]
                status = Status.OKAY if streams[f"{name}__valid"] else Status.EMPTY
                data = streams[f"{name}__payload"]
            elif not access.pop and access.channel in self._pushed:
                name = self._pushed[access.channel]
                status = Status.FULL if name in full else Status.OKAY
                if status is Status.OKAY:
                    self._offers[name] = self._payloads[name] = access.data & self._masks[name]
            result = status | data << STATUS_BITS
        self.result = result


class BoardGolden:
    """What the top behind a serial line does, edge by edge.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    parts
        Units of the top that are something else than their golden models, by name.
    """

    latency = BridgeGolden.latency

    def __init__(self, params: BoardParams, parts: Mapping[str, Part] | None = None) -> None:
        self.params = params
        self.interval = params.bridge.byte_cycles
        self._ahasd = AhasdGolden(params.ahasd, parts)
        self._bridge = BridgeGolden(params.bridge)
        widths = stream_widths(params.ahasd)
        self._npu, self._pim = (
            ChannelsGolden(widths, PUSHED[domain], POPPED[domain]) for domain in ("npu", "pim")
        )
        self._requests, self._answers = AsyncFifoGolden(2), AsyncFifoGolden(2)

    def step(self, pins: Mapping[str, int], clocks: int) -> dict[str, int]:
        """Take one edge of one domain or both.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            Bit 0 the PIM's edge, bit 1 the NPU's.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        bridge = self._bridge.outputs()
        access = Access.unpack(bridge["access__payload"]) if bridge["access__valid"] else None
        remote = access is not None and access.channel >> BLOCK_WIDTH == BLOCKS["pim"]
        local = None if remote else access
        crossed = Access.unpack(self._requests.data) if self._requests.read_ready else None

        ahasd = self._ahasd.step(
            {
                **{name: bridge[name] for name in MASTER_OUT},
                "b__ready": bridge["b__ready"],
                "r__ready": bridge["r__ready"],
                **self._npu.pins(local),
                **self._pim.pins(crossed),
                "now": pins["now"],
                "drained": 1,
                "layer_boundary": 0,
                "compute_request": 0,
            },
            clocks,
        )
        outputs = {
            "tx": bridge["tx"],
            "irq": ahasd["irq"],
            "idle_npu": int(bridge["idle_npu"] and self._npu.idle and ahasd["idle_npu"]),
            "idle_pim": int(ahasd["idle_pim"] and self._pim.idle and crossed is None),
        }

        waits = bridge["answer__ready"]
        answer, answered = self._npu.result, self._answers.read_ready
        if answer is None and answered:
            answer = self._answers.data
        replies = self._pim.result if self._answers.write_ready else None
        goes = remote and self._requests.write_ready
        comes = crossed is not None and self._pim.result is None
        ready = self._requests.write_ready if remote else self._npu.result is None
        master = {name: ahasd[name] for name in (*MASTER_IN, *SLAVE_OUT)}
        master |= {
            "rx": pins["rx"],
            "access__ready": int(ready),
            "answer__valid": int(answer is not None),
            "answer__payload": answer or 0,
        }
        npu, pim = bool(clocks & NPU), bool(clocks & PIM)
        self._requests.step(
            write_edge=npu,
            read_edge=pim,
            write=bridge["access__payload"] if goes else None,
            read=comes,
        )
        self._answers.step(
            write_edge=pim, read_edge=npu, write=replies, read=bool(answered and waits)
        )
        if pim:
            self._pim.edge(crossed, ahasd, taken=replies is not None)
        if npu:
            self._npu.edge(local, ahasd, taken=bool(waits))
            self._bridge.edge(master)
        return outputs
