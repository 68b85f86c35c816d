# SPDX-License-Identifier: Apache-2.0
"""What becomes of memories, and that a latch array is the memory that it replaces."""

import json

import pytest

from ahasd.gen.emit import to_rtlil
from ahasd.gen.yosys import YosysError
from ahasd.synth import memories, passes
from ahasd.synth.memories import Memory

LOAD = ("read_rtlil design.il", "hierarchy -check -top unit", "proc", "flatten", "memory_collect")
MITER = (
    "design -copy-from gold -as gold unit",
    "design -copy-from gate -as gate unit",
    "miter -equiv -flatten -make_assert gold gate miter",
    "hierarchy -top miter",
    "clk2fflogic",
    "opt_clean",
    # The clock is one of the free inputs, so its edges are wherever they hurt.
    "sat -verify -prove-asserts -set-init-zero -set-def-inputs -seq 8 miter",
)


def memory(**changes) -> Memory:
    plain = {
        "cell": "m",
        "module": "unit",
        "words": 512,
        "width": 2,
        "reads": 1,
        "clocked": True,
        "plain": True,
    }
    return Memory(**(plain | changes))


def test_flip_flops_are_made_only_of_what_was_asked_for_or_cannot_be_else():
    assert memory().treatment("flops") == ("flops", "")
    for choice in ("latches", "macros"):
        treatment, why = memory(plain=False).treatment(choice)
        assert treatment == "flops"
        assert "ports" in why


def test_a_macro_has_at_least_1024_bits_one_port_and_answers_a_cycle_later():
    assert memory().treatment("macros") == ("macros", "")
    small, why = memory(words=511).treatment("macros")
    assert (small, why) == ("latches", "a macro needs 1024 bits")
    for change in ({"clocked": False}, {"reads": 2}):
        treatment, why = memory(**change).treatment("macros")
        assert treatment == "latches"
        assert "a cycle later" in why


def test_memories_are_found_with_their_sizes_and_ports(parts, tmp_path):
    (tmp_path / "design.il").write_text(to_rtlil(parts.shelf(depth=5, width=3, reads=2), "unit"))
    passes.run([*LOAD, "write_json memories.json"], tmp_path)
    (found,) = memories.found(json.loads((tmp_path / "memories.json").read_text()))
    assert (found.words, found.width, found.bits, found.reads) == (5, 3, 15, 2)
    assert (found.clocked, found.plain) == (False, True)


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("parameters", "WR_PORTS", "10"),
        ("parameters", "RD_TRANSPARENCY_MASK", "1"),
        ("parameters", "RD_WIDE_CONTINUATION", "1"),
        ("connections", "RD_SRST", [2]),
        ("connections", "RD_ARST", ["1"]),
        ("connections", "WR_EN", [2, 3]),
    ],
)
def test_ports_that_no_latch_array_has_are_seen(parts, tmp_path, group, key, value):
    (tmp_path / "design.il").write_text(to_rtlil(parts.shelf(depth=4, width=2), "unit"))
    passes.run([*LOAD, "write_json memories.json"], tmp_path)
    told = json.loads((tmp_path / "memories.json").read_text())
    told["modules"]["unit"]["cells"]["rows"][group][key] = value
    assert [each.plain for each in memories.found(told)] == [False]


def prove(folder, component) -> None:
    """Show that flip-flops and latches answer alike for eight steps of clock and inputs."""
    (folder / "design.il").write_text(to_rtlil(component, "unit"))
    passes.run(
        [
            *LOAD,
            "memory_map",
            "opt_clean",
            "design -stash gold",
            *LOAD,
            "techmap -map latches.v t:$mem_v2",
            "opt_clean",
            "design -stash gate",
            *MITER,
        ],
        folder,
    )


@pytest.mark.parametrize(("reads", "clocked"), [(1, False), (2, False), (1, True)])
def test_a_latch_array_answers_as_flip_flops_do(parts, reads, clocked, tmp_path):
    (tmp_path / "latches.v").write_text(memories.LATCH_ARRAY)
    prove(tmp_path, parts.shelf(depth=4, width=2, reads=reads, clocked=clocked))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("enable (.EN(WR_CLK)", "enable (.EN(~WR_CLK)"),
        ("hold (.EN(WR_CLK)", "hold (.EN(1'b0)"),
        ("WR_EN[0] & (WR_ADDR == i)", "(WR_ADDR == i)"),
        ("WR_CLK & chosen", "chosen"),
        ("address[DEPTH-1-d]", "address[d]"),
    ],
)
def test_a_faulty_latch_array_is_refuted(parts, right, wrong, tmp_path):
    assert right in memories.LATCH_ARRAY
    (tmp_path / "latches.v").write_text(memories.LATCH_ARRAY.replace(right, wrong))
    with pytest.raises(YosysError, match="proof did fail"):
        prove(tmp_path, parts.shelf(depth=4, width=2))
