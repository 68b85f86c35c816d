# SPDX-License-Identifier: Apache-2.0
from fractions import Fraction
from importlib.resources import files

import pytest

from ahasd import UserError
from ahasd.system.platform import Npu, Pim, Platform, load_platform
from ahasd.system.toml import known

GB = 10**9
FULL = {"pim.efficiency": "1.0", "npu.offchip_efficiency": "1.0"}


def test_mobile_paper_is_the_printed_table():
    platform = load_platform("mobile-paper")
    assert platform.pim.ranks == 16
    assert platform.pim.channels == 4
    assert platform.pim.ranks_per_channel == 4
    assert platform.capacity_bytes == 64 * 2**30
    assert platform.pim.period_ps == 1250
    assert platform.npu.period_ps == 1000
    assert platform.npu.scratchpad_bytes == 8 * 2**20
    assert platform.kv_bytes == 2
    assert platform.dlm_ranks == "map"
    # 16 TOPS an array, counted in multiply-accumulates.
    assert platform.npu.mac_s == 2 * 128 * 128 * GB
    assert platform.npu.weight_load_bytes_s == 256 * GB


@pytest.mark.parametrize(
    ("overrides", "rate_gb_s"),
    [
        ({}, "16"),
        ({"pim.bandwidth_scope": "per_rank"}, "51.2"),
        ({"pim.bandwidth_scope": "per_rank", "pim.gops_counts": "mac"}, "102.4"),
        ({"pim.bandwidth_scope": "per_rank", "pim.gops": "1024"}, "256"),
        ({"pim.gops_scope": "total"}, "3.2"),
        ({"pim.gops_scope": "total", "pim.gops_counts": "mac"}, "6.4"),
        ({"pim.efficiency": "0.5"}, "8"),
        ({"pim.bandwidth_scope": "per_rank", "pim.efficiency": "0.5"}, "25.6"),
    ],
)
def test_the_rate_of_a_rank_is_the_lower_of_banks_and_unit(overrides, rate_gb_s):
    platform = load_platform("mobile-paper", FULL | overrides)
    assert platform.pim.rank_stream_bytes_s == Fraction(rate_gb_s) * GB


@pytest.mark.parametrize(
    ("overrides", "rate_gb_s"),
    [
        ({}, "51.2"),
        ({"npu.offchip_scope": "per_channel"}, "204.8"),
        ({"npu.offchip_scope": "per_rank"}, "819.2"),
        ({"npu.offchip_efficiency": "0.9"}, "46.08"),
    ],
)
def test_the_npu_path_scales_with_its_scope(overrides, rate_gb_s):
    platform = load_platform("mobile-paper", FULL | overrides)
    assert platform.offchip_bytes_s == Fraction(rate_gb_s) * GB


def test_a_platform_is_frozen_all_the_way_down():
    platform = load_platform("mobile-paper")
    with pytest.raises(Exception, match="frozen"):
        platform.pim.__setattr__("ranks", 8)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"pim.bandwith_gb_s": "1"}, "unknown key pim.bandwith_gb_s; did you mean pim.bandwidth_"),
        ({"pim.ranks": "many"}, "pim.ranks = 'many': must be a whole number > 0 and <= 16"),
        ({"pim.ranks": "32"}, "pim.ranks = 32: must be a whole number > 0 and <= 16"),
        ({"pim.ranks": "6"}, "pim: ranks = 6 must be a multiple of channels = 4"),
        ({"pim.channels": "0"}, "pim.channels = 0: must be a whole number > 0"),
        ({"pim.rank_capacity_bytes": "4e9"}, "= 4000000000.0: must be a whole number > 0"),
        ({"pim.bandwidth_gb_s": "-1"}, "pim.bandwidth_gb_s = -1: must be a finite number >= 0.001"),
        ({"pim.bandwidth_scope": "rank"}, "'rank': must be 'total' or 'per_rank'"),
        ({"pim.gops": "0"}, "pim.gops = 0: must be a finite number >= 0.001"),
        ({"pim.gops": "inf"}, "pim.gops = inf: must be a finite number >= 0.001"),
        ({"pim.gops_scope": "all"}, "'all': must be 'unit' or 'total'"),
        ({"pim.gops_counts": "flop"}, "'flop': must be 'op' or 'mac'"),
        ({"pim.efficiency": "1.01"}, "= 1.01: must be a finite number > 0 and <= 1"),
        (
            {"pim.clock_mhz": "801"},
            "801 MHz is not a whole number of picoseconds a period; nearest ",
        ),
        ({"npu.clock_mhz": "3200"}, "npu.clock_mhz: 3200 MHz is not a whole number of picoseconds"),
        ({"pim.phase_ps": "1250"}, "phase_ps = 1250 must be below the period of 1250 ps"),
        ({"npu.phase_ps": "-1"}, "npu.phase_ps = -1: must be a whole number >= 0"),
        ({"npu.offchip_scope": "x"}, "must be 'total', 'per_channel' or 'per_rank'"),
        ({"npu.offchip_efficiency": "0"}, "= 0: must be a finite number > 0 and <= 1"),
        ({"npu.ideal_array": "1"}, "npu.ideal_array = 1: must be true or false"),
        ({"dlm_ranks": "12"}, "dlm_ranks = 12: must be 'map' or 'all'"),
        ({"kv_bytes": "4"}, "kv_bytes = 4: must be a whole number >= 1 and <= 2"),
        ({"pim": "3"}, "pim = 3: must be a table"),
    ],
)
def test_a_wrong_platform_is_refused(overrides, told):
    with pytest.raises(UserError) as caught:
        load_platform("mobile-paper", overrides)
    assert str(caught.value).startswith("platform mobile-paper: ")
    assert told in str(caught.value)


def test_the_remedy_for_a_clock_is_the_nearest_one_on_the_grid():
    with pytest.raises(UserError, match="nearest that is: 3125 MHz"):
        load_platform("mobile-paper", {"npu.clock_mhz": "3200"})
    assert load_platform("mobile-paper", {"npu.clock_mhz": "3125"}).npu.period_ps == 320


def test_a_phase_just_below_the_period_is_accepted():
    assert load_platform("mobile-paper", {"pim.phase_ps": "1249"}).pim.phase_ps == 1249


@pytest.mark.parametrize(
    "key", ["name", "pim.ranks", "pim.efficiency", "npu.arrays", "npu.offchip_scope"]
)
def test_a_missing_key_is_named(tmp_path, key):
    text = (files("ahasd.system") / "configs/platforms/mobile-paper.toml").read_text()
    table, _, name = key.rpartition(".")
    head, marker, rest = text.partition(f"[{table}]") if table else ("", "", text)
    lines = rest.splitlines(keepends=True)
    gone = next(i for i, line in enumerate(lines) if line.startswith(f"{name} ="))
    file = tmp_path / "mine.toml"
    file.write_text(head + marker + "".join(lines[:gone] + lines[gone + 1 :]))
    with pytest.raises(UserError, match=rf"^platform {file}: missing key {key} \("):
        load_platform(str(file))


def test_an_unknown_platform_lists_the_known_ones():
    with pytest.raises(UserError, match=r"unknown platform 'phone'.*mobile-paper"):
        load_platform("phone")


def test_every_packaged_platform_loads_and_is_named_after_its_file():
    for name in known("platforms"):
        assert load_platform(name).name == name


def test_every_field_says_what_it_is():
    for model in (Platform, Pim, Npu):
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
