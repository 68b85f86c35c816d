# SPDX-License-Identifier: Apache-2.0
import re

import pytest

from ahasd import UserError
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.energy.table import LEVELS, EnergyTable, load_energy
from ahasd.system.toml import known

TABLES = ["gpu", "hbm", "mobile"]


def test_these_tables_are_packaged():
    assert known("energy") == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_every_row_has_a_unit_a_source_and_levels_in_order(name):
    rows = load_energy(name).rows()
    for key, row in rows.items():
        assert re.search(r"_(pj|nj|w)(_per_(bit|byte))?$", key)
        assert len(row.source) >= 8
        assert row.at("low") <= row.at("mid") <= row.at("high")
        assert row.at("high") > 0


def test_a_whole_read_lies_where_published_figures_do():
    mobile, hbm, gpu = (load_energy(name) for name in ("mobile", "hbm", "gpu"))
    parts = ("array_pj_per_bit", "column_pj_per_bit", "io_pj_per_bit")

    def memory(table, level):
        activation = table.activate_pj
        share = activation.at(level) / (8 * activation.row_bytes) if activation else 0
        return float(sum(table.row(part).at(level) for part in parts) + share)

    # With the other end: 4 to 6.5 pJ/bit, as LPDDR5 is usually taken for.
    whole = [memory(mobile, level) + float(mobile.phy_pj_per_bit.at(level)) for level in LEVELS]
    assert whole == pytest.approx([4, 5, 6.5], rel=0.04)
    # The memory alone: AttAcc's sum, Micron's averages of HBM2E, GDDR6X and GDDR6.
    assert memory(hbm, "low") == pytest.approx(3.59, rel=0.001)
    assert memory(hbm, "high") == pytest.approx(6.0, rel=0.001)
    assert memory(gpu, "low") == pytest.approx(7.25)
    assert memory(gpu, "mid") == pytest.approx(7.5)


def test_pim_reads_with_mac_and_activate_are_what_their_source_adds_up_to():
    mobile = load_energy("mobile")
    assert mobile.activate_pj
    for level, expected in zip(LEVELS, (0.7, 1.0, 1.6), strict=True):
        whole = (
            mobile.row("pim_read_pj_per_bit").at(level)
            + mobile.row("pim_mac_pj").at(level) / 8
            + mobile.activate_pj.at(level) / (8 * 2048)
        )
        assert float(whole) == pytest.approx(expected, rel=0.01)


def test_refresh_and_standby_of_sixteen_ranks_are_a_fraction_of_a_watt_to_two():
    mobile = load_energy("mobile")
    watts = [
        16 * float(mobile.row("refresh_nj").at(level)) * 1e-9 / 3.906e-6
        + 16 * float(mobile.row("background_w").at(level))
        for level in LEVELS
    ]
    assert watts == pytest.approx([0.346, 0.787, 2.278], rel=0.01)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"vector_pj.mid": 0.1}, "vector_pj: low = 0.8, mid = 0.1, high = 24.6 must not fall"),
        ({"vector_pj.high": 3.0}, "vector_pj: low = 0.8, mid = 3.2, high = 3 must not fall"),
        ({"vector_pj.low": -1.0}, "vector_pj.low = -1.0: must be a finite number >= 0"),
        ({"vector_pj.low": float("nan")}, "vector_pj.low = nan"),
        ({"vector_pj.low": float("inf")}, "vector_pj.low = inf"),
        ({"vector_pj.low": "'1'"}, "vector_pj.low = '1'"),
        ({"vector_pj.source": "'me'"}, "vector_pj.source = 'me'"),
        ({"vector_pj": {"low": 1, "mid": 1, "high": 1}}, "missing key vector_pj.source"),
        ({"vector_pj": 3.0}, "vector_pj = 3.0: must be a table"),
        ({"vektor_pj": 3.0}, "unknown key vektor_pj; did you mean vector_pj?"),
        ({"activate_pj.row_bytes": 0}, "activate_pj.row_bytes = 0"),
        (
            {"array_pj_per_bit.low": 0.45},
            (
                "array_pj_per_bit.low = 0.45 and 0.0977 pJ/bit of an activate, spread over its row,"
                " are below floor_pj_per_bit = 0.55"
            ),
        ),
        ({"pim_read_pj_per_bit.low": 0.45}, "pim_read_pj_per_bit.low = 0.45 and 0.0977"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(overrides, told):
    with pytest.raises(UserError) as caught:
        load_energy("mobile", overrides)
    assert str(caught.value).startswith("energy mobile: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_floor_may_be_met_but_not_undercut():
    # With 1600 pJ for 2048 bytes, 0.09765625 pJ/bit, just 0.55 is left.
    exact = {"array_pj_per_bit.low": 0.45234375}
    assert isinstance(load_energy("mobile", exact), EnergyTable)
    with pytest.raises(UserError):
        load_energy("mobile", {"array_pj_per_bit.low": 0.45234374})


def test_an_unknown_table_names_those_that_exist():
    with pytest.raises(UserError, match=r"unknown energy 'phone': choose one of gpu, hbm, mobile"):
        load_energy("phone")


def test_a_row_that_is_left_out_says_so():
    with pytest.raises(ValueError, match="energy table gpu has no aau_pj, which this run needs"):
        load_energy("gpu").row("aau_pj")


@pytest.mark.parametrize(
    ("name", "memories"),
    [("mobile", ("lpddr5-6400", "lpddr5x-8533", "paper")), ("hbm", ("hbm2", "hbm3-5200"))],
)
def test_a_table_is_for_memories_with_rows_of_one_size(name, memories):
    for memory in memories:
        load_energy(name).check_memory(memory, load_timing(memory).row_bytes)
        load_energy("gpu").check_memory(memory, load_timing(memory).row_bytes)


def test_a_table_for_rows_of_another_size_is_refused():
    with pytest.raises(UserError) as caught:
        load_energy("mobile").check_memory("hbm2", 1024)
    assert str(caught.value) == (
        "energy table mobile has activate_pj for rows of 2048 bytes, but rows of hbm2 have 1024: "
        "choose a table made for this memory"
    )


def test_levels_are_the_decimal_numbers_of_the_file():
    assert load_energy("mobile").npu_mac_pj.at("low") * 10 == 3
