# SPDX-License-Identifier: Apache-2.0
"""Who leads the machine that ends a row through a program, in Amaranth."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.scalar_programs import Code, Register, Source, instruction_cycles, programs


def starts(numerics: Numerics) -> dict[Op, int]:
    """Return where the program of an operation starts, all of them one behind the other."""
    found, at = {}, 0
    for op, program in programs(numerics).items():
        found[op] = at
        at += len(program)
    return found


class ScalarSequencer(wiring.Component):
    """Go through a program, instruction by instruction, and through the cycles of each.

    Members
    -------
    start : unsigned(1), in
        Stand before the program of `op`.
    op : unsigned(4), in
        Operation.
    run : unsigned(1), in
        Go on.
    code, a_from, b_from, to : out
        The instruction.
    tick : unsigned(4), out
        Cycle of the instruction.
    signs : unsigned(1), out
        In this cycle, the last but one, a result is made positive.
    writes : unsigned(1), out
        With this cycle, the last one, the result goes to its register.
    done : unsigned(1), out
        The program ends with this cycle.
    """

    start: Signal
    op: Signal
    run: Signal
    code: Signal
    a_from: Signal
    b_from: Signal
    to: Signal
    tick: Signal
    signs: Signal
    writes: Signal
    done: Signal

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        super().__init__(
            {
                "start": In(1),
                "op": In(4),
                "run": In(1),
                "code": Out(Code),
                "a_from": Out(Source),
                "b_from": Out(Source),
                "to": Out(Register),
                "tick": Out(4),
                "signs": Out(1),
                "writes": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        made, places = programs(self.numerics), starts(self.numerics)
        program = [step for steps in made.values() for step in steps]
        final = {start + len(made[op]) - 1 for op, start in places.items()}
        m = Module()
        at, last, ends = Signal(range(len(program))), Signal(4), Signal()
        with m.Switch(at):
            for i, step in enumerate(program):
                with m.Case(i):
                    m.d.comb += [
                        self.code.eq(step.code),
                        self.a_from.eq(step.a),
                        self.b_from.eq(step.b),
                        self.to.eq(step.to),
                        ends.eq(int(i in final)),
                    ]
        with m.Switch(self.code):
            for code in Code:
                with m.Case(code):
                    m.d.comb += last.eq(instruction_cycles(code, self.numerics) - 1)
        m.d.comb += [
            self.writes.eq(self.run & (self.tick == last)),
            # Products are positive from the start.
            self.signs.eq((self.tick == last - 1) & (self.code != Code.MULTIPLY)),
            self.done.eq(self.writes & ends),
        ]
        with m.If(self.run):
            m.d.pim += self.tick.eq(self.tick + 1)
        with m.If(self.writes):
            m.d.pim += [self.tick.eq(0), at.eq(at + 1)]
        with m.If(self.start):
            m.d.pim += self.tick.eq(0)
            with m.Switch(self.op):
                for op, start in places.items():
                    with m.Case(op):
                        m.d.pim += at.eq(start)
        return m
