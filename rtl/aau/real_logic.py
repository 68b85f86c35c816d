# SPDX-License-Identifier: Apache-2.0
"""What a lane multiplies and adds, in Amaranth; `reals.py` is the model of every function here."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import add_with_carry, let, normalised, shift_right, widen
from ahasd.rtl.aau.reals import FP32_FRACTION_WIDTH, GUARD_WIDTH, LOWEST, real_width


def real(m: Module, width: int, name: str, **fields: Value | int) -> data.View:
    """Return a number of its fields; those that are not given are 0."""
    number = Signal(real_layout(width), name=name)
    m.d.comb += [number[key].eq(value) for key, value in fields.items()]
    return number


def lowest() -> Value:
    """Return the exponent of zero."""
    return Const(LOWEST, EXPONENT_WIDTH).as_signed()


def loaded(m: Module, number: data.View, width: int, name: str) -> data.View:
    """Return a number as it was loaded, with a longer mantissa; zero with the lowest exponent."""
    missing = width - len(number.mantissa)
    return real(
        m,
        width,
        name,
        mantissa=Cat(Const(0, missing), number.mantissa),
        exponent=Mux(number.mantissa[-1], number.exponent, lowest()),
        sign=number.sign,
        infinite=number.infinite,
        nan=number.nan,
    )


def constant(m: Module, code: Value, width: int, name: str) -> data.View:
    """Return a constant in IEEE single precision as a number."""
    biased = code[FP32_FRACTION_WIDTH:31]
    finite = let(m, biased.any() & ~biased.all(), f"{name}_finite")
    mantissa = Cat(code[:FP32_FRACTION_WIDTH], Const(1, 1))
    missing = width - len(mantissa)
    exponent = widen(biased, EXPONENT_WIDTH) - Const(127, EXPONENT_WIDTH)
    if missing < 0:
        total = widen(mantissa[-missing:], width + 1) + widen(mantissa[-missing - 1], width + 1)
        total = let(m, total[: width + 1], f"{name}_rounded")
        mantissa = Cat(total[: width - 1], total[width - 1] | total[width])
        exponent = exponent + total[width]
    else:
        mantissa = Cat(Const(0, missing), mantissa)
    return real(
        m,
        width,
        name,
        mantissa=mantissa & finite.replicate(width),
        exponent=Mux(finite, exponent[:EXPONENT_WIDTH].as_signed(), lowest()),
        sign=code[31] & finite,
    )


def rounded(m: Module, product: data.View, width: int, name: str) -> data.View:
    """Return a product of `2*width` bits as a mantissa of `width`, rounded to odd."""
    wide = product.mantissa
    high = wide[-1]
    long = Cat(wide[:width].any() | wide[width], wide[width + 1 :])
    short = Cat(wide[: width - 1].any() | wide[width - 1], wide[width:-1])
    exponent = product.exponent.as_unsigned() + widen(high, EXPONENT_WIDTH)
    return real(
        m,
        width,
        name,
        mantissa=Mux(high, long, short),
        exponent=exponent[:EXPONENT_WIDTH],
        sign=product.sign,
        infinite=product.infinite,
        nan=product.nan,
    )


def ordered_layout(width: int) -> data.StructLayout:
    """Return the shape of two addends, the larger first; `below` is the sign that 0 has."""
    return data.StructLayout(
        {
            "large": width,
            "small": width,
            "right": (width + GUARD_WIDTH).bit_length(),
            "exponent": signed(EXPONENT_WIDTH),
            "sign": 1,
            "unlike": 1,
            "below": 1,
            "infinite": 1,
            "nan": 1,
        }
    )


def ordered(m: Module, p: data.View, q: data.View, width: int) -> data.View:
    """Return two addends in order, and how far apart they are."""
    level = p.exponent == q.exponent
    swap = let(m, (p.exponent < q.exponent) | (level & (p.mantissa < q.mantissa)), "swap")
    high, low = (Signal(signed(EXPONENT_WIDTH), name=name) for name in ("high", "low"))
    m.d.comb += [
        high.eq(Mux(swap, q.exponent, p.exponent)),
        low.eq(Mux(swap, p.exponent, q.exponent)),
    ]
    apart = let(m, (high - low).as_unsigned(), "apart")
    found = Signal(ordered_layout(width), name="ordered")
    near = len(found.right)
    unlike = p.sign ^ q.sign
    m.d.comb += [
        found.large.eq(Mux(swap, q.mantissa, p.mantissa)),
        found.small.eq(Mux(swap, p.mantissa, q.mantissa)),
        found.right.eq(apart[:near] | apart[near:].any().replicate(near)),
        found.exponent.eq(high),
        found.sign.eq(Mux(p.infinite, p.sign, Mux(q.infinite | swap, q.sign, p.sign))),
        found.unlike.eq(unlike),
        found.below.eq(p.sign & q.sign),
        found.infinite.eq(p.infinite | q.infinite),
        found.nan.eq(p.nan | q.nan | (p.infinite & q.infinite & unlike)),
    ]
    return found


def total_layout(width: int) -> data.StructLayout:
    """Return the shape of a sum before it is normalised."""
    layout = real_layout(width + GUARD_WIDTH + 1)
    return data.StructLayout({**layout.members, "below": 1})


def added(m: Module, given: data.View, width: int) -> data.View:
    """Return the sum of two addends, not normalised."""
    none = Const(0, GUARD_WIDTH)
    aligned = shift_right(m, Cat(none, given.small), given.right, sticky=True)
    total = add_with_carry(
        Cat(none, given.large, Const(0, 1)),
        Cat(aligned ^ given.unlike.replicate(len(aligned)), given.unlike),
        given.unlike,
    )
    found = Signal(total_layout(width), name="total")
    m.d.comb += [found.mantissa.eq(total)]
    m.d.comb += [
        found[key].eq(given[key]) for key in ("exponent", "sign", "below", "infinite", "nan")
    ]
    return found


def settled(m: Module, total: data.View, width: int, name: str) -> data.View:
    """Return a sum normalised and rounded to odd."""
    mantissa, zeros = normalised(m, total.mantissa)
    cut = GUARD_WIDTH + 1
    some = mantissa[-1]
    exponent = total.exponent.as_unsigned() + Const(1, EXPONENT_WIDTH)
    exponent = exponent[:EXPONENT_WIDTH] - widen(zeros, EXPONENT_WIDTH)
    return real(
        m,
        width,
        name,
        mantissa=Cat(mantissa[:cut].any() | mantissa[cut], mantissa[cut + 1 :]),
        exponent=Mux(some, exponent[:EXPONENT_WIDTH].as_signed(), lowest()),
        sign=Mux(some | total.infinite, total.sign, total.below),
        infinite=total.infinite,
        nan=total.nan,
    )


def scaled(m: Module, product: data.View, numerics: Numerics) -> Value:
    """Return a product of two mantissas as a scaled number, rounded half to even, saturating."""
    width = real_width(numerics)
    # Bits of the product below those that a scaled number can hold are rounded away, however
    # large the exponent is.
    kept = numerics.scaled_width + 1
    low = 2 * width - kept
    wide = product.mantissa
    head = Cat(wide[: low - 1].any(), wide[low - 1 :])
    bits = EXPONENT_WIDTH + 1
    top = Const(numerics.integer_width - 1, bits)
    right = let(m, (top - widen(product.exponent, bits).as_unsigned())[:bits], "apart")
    near = (kept + 1).bit_length()
    far = ~right[-1] & right[near:-1].any()
    amount = Mux(far, Const((1 << near) - 1, near), right[:near])
    amount = Mux(right[-1], Const(0, near), amount)
    shifted = shift_right(m, head, amount, sticky=True)
    up = shifted[1] & (shifted[0] | shifted[2])
    magnitude = let(m, shifted[2:] + widen(up, kept), "magnitude")
    plain = numerics.scaled_width - 1
    over = product.infinite | magnitude[plain:].any()
    magnitude = let(m, Cat(magnitude[:plain] | over.replicate(plain), Const(0, 1)), "limited")
    value = Mux(product.sign, (-magnitude).as_unsigned()[: plain + 1], magnitude)
    return value.as_signed()
