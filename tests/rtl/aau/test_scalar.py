# SPDX-License-Identifier: Apache-2.0
"""The machine that ends a row: its arithmetic against exact numbers, its RTL against its model."""

from fractions import Fraction
from math import log2, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahasd.rtl.aau import scalar
from ahasd.rtl.aau.encodings import MOMENTS, Command, Op, State, constant_code
from ahasd.rtl.aau.ending import finish
from ahasd.rtl.aau.numerics import CHEAP, DEFAULT, VARIANTS, Numerics
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.budgets import BUDGETS
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.scalar import MANTISSA_WIDTH, Number
from ahasd.rtl.aau.scalar_programs import (
    Code,
    Source,
    instruction_cycles,
    program_cycles,
    programs,
)
from ahasd.rtl.aau.sums import whole
from ahasd.rtl.configs import Unit
from ahasd.sim.pysim import PysimEngine

SCALAR = Unit(
    name="scalar",
    does="the machine that ends a row",
    hardware="ahasd.rtl.aau.scalar_unit:ScalarUnit",
    golden="",
    domains=("pim",),
    configurations={},
)
EVERY = pytest.mark.parametrize("numerics", VARIANTS.values(), ids=VARIANTS)


def exact(number: Number) -> Fraction:
    """Return what a number stands for."""
    scale = Fraction(2) ** (number.exponent - (MANTISSA_WIDTH - 1))
    return (-1) ** number.sign * number.mantissa * scale


def of(value: float) -> Number:
    """Return a number that is a float of 32 bits or fewer."""
    fraction = Fraction(value)
    assert fraction.denominator & (fraction.denominator - 1) == 0
    behind = fraction.denominator.bit_length() - 1
    return scalar.normalised(int(fraction < 0), abs(fraction.numerator), -behind)


def is_rounded_to_odd(found: Number, wanted: Fraction) -> bool:
    """Tell whether a number is exact, or odd and within a unit of the last place."""
    if exact(found) == wanted:
        return True
    unit = Fraction(2) ** (found.exponent - (MANTISSA_WIDTH - 1))
    return found.mantissa & 1 == 1 and abs(exact(found) - wanted) < unit


numbers = st.builds(
    Number,
    st.integers(0, 1),
    st.integers(1 << (MANTISSA_WIDTH - 1), (1 << MANTISSA_WIDTH) - 1),
    st.integers(-60, 60),
)


@given(numbers, numbers)
def test_products_and_sums_are_exact_or_odd(a, b):
    assert is_rounded_to_odd(scalar.multiply(a, b), exact(a) * exact(b))
    assert is_rounded_to_odd(scalar.add(a, b), exact(a) + exact(b))
    floored = scalar.add(a, b, floor=True)
    assert floored == (scalar.add(a, b) if exact(a) + exact(b) > 0 else scalar.ZERO)


def test_what_is_zero():
    one = of(1.0)
    assert scalar.add(one, scalar.negated(one)) == scalar.ZERO
    assert scalar.multiply(one, scalar.ZERO) == scalar.ZERO
    assert scalar.add(one, scalar.ZERO) == one
    for function in (scalar.log2, scalar.reciprocal_root, scalar.power):
        assert function(scalar.ZERO, DEFAULT) == scalar.ZERO


def test_constants():
    assert exact(scalar.HALF) == Fraction(1, 2)
    assert exact(scalar.THREE_HALVES) == Fraction(3, 2)
    assert float(exact(scalar.LN2)) == pytest.approx(np.log(2), rel=2**-32)


@EVERY
def test_logarithms_err_no_more_than_their_table(numerics):
    rng = Random(1)
    # The table's budget is of operands as short as the table takes them, and of rounded results.
    limit = BUDGETS["log2"].measure(numerics) + 3 * 2.0**-numerics.mantissa_width
    for _ in range(2000):
        x = of(rng.getrandbits(32) / 2 ** rng.randrange(60) + 2.0**-60)
        assert float(exact(scalar.log2(x, numerics))) == pytest.approx(
            log2(float(exact(x))), abs=limit
        )
    assert scalar.log2(of(1.0), numerics) == scalar.ZERO
    assert exact(scalar.log2(of(0.125), numerics)) == -3


