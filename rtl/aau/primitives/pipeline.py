# SPDX-License-Identifier: Apache-2.0
"""What all primitives share: a pipeline without handshakes that moves when it is enabled.

Inputs are sampled at an edge at which `enable` is high. Their result stands on the outputs after
`latency` such edges, the sampling one counted. Every enabled edge has its result, so the interval
is 1. Whoever uses a primitive carries beside it what is valid, and stalls it by `enable`. Reset
leaves the registers alone.
"""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In


class Primitive(wiring.Component):
    """A pipeline in the PIM's clock domain; see the module.

    Attributes
    ----------
    latency
        Enabled edges from operands on the inputs to their result on the outputs.
    interval
        Enabled edges between results.

    Members
    -------
    enable : unsigned(1), in
        Registers move at the next edge.
    """

    latency: int
    interval = 1
    numerics: Any

    enable: Signal

    def __init__(self, members: dict[str, object]) -> None:
        super().__init__({"enable": In(1), **members})

    @property
    def params(self) -> Any:
        """What it was built from, as units of the catalogue call it."""
        return self.numerics

    def elaborate(self, platform: object) -> Module:
        """Build the module; every primitive does."""
        raise NotImplementedError

    def registers(self, m: Module) -> "Registers":
        """Return what makes this primitive's registers."""
        return Registers(m, self.enable)


class Registers:
    """Pipeline registers that move when they are enabled."""

    def __init__(self, m: Module, enable: Value) -> None:
        self._m = m
        self._enable = enable

    def hold(self, value: Value, stages: int = 1, name: str = "stage") -> Signal:
        """Return a value as it was so many enabled edges ago, at least one."""
        for stage in range(stages):
            register = Signal(value.shape(), name=f"{name}_{stage}", reset_less=True)
            with self._m.If(self._enable):
                self._m.d.pim += register.eq(value)
            value = register
        assert isinstance(value, Signal)
        return value


def widen(value: Value, width: int) -> Value:
    """Return a value with zeros, or copies of its sign if it has one, up to a width.

    It is signed if the value was.
    """
    missing = width - len(value)
    if not value.shape().signed:
        return Cat(value, Const(0, missing)) if missing else value
    return Cat(value, value[-1].replicate(missing)).as_signed()


def add_with_carry(a: Value, b: Value, carry: Value, *, subtract: bool = False) -> Value:
    """Return `a + b + carry`, or `a - b - carry`, as an unsigned value of their common width."""
    if subtract:
        b, carry = ~b, ~carry
    # The carry in makes bit 0 of the sum carry into bit 1.
    total = Cat(Const(1, 1), a) + Cat(carry, b)
    return total[1 : len(a) + 1]


def product(registers: Registers, a: Value, b: Value) -> Value:
    """Return the product of two unsigned values two enabled edges later.

    A first edge takes the products with the halves of b, a second one their sum: a whole product of
    16 bits and more would take longer than a cycle.
    """
    half = len(b) // 2
    low = registers.hold(a * b[:half], name="product_low")
    high = registers.hold(a * b[half:], name="product_high")
    upper = (high + widen(low[half:], len(high)))[: len(high)]
    return registers.hold(Cat(low[:half], upper), name="product")


def let(m: Module, value: Value, name: str) -> Signal:
    """Return a value as a signal, where it is used more than once.

    Amaranth writes an expression anew wherever it is used, which grows without bounds in chains.
    """
    signal = Signal(value.shape(), name=name)
    m.d.comb += signal.eq(value)
    return signal


def shift_right(m: Module, value: Value, amount: Value, *, sticky: bool) -> Value:
    """Return an unsigned value shifted right.

    With `sticky`, the lowest bit of the result is the OR of itself and of all bits that fell out.
    """
    width = len(value)
    amount = let(m, amount, "right")
    for i in range(len(amount)):
        step = min(1 << i, width)
        value = let(m, value, f"right_{i}")
        moved = Cat(value[step:], Const(0, step))
        if sticky:
            moved = moved | widen(value[:step].any(), width)
        value = Mux(amount[i], moved, value)
    return let(m, value, "shifted")


def normalised(m: Module, value: Value, fill: Value | None = None) -> tuple[Value, Value]:
    """Return an unsigned value shifted left until its highest bit is set, and by how much.

    Of 0 the value is 0 and the amount means nothing. A `fill` of one bit comes in from the right in
    place of zeros; then 0 is shifted by all but one of its bits.
    """
    width = len(value)
    right = Const(0, 1) if fill is None else fill
    amount: list[Value] = []
    for i in reversed(range((width - 1).bit_length())):
        step = 1 << i
        value = let(m, value, f"left_{i}")
        empty = let(m, ~value[width - step :].any(), f"empty_{i}")
        value = Mux(empty, Cat(right.replicate(step), value[: width - step]), value)
        amount.insert(0, empty)
    return let(m, value, "aligned"), Cat(*amount)
