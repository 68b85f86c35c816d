# SPDX-License-Identifier: Apache-2.0
"""The golden model's estimates are within the bounds that the oracle states."""

from fractions import Fraction
from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.oracle import Measured, affine_model, is_affine, ratio_model
from ahasd.rtl.tvc.params import Levels, Record, Table, TvcParams


def filled(params: TvcParams, table: Table, measurements: list[Measured], **levels: int):
    """Return a golden model with one table filled."""
    model = TvcGolden(params, Levels(params.npu_ratio_one, **levels))
    for measured in measurements:
        model.record(Record(table, *measured))
    return model


def tables(params: TvcParams, rng: Random) -> list[Measured]:
    """Draw a table: near a line, rising or falling, equal lengths, corners, or anything."""
    count = rng.randint(1, params.table_entries)
    lengths = [rng.randint(1, params.length_max) for _ in range(count)]
    if rng.random() < 0.3:
        lengths = [min(lengths[0] + rng.randrange(4), params.length_max) for _ in range(count)]
    match rng.choice(("line", "falling", "equal", "corners", "anything", "small")):
        case "line":
            slope, level = (rng.randrange(1 + params.cycles_max // params.length_max // 2),) * 2
            cycles = [level + slope * length for length in lengths]
        case "falling":
            slope = rng.randrange(1 + params.cycles_max // params.length_max)
            cycles = [params.cycles_max - slope * length for length in lengths]
        case "equal":
            lengths = [lengths[0]] * count
            cycles = [rng.randint(0, params.cycles_max) for _ in range(count)]
        case "corners":
            lengths = [rng.choice((1, params.length_max)) for _ in range(count)]
            cycles = [rng.choice((0, params.cycles_max)) for _ in range(count)]
        case "anything":
            cycles = [rng.randint(0, params.cycles_max) for _ in range(count)]
        case _:
            lengths = [rng.randint(1, min(8, params.length_max)) for _ in range(count)]
            cycles = [rng.randint(0, min(2000, params.cycles_max)) for _ in range(count)]
    return [Measured(*pair) for pair in zip(cycles, lengths, strict=True)]


@pytest.mark.parametrize("configuration", UNITS["tvc"].configurations)
def test_an_npu_task_is_the_affine_model_rounded_down_and_saturated(configuration):
    params = UNITS["tvc"].configurations[configuration]
    rng = Random(1)
    for _ in range(600):
        table = tables(params, rng)
        kv_length = rng.choice((0, params.length_max, rng.randint(0, params.length_max)))
        found = filled(params, Table.NVCT, table, affine_npu=1).npu_cycles(kv_length)
        if is_affine(table):
            exact = affine_model(table).cycles(kv_length)
            assert found == min(exact // 1, params.cycles_max), (table, kv_length)


@pytest.mark.parametrize("configuration", UNITS["tvc"].configurations)
@pytest.mark.parametrize("affine", [0, 1])
def test_an_npu_task_by_the_ratio_model_is_within_its_bound(configuration, affine):
    params = UNITS["tvc"].configurations[configuration]
    rng = Random(2)
    for _ in range(600):
        table = tables(params, rng)
        if affine:  # equal lengths fall back to it
            table = [measured._replace(length=table[0].length) for measured in table]
        kv_length = rng.choice((0, params.length_max, rng.randint(0, params.length_max)))
        found = filled(params, Table.NVCT, table, affine_npu=affine).npu_cycles(kv_length)
        exact = min(ratio_model(table).cycles(kv_length), Fraction(params.cycles_max))
        short = Fraction(kv_length, 1 << params.ratio_fraction_width)
        assert exact - short - 1 < found <= exact, (table, kv_length)


@pytest.mark.parametrize("configuration", UNITS["tvc"].configurations)
def test_the_tokens_in_a_slack_by_the_affine_model_are_exact(configuration):
    params = UNITS["tvc"].configurations[configuration]
    rng = Random(3)
    for _ in range(600):
        table = tables(params, rng)
        if is_affine(table):
            model = affine_model(table)
            edge = model.cycles(rng.randint(0, params.tokens_max)) // 1 + rng.randint(-1, 1)
            slack = rng.choice((edge, rng.randint(0, params.cycles_max)))
            slack = min(max(slack, 0), params.cycles_max)
            found = filled(params, Table.PVCT, table, affine_preverify=1).tokens(slack)
            assert found == model.tokens(Fraction(slack)), (table, slack)


@pytest.mark.parametrize("configuration", UNITS["tvc"].configurations)
def test_the_tokens_in_a_slack_by_the_ratio_model_are_within_their_bound(configuration):
    params = UNITS["tvc"].configurations[configuration]
    rng = Random(4)
    for _ in range(600):
        table = tables(params, rng)
        model = ratio_model(table)
        edge = model.cycles(rng.randint(0, params.tokens_max)) // 1 + rng.randint(-1, 1)
        slack = rng.choice((edge, rng.randint(0, params.cycles_max)))
        slack = min(max(slack, 0), params.cycles_max)
        found = filled(params, Table.PVCT, table).tokens(slack)
        exact = model.tokens(Fraction(slack))
        if found is None:
            assert model.slope < Fraction(1, 1 << params.ratio_fraction_width)
            continue
        assert exact is not None
        longer = slack + Fraction(found, 1 << params.ratio_fraction_width)
        assert exact <= found, (table, slack)
        assert found * model.slope <= longer, (table, slack)


# A verification of LLaMA2-13B on the published mobile NPU: 223 M PIM cycles that stream the
# weights, and 14 k more for every token of context.
STREAMING_CYCLES = 223_000_000
CYCLES_PER_KV_TOKEN = 14_000
PROFILES = {
    "an offline profile": [128, 400, 800, 1200],
    "the last four tasks": [600, 604, 607, 612],
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_affine_predictions_of_a_task_that_streams_weights_are_good_and_ratios_are_not(
    profile, noise, capsys
):
    params = TvcParams()
    rng = Random(5)

    def duration(kv_length: int) -> int:
        exact = STREAMING_CYCLES + CYCLES_PER_KV_TOKEN * kv_length
        return round(exact * (1 + rng.uniform(-noise, noise)))

    lengths = PROFILES[profile]
    asked = [616, 620, 628] if profile == "the last four tasks" else range(128, 1201, 16)
    worst = {"affine": 0.0, "ratio": 0.0}
    for _ in range(20):
        table = [Measured(duration(length), length) for length in lengths]
        for name, affine in (("affine", 1), ("ratio", 0)):
            model = filled(params, Table.NVCT, table, affine_npu=affine)
            for kv_length in asked:
                exact = STREAMING_CYCLES + CYCLES_PER_KV_TOKEN * kv_length
                error = abs(model.npu_cycles(kv_length) / exact - 1)
                worst[name] = max(worst[name], error)
    with capsys.disabled():
        told = ", ".join(f"{name} {error:.2e}" for name, error in worst.items())
        print(f"\n  {profile}, noise {noise}: largest relative error {told}")
    if noise == 0:
        assert worst["affine"] < 1e-8
        assert worst["ratio"] > 0.01
    assert worst["affine"] < 0.05