def root(x: Number, numerics: Numerics) -> Number:
    """Return what statistics make of their first sum: 1/a is the square of 1/sqrt(a)."""
    registers: dict[int, Number] = {
        Source.R1: x,
        Source.HALF: scalar.HALF,
        Source.THREE_HALVES: scalar.THREE_HALVES,
    }
    program = programs(numerics)[Op.RMSNORM]
    begin = next(i for i, step in enumerate(program) if step.code is Code.RSQRT)
    for to, code, a, b in program[begin:-2]:
        left = registers[a]
        match code:
            case Code.RSQRT:
                registers[to] = scalar.reciprocal_root(left, numerics)
            case Code.MULTIPLY:
                registers[to] = scalar.multiply(left, registers[b])
            case _:
                registers[to] = scalar.add(left, scalar.negated(registers[b]))
    return registers[Source.R2]


@EVERY
def test_reciprocal_roots_err_as_their_budget_says(numerics):
    rng = Random(2)
    limit = BUDGETS["rsqrt"].measure(numerics)
    cut = 2.0 ** -(numerics.result_width - 1)  # of operands, by whose half a table errs too
    for _ in range(2000):
        x = of((rng.getrandbits(32) | 1) / 2 ** rng.randrange(60))
        found = float(exact(root(x, numerics))) * sqrt(float(exact(x)))
        assert found == pytest.approx(1, abs=limit + (0 if numerics.rsqrt_newton else cut))
    assert exact(scalar.reciprocal_root(of(0.25), numerics)) == 2


def test_a_root_of_the_default_is_within_its_budget():
    xs = [of((1 << 20 | i << 8) / 2.0**20) for i in range(3 << 12)]
    worst = max(abs(float(exact(root(x, DEFAULT))) * sqrt(float(exact(x))) - 1) for x in xs)
    assert worst <= 1.2e-5


@EVERY
def test_an_anchor_rounds_to_scaled_numbers_and_saturates(numerics):
    anchor, step = scalar.anchor(numerics), 2.0**-numerics.fraction_width
    most = 2.0**numerics.integer_width

    def found(value):
        return scalar.anchored(scalar.add(of(value), anchor), numerics) * step

    assert [found(i * step) for i in (-3, -1, 0, 1, 3)] == [i * step for i in (-3, -1, 0, 1, 3)]
    assert found(2.5 * step) == 3 * step
    assert found(-2.5 * step) == -2 * step
    assert found(2.25 * step) == 2 * step
    assert found(-2.75 * step) == -3 * step
    assert (found(-most), found(most - step)) == (-most, most - step)
    for value in (most, most + 1, 2 * most, 1e6):
        assert found(value) == most - step
    for value in (-most - step, -2 * most, -3.5 * most, -1e6):
        assert found(value) == -most


@EVERY
def test_powers_of_anchored_numbers(numerics):
    for value in (0.0, 1.0, 5.0, 17.0):
        x = scalar.add(of(value), scalar.anchor(numerics))
        assert exact(scalar.power(x, numerics)) == Fraction(1, 2 ** int(value))
    limit = BUDGETS["exp2"].measure(numerics) + 2.0 ** (1 - numerics.mantissa_width)
    rng = Random(3)
    for _ in range(1000):
        value = rng.getrandbits(16) / 2 ** rng.randrange(12, 17)
        x = scalar.add(of(value), scalar.anchor(numerics))
        assert float(exact(scalar.power(x, numerics))) * 2**value == pytest.approx(1, rel=limit)


def test_single_precision_is_cut_off():
    for value in (1.0, -0.3, 1e-30, 12345.678, -3e38):
        code = np.float32(value).view(np.uint32)
        assert scalar.single(of(float(np.float32(value)))) == code
    assert scalar.single(Number(0, (1 << 32) - 1, 0)) == np.float32(2 - 2**-23).view(np.uint32)
    assert scalar.single(scalar.ZERO) == 0
    assert scalar.single(of(2.0**-127)) == 0
    most = np.finfo(np.float32).max.view(np.uint32)
    assert scalar.single(of(2.0**128)) == most
    assert scalar.single(of(-(2.0**200))) == 1 << 31 | int(most)


