# SPDX-License-Identifier: Apache-2.0
"""How far rows of the AAU are from float64, by numerics: the table of docs/units/aau.md.

python benchmarks/aau_accuracy.py

Random rows of several lengths and spreads in FP16; every FP16 number up to 8 in magnitude through
the activations. Errors of results are before these are rounded to a format, but for norms.
"""

import math

import numpy as np

from ahasd.rtl.aau import oracle
from ahasd.rtl.aau.encodings import Command, Op, constant_code, constant_value
from ahasd.rtl.aau.ending import finish
from ahasd.rtl.aau.golden import AauGolden
from ahasd.rtl.aau.numerics import VARIANTS
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, ints
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.rows import Beat

FP16 = Format.FP16
LENGTHS, SPREADS, SEEDS = (2, 17, 100, 1000, 4096), (0.1, 0.5, 1, 2, 4, 6), range(6)
LOG2_E, ONE = math.log2(math.e), constant_code(1.0)
SMALLEST = 2.0**-14
"""What is smaller is a zero in FP16."""


def row(x: Ints, b: Ints | None = None) -> Beat:
    """Return a row with some operands."""
    none = np.zeros_like(x)
    return Beat(x, none if b is None else b, none)


def calculated(golden: AauGolden, command: Command, given: Beat) -> oracle.Floats:
    """Return results before they are rounded."""
    constants, _ = finish(command, golden.run(command, given).state, golden.params)
    found = golden.calculated(command, given, constants)
    exponent = found.exponent - (real_width(golden.params.numerics) - 1)
    signed = np.where(found.sign == 1, -1.0, 1.0) * found.mantissa
    return np.asarray(signed * np.exp2(exponent.astype(np.float64)), dtype=np.float64)


def softmax(golden: AauGolden) -> tuple[float, float]:
    """Return the largest relative error of a probability, and of their sum."""
    relative = total = 0.0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for spread in SPREADS:
            for length in LENGTHS:
                x = oracle.codes(rng.normal(0, spread, length), FP16)
                command = Command(op=Op.SOFTMAX, length=length, k0=constant_code(LOG2_E))
                found = calculated(golden, command, row(x))
                exact = oracle.softmax(oracle.floats(x, FP16))
                some = exact > oracle.SOFTMAX_FROM
                relative = max(relative, float(np.abs(found / exact - 1)[some].max()))
                total = max(total, abs(float(found.sum()) - 1))
    return relative, total


def entropy(golden: AauGolden) -> float:
    """Return the largest error of a vocabulary's entropy [nat]."""
    worst = 0.0
    for spread in (0.3, 1, 3, 6):
        for length in (32_000, 256_000):
            x = oracle.codes(np.random.default_rng(1).normal(0, spread, length), FP16)
            command = Command(op=Op.STATISTICS, length=length, k0=constant_code(LOG2_E))
            summary = golden.run(command, row(x)).summary
            assert summary is not None
            exact = oracle.entropy(oracle.floats(x, FP16))
            worst = max(worst, abs(constant_value(summary.entropy) - exact))
    return worst


def activations(golden: AauGolden) -> tuple[float, float]:
    """Return the largest errors of SiLU and GELU."""
    every = np.arange(1 << 16)
    near = np.abs(oracle.floats(every, FP16)) <= 8
    x = ints(every[near & ((every >> 10 & 31) != 0)])
    values = oracle.floats(x, FP16)
    k = 2 * math.sqrt(2 / math.pi) * LOG2_E
    silu = Command(op=Op.SILU, length=len(x), k0=constant_code(LOG2_E), k1=ONE)
    gelu = Command(
        op=Op.GELU, length=len(x), k0=constant_code(0.044715 * k), k1=ONE, k2=constant_code(k)
    )
    return (
        float(np.abs(calculated(golden, silu, row(x)) - oracle.silu(values)).max()),
        float(np.abs(calculated(golden, gelu, row(x)) - oracle.gelu(values)).max()),
    )


def norm(golden: AauGolden) -> float:
    """Return the largest error of an RMSNorm in FP16 [units of the last place]."""
    worst = 0.0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for length in (2, 100, 4096):
            x = oracle.codes(rng.normal(0, 3, length), FP16)
            gain = oracle.codes(rng.normal(1, 0.2, length), FP16)
            command = Command(op=Op.RMSNORM, length=length, k1=constant_code(1e-5), k2=ONE)
            found = oracle.floats(golden.run(command, row(x, gain)).results, FP16)
            exact = oracle.rmsnorm(oracle.floats(x, FP16), oracle.floats(gain, FP16), 1e-5)
            some = np.abs(exact) >= SMALLEST
            worst = max(worst, float(oracle.ulps(found, exact, FP16)[some].max()))
    return worst


def main() -> None:
    """Print a row for every variant."""
    print("| numerics | softmax, relative | sum - 1 | entropy, nat | SiLU | GELU | RMSNorm, ulp |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, numerics in VARIANTS.items():
        golden = AauGolden(AauParams(numerics=numerics))
        figures = (*softmax(golden), entropy(golden), *activations(golden))
        texts = [f"{figure:.1e}" for figure in figures]
        print(f"| {name} | {' | '.join(texts)} | {norm(golden):.2f} |")


if __name__ == "__main__":
    main()
