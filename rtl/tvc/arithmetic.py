# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of the TVC: one adder that takes its time, and helpers with explicit widths."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.lib.tree import sum_tree


def extend(value: Value, width: int) -> Value:
    """Return an unsigned value with zeros up to a width."""
    return Cat(value, Const(0, width - len(value)))


def extend_signed(value: Value, width: int) -> Value:
    """Return a signed value with copies of its sign up to a width."""
    return Cat(value, value[-1].replicate(width - len(value)))


def saturate(value: Value, width: int) -> Value:
    """Return an unsigned value, or the largest of a smaller width that does not hold it."""
    if len(value) <= width:
        return extend(value, width)
    return value[:width] | value[width:].any().replicate(width)


def smaller(a: Value, b: Value) -> Value:
    """Return the smaller of two unsigned values of one width."""
    return Mux(a < b, a, b)


def times(value: Value, count: Value) -> Value:
    """Multiply by a number of 0 to `2**(len(count) - 1)`."""
    top = len(count) - 1
    width = len(value) + top
    parts = [
        Mux(count[bit], extend(Cat(Const(0, bit), value), width), Const(0, width))
        for bit in range(top)
    ]
    return Mux(count[top], Cat(Const(0, top), value), sum_tree(parts)[:width])


class SerialArithmetic(wiring.Component):
    """Sums of products, and quotients, one bit a cycle with one adder.

    Timing: after a cycle with `start`, `busy` is high for `steps` cycles; then the result stands
    until the next start or preset. `start` and `preset` are ignored while busy, and may come
    together.

    A product adds `operand * factor` to the accumulator; `factor` is signed and of `steps` bits, in
    its low bits. A quotient puts `factor // operand` into `quotient`; `factor` is an unsigned
    dividend of `steps` bits, in its high bits, and the accumulator, preset to 0, is left with the
    remainder. By a divisor of 0 the quotient is all ones. No result may need more than `width` bits
    with its sign.

    Reset ends a calculation and leaves the result undefined.

    Parameters
    ----------
    width
        Bits of everything.

    Members
    -------
    preset : unsigned(1), in
        Load the accumulator with `preset_value`.
    start : unsigned(1), in
        Begin with `operand`, `factor` and `steps`: a quotient if `divide` is set, else a product.
    busy : unsigned(1), out
        A calculation is under way.
    accumulator : unsigned(width), out
        Sum of products, in two's complement.
    quotient : unsigned(width), out
        Result of the last division.
    """

    preset: Signal
    preset_value: Signal
    start: Signal
    divide: Signal
    operand: Signal
    factor: Signal
    steps: Signal
    busy: Signal
    accumulator: Signal
    quotient: Signal

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(
            {
                "preset": In(1),
                "preset_value": In(width),
                "start": In(1),
                "divide": In(1),
                "operand": In(width),
                "factor": In(width),
                "steps": In(range(width + 1)),
                "busy": Out(1),
                "accumulator": Out(width),
                "quotient": Out(width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        width = self.width
        m = Module()

        operand = Signal(width)
        shifted = Signal(width)  # factor on its way out, or dividend out and quotient in
        dividing = Signal()
        self.left = left = Signal.like(self.steps)

        augend = Signal(width)
        subtract = Signal()
        total = Signal(width)
        last = Signal()
        m.d.comb += [
            self.busy.eq(left.any()),
            self.quotient.eq(shifted),
            augend.eq(Mux(dividing, Cat(shifted[-1], self.accumulator), self.accumulator)),
            last.eq(left == Const(1, len(left))),  # the bit of a factor that weighs less than 0
            subtract.eq(dividing | last),
            # The carry in is bit 0 of the sum.
            total.eq(
                (Cat(Const(1, 1), augend) + Cat(subtract, operand ^ subtract.replicate(width)))[1:]
            ),
        ]
        with m.If(self.busy):
            m.d.pim += left.eq(left - 1)
            with m.If(dividing):
                m.d.pim += [
                    self.accumulator.eq(Mux(total[-1], augend, total)),
                    shifted.eq(Cat(~total[-1], shifted[:-1])),
                ]
            with m.Else():
                with m.If(shifted[0]):
                    m.d.pim += self.accumulator.eq(total)
                m.d.pim += [
                    operand.eq(Cat(Const(0, 1), operand[:-1])),
                    shifted.eq(shifted[1:]),
                ]
        with m.Else():
            with m.If(self.preset):
                m.d.pim += self.accumulator.eq(self.preset_value)
            with m.If(self.start):
                m.d.pim += [
                    operand.eq(self.operand),
                    shifted.eq(self.factor),
                    dividing.eq(self.divide),
                    left.eq(self.steps),
                ]
        return m
