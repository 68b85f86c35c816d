# SPDX-License-Identifier: Apache-2.0
"""Products in Amaranth, of half as many rows as a factor has bits."""

from amaranth.hdl import Cat, Const, Module, Value

from ahasd.rtl.aau.primitives.pipeline import let


def booth(m: Module, a: Value, b: Value) -> Value:
    """Return the product of two unsigned values of one width.

    Radix 4, after Booth: two bits of b and the one below them make a digit of -2 to 2, and a row is
    a times that digit. Of a row below 0 all bits are inverted; the one that is missing stands in
    the next row, whose two lowest places are empty. Above its bits a row has the inverse of its
    sign and a one, which together with what the first row has there extends all signs.
    """
    width = len(a)
    digits = width // 2 + 1
    bits = Cat(Const(0, 1), b, Const(0, 2))
    total, missing = Const(0, 1), Const(0, 1)
    for i in range(digits):
        low, middle, high = bits[2 * i], bits[2 * i + 1], bits[2 * i + 2]
        one = let(m, low ^ middle, f"one_{i}")
        two = let(m, (high ^ middle) & ~one, f"two_{i}")
        single = Cat(a & one.replicate(width), Const(0, 1))
        double = Cat(Const(0, 1), a & two.replicate(width))
        row = single | double
        if i < digits - 1:  # the last digit is not below 0
            row = row ^ high.replicate(width + 1)
            signs = Cat(high, high, ~high) if i == 0 else Cat(~high, Const(1, 1))
            row = Cat(row, signs)
        if i > 0:
            row = Cat(Const(0, 2 * i - 2), missing, Const(0, 1), row)
        missing = high
        total = total + row
    return total[: 2 * width]