def test_cycles_worked_by_hand():
    # Operands take a cycle each, the four digits of a product one each, the result one.
    assert instruction_cycles(Code.MULTIPLY, DEFAULT) == 2 + 4 + 1
    # An addend may change places and moves by five digits; a sum is made, and made positive.
    assert instruction_cycles(Code.ADD, DEFAULT) == 2 + 1 + 5 + 2 + 1
    assert instruction_cycles(Code.TAKE, DEFAULT) == 3
    # Places in a segment have up to 11 bits, of the cheap variant 8.
    assert [instruction_cycles(Code.RSQRT, each) for each in (DEFAULT, CHEAP)] == [6, 5]
    assert [instruction_cycles(Code.LOG2, each) for each in (DEFAULT, CHEAP)] == [7, 6]
    assert program_cycles(Op.SUM, DEFAULT) == 3 + 7
    # Two integers and a logarithm, and three sums.
    assert program_cycles(Op.SOFTMAX, DEFAULT) == 2 * 3 + 7 + 3 * 11
    # A Newton step is four products and a difference; the table is read a cycle faster.
    assert program_cycles(Op.RMSNORM, DEFAULT) - program_cycles(Op.RMSNORM, CHEAP) == 4 * 7 + 11 + 1
    assert program_cycles(Op.MAX, DEFAULT) == 0


