# SPDX-License-Identifier: Apache-2.0
"""A board by the names of its registers and streams."""

from collections import Counter

from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.board.params import channel, stream_widths
from ahasd.rtl.bridge.params import Op
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.registers import REGISTERS
from ahasd.sim.bridge.client import Client
from ahasd.sim.driver import Registers

COUNTERS = tuple(register.name for register in REGISTERS if register.kind is Kind.COUNTER)

POLLS = 20
"""Questions to a stream until it must offer something: more than any unit takes."""


class Fault(AssertionError):
    """The board does not do what it should; the message tells what was expected."""


class Board:
    """The top of a board, for a host.

    Attributes
    ----------
    registers
        By name.
    before, counted
        The board's counters as they stood at first, and what they must have counted since.

    Parameters
    ----------
    client
        To the board.
    params
        Sizes of the top.
    """

    def __init__(self, client: Client, params: AhasdParams) -> None:
        self.client = client
        self.params = params
        self.registers = Registers(client.read, client.write)
        self.before: dict[str, int] = {}
        self.counted: Counter[str] = Counter()
        self._widths = stream_widths(params)

    def push(self, stream: str, payload: int) -> None:
        """Push a payload.

        Raises
        ------
        Fault
            The stream stays full.
        """
        for _ in range(POLLS):
            if self.client.push(channel(stream), payload, self._widths[stream]):
                return
        raise Fault(f"{stream} stays full")

    def pop(self, stream: str) -> int | None:
        """Return what a stream offers now, or None."""
        return self.client.pop(channel(stream))

    def expect(self, stream: str, payload: int) -> None:
        """Pop a payload, and find it to be this one.

        Raises
        ------
        Fault
            Another comes, or none.
        """
        found = self.await_(stream)
        if found != payload:
            raise Fault(f"{stream} gives 0x{found:x}, not 0x{payload:x}")

    def await_(self, stream: str) -> int:
        """Pop the next payload.

        Raises
        ------
        Fault
            None comes.
        """
        for _ in range(POLLS):
            found = self.pop(stream)
            if found is not None:
                return found
        raise Fault(f"{stream} offers nothing")

    def expect_register(self, name: str, **fields: int) -> None:
        """Read a register, and find these fields in it.

        Raises
        ------
        Fault
            One has another value, also after some reads.
        """
        found = {}
        for _ in range(POLLS):
            found = self.registers.read(name)
            if all(found[key] == value for key, value in fields.items()):
                return
        raise Fault(f"{name} reads {found}, not {fields}")

    def counters(self) -> dict[str, int]:
        """Read every counter."""
        return {name: self.registers.read(name)["value"] for name in COUNTERS}

    def drain(self, *streams: str) -> None:
        """Pop from streams until none offers anything."""
        for stream in streams:
            while self.pop(stream) is not None:
                pass

    def status_of(self, op: Op, address: int, data: bytes = b"") -> str:
        """Return the name of the status of a request's answer."""
        return self.client.ask(op, address, data)[0].name