def random_state(op: Op, params: AauParams, rng: Random) -> State:
    """Return sums as rows of an operation may have them."""
    count = min(rng.choice((1, 2, 17, 300, 4096)), params.length_max)
    behind = params.sum_fraction_width
    most = (1 << params.b_width) - 1
    if op in MOMENTS:
        reference = rng.choice((0, -20, 5, rng.randrange(-126, 128)))
        a = rng.randrange(-(2 * count << behind) + 1, 2 * count << behind)
        if rng.random() < 0.3:
            a = -(-a >> rng.randrange(behind + 5))
        b = (a * a // count >> behind) + rng.getrandbits(rng.randrange(1, behind + 2))
    else:
        reference = rng.randrange(-params.numerics.scaled_max, params.numerics.scaled_max)
        a = rng.randrange(1 << (behind - 1), (count + 1) << behind)
        b = rng.randrange(20 * a)
    if rng.random() < 0.1:
        a, b = 0, 0
    b = min(b, most)
    return State(
        reference=reference,
        a=a,
        b=b,
        count=count,
        key=0,
        index=0,
        seen=1,
        nan=0,
        positive=0,
        negative=0,
    )


def told_by_model(command: Command, state: State, params: AauParams) -> dict[str, int]:
    """Return what the model leaves, pin by pin."""
    constants, told = finish(command, state, params)
    op = Op(command.op)
    if op is Op.SOFTMAX:
        width = params.numerics.scaled_width + 1  # pins are unsigned
        return {"limit": constants.limit & ((1 << width) - 1)}
    if op is Op.SUM:
        return {"value": told.value}
    if op is Op.STATISTICS:
        return told._asdict()
    layout = real_layout(real_width(params.numerics))
    reals = {"factor": constants.factor, "offset": constants.offset}
    if op is Op.RMSNORM:
        del reals["offset"]
    return {
        name: layout.const({key: int(field) for key, field in real._asdict().items()})
        .as_value()
        .value
        for name, real in reals.items()
    }


def compare(params: AauParams, rows: int, seed: int) -> None:
    """Run programs one after the other; outputs and their cycle must be the model's."""
    engine, rng = PysimEngine(SCALAR, params), Random(seed)
    every = list(programs(params.numerics))
    for number in range(rows):
        op = every[number % len(every)]
        state = random_state(op, params, rng)
        choices = (1.0, 0.0, -1 / state.count, 1e-5, 300.0, 3e38, 2.0**-126)
        k0, k1, k2 = (
            constant_code(rng.choice((*choices, rng.gauss(0, 1), rng.gauss(0, 100))))
            for _ in range(3)
        )
        if rng.random() < 0.7:
            k1 &= 0x7FFFFFFF
        command = Command(op=op, length=state.count, k0=k0, k1=k1, k2=k2)
        pins = {
            "first": state.a,
            "second": state.b,
            "count": state.count,
            "peak": state.reference,
            "level": whole(state.reference, op, params),
            "base": state.reference if op in MOMENTS else 0,
            **{"k0": k0, "k1": k1, "k2": k2, "op": op, "start": 0, "run": 0},
        }
        engine.step(pins | {"start": 1}, 1, 0)
        done = [
            engine.step(pins | {"run": 1}, 1, 0)["done"]
            for _ in range(program_cycles(op, params.numerics))
        ]
        assert done == [0] * (len(done) - 1) + [1]
        seen = engine.step(pins, 1, 0)
        wanted = told_by_model(command, state, params)
        assert {name: seen[name] for name in wanted} == wanted, (command, state)


@EVERY
def test_the_hardware_leaves_what_the_model_leaves(numerics):
    compare(AauParams(numerics=numerics), 40, 1)


@pytest.mark.slow
@EVERY
def test_the_hardware_leaves_what_the_model_leaves_of_many_rows(numerics):
    compare(AauParams(numerics=numerics), 2000, 2)


@pytest.mark.parametrize(
    "numerics",
    [
        Numerics(mantissa_width=20, guard_width=16, log2_segments=2, exp2_segments=2),
        Numerics(mantissa_width=14, log2_segments=256, rsqrt_segments=256),
        Numerics(mantissa_width=15, log2_segments=2, rsqrt_newton=False),
        Numerics(integer_width=10, rsqrt_segments=4),
    ],
)
def test_the_hardware_equals_the_model_with_other_tables(numerics):
    compare(AauParams(numerics=numerics), 25, 3)


MUTANTS = {
    "a logarithm below zero loses its sign": (
        "scalar_unit",
        "m.Case(Code.TAKE, Code.LOG2)",
        "m.Case(Code.TAKE)",
    ),
    "the root of an odd exponent is that of an even one": (
        "scalar_logic",
        "a.exponent[0])",
        "Const(0, 1))",
    ),
    "a variance goes below zero": (
        "scalar_unit",
        "(code.matches(*FLOORING) & sign) | ",
        "",
    ),
    "a root of zero is read": ("scalar_unit", "| (code.matches(*FUNCTIONS) & zero)", ""),
    "what is normalised away leaves no trace": (
        "scalar_unit",
        "odd = mantissa[:cut].any() | mantissa[cut]",
        "odd = mantissa[cut]",
    ),
    "the larger addend moves": (
        "scalar_unit",
        "(tick == 1) | swaps | takes_exponent",
        "(tick == 1) | takes_exponent",
    ),
    "a difference of equal exponents stays below zero": (
        "scalar_unit",
        "self._signs & p[-1])",
        "0)",
    ),
    "an addend moves by a digit too few": ("scalar_unit", "whole > i", "whole > i + 1"),
    "a falling function rises": ("scalar_logic", "sign = -1 if table.falling else 1", "sign = 1"),
    "the rest of a place is lost": (
        "scalar_operands",
        "b.mantissa.eq(place[: function.table.rest_width])",
        "b.mantissa.eq(0)",
    ),
    "second sums have the exponent of the first": (
        "scalar_unit",
        "Cat(Const(0, 1), self.base).as_signed()",
        "self.base",
    ),
    "a limit wraps": ("scalar_logic", "within = ~number.sign & (", "within = 1 | ("),
    "a factor is cut off": ("scalar_logic", "+ widen(number.mantissa[cut - 1], width + 1)", ""),
    "what is too large is no number in single precision": (
        "scalar_logic",
        "Mux(large, most, code)",
        "code",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_machine_is_caught(name, mutant):
    file, before, after = MUTANTS[name]
    mutant("aau", before, after, file)
    with pytest.raises(AssertionError):
        compare(AauParams(numerics=CHEAP), 400, 5)
