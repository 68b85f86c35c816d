# SPDX-License-Identifier: Apache-2.0
"""The flow on hardware whose gates can be counted by hand."""

from collections import Counter

import pytest

from ahasd import UserError
from ahasd.gen.emit import to_rtlil
from ahasd.gen.yosys import YosysError
from ahasd.synth import mapping, passes
from ahasd.synth.flow import synthesise
from ahasd.synth.hierarchy import PARTS, REPEATED
from ahasd.synth.library import load
from ahasd.synth.mapping import Request
from ahasd.synth.memories import Memory

DFF_GE, XOR_GE, MUX_GE, LATCH_GE = 5.5, 2.0, 2.33, 3.5


def request(component, **changes) -> Request:
    return Request(module="unit", design=to_rtlil(component, "unit"), library=load(), **changes)


@pytest.mark.parametrize("width", [1, 4, 8])
def test_a_register_is_a_flip_flop_a_bit_and_nothing_else(parts, width):
    found = synthesise(request(parts.register(width)))
    assert found["cells"] == {"DFF": width}
    assert found["area"] == found["sequential_area"] == width * DFF_GE
    assert (found["flops"], found["latches"], found["memories"]) == (width, 0, [])


def test_a_parity_is_an_xor_less_than_it_has_bits(parts):
    found = synthesise(request(parts.parity(8)))
    gates = {name: count for name, count in found["cells"].items() if name != "DFF"}
    assert sum(gates.values()) == 7
    assert set(gates) <= {"XOR2", "XNOR2"}
    assert found["area"] - found["sequential_area"] == pytest.approx(7 * XOR_GE)


def test_parts_have_the_area_of_their_registers(parts):
    found = synthesise(request(parts.pair(), boundaries=PARTS))
    assert found["parts"] == {"left": 2 * DFF_GE, "right": 3 * DFF_GE, "own": 0.0}
    assert found["area"] == 5 * DFF_GE


def test_equal_parts_are_mapped_once_and_counted_as_often_as_they_are_there(parts):
    boxes = {f"box_{i}": parts.parity(3) for i in range(4)}
    found = synthesise(request(parts.several(**boxes, odd=parts.register(2)), boundaries=REPEATED))
    assert found["kept"] == ["box x 4"]
    # Four flip-flops and two XORs in each, and what is not equal to them.
    assert found["flops"] == found["cells"]["DFF"] == 4 * 4 + 2
    gates = {name: count for name, count in found["cells"].items() if name != "DFF"}
    assert sum(gates.values()) == 4 * 2
    assert set(gates) <= {"XOR2", "XNOR2"}
    assert found["sequential_area"] == pytest.approx(18 * DFF_GE)
    assert found["area"] - found["sequential_area"] == pytest.approx(8 * XOR_GE)


def test_equal_parts_are_one_row_of_the_parts(parts):
    design = parts.several(
        reg_0=parts.register(3), reg_1=parts.register(3), other=parts.register(4)
    )
    found = synthesise(request(design, boundaries=PARTS))
    assert found["parts"] == {"reg x 2": 6 * DFF_GE, "other": 4 * DFF_GE, "own": 0.0}


def test_memories_of_equal_parts_are_told_for_each(parts):
    shelves = parts.several(**{f"shelf_{i}": parts.shelf(depth=4, width=2) for i in range(3)})
    found = synthesise(request(shelves, boundaries=REPEATED, memories="latches"))
    assert [memory["name"] for memory in found["memories"]] == [f"shelf_{i}.rows" for i in range(3)]
    assert {memory["bits"] for memory in found["memories"]} == {8}
    assert found["latches"] == 3 * (4 * 2 + 4 + 2)


def test_a_top_without_parts_has_all_of_its_area_itself(parts):
    found = synthesise(request(parts.register(3), boundaries=PARTS))
    assert found["parts"] == {"own": 3 * DFF_GE}


def test_a_memory_as_flip_flops_has_one_a_bit_and_says_so(parts):
    found = synthesise(request(parts.shelf(depth=4, width=3)))
    assert found["flops"] == 12
    (memory,) = found["memories"]
    assert memory == {
        "name": "rows",
        "words": 4,
        "width": 3,
        "bits": 12,
        "reads": 1,
        "as": "flops",
        "why": "",
    }
    # At least a way to hold each bit, and three of four words to leave out in each column.
    assert found["area"] - 12 * DFF_GE > (12 + 3 * 3) * MUX_GE * 0.5


def test_a_memory_as_latches_has_one_a_bit_a_word_and_a_column(parts):
    found = synthesise(request(parts.shelf(depth=4, width=3), memories="latches"))
    assert (found["flops"], found["latches"]) == (0, 12 + 4 + 3)
    assert found["sequential_area"] == pytest.approx((12 + 4 + 3) * LATCH_GE)
    assert found["memories"][0]["as"] == "latches"


def test_a_latch_array_that_answers_a_cycle_later_has_a_register_for_the_answer(parts):
    shelf = parts.shelf(depth=4, width=3, clocked=True)
    found = synthesise(request(shelf, memories="latches"))
    assert (found["flops"], found["latches"]) == (3, 12 + 4 + 3)


def test_a_macro_is_left_out_of_the_cells(parts):
    shelf = parts.shelf(depth=64, width=16, clocked=True)
    found = synthesise(request(shelf, memories="macros"))
    assert found["memories"][0]["as"] == "macros"
    assert (found["flops"], found["latches"]) == (0, 0)
    assert found["area"] == 0
    assert found["cells"] == {"ahasd_macro": 1}


def test_a_second_run_is_from_the_cache_and_the_same(parts, monkeypatch):
    asked = request(parts.parity(5))
    first = synthesise(asked)
    monkeypatch.setattr(passes, "run", lambda *_: pytest.fail("mapped again"))
    assert synthesise(asked) == first


def test_two_runs_without_the_cache_are_equal(parts):
    asked = request(parts.shelf(depth=5, width=3), memories="latches")
    assert synthesise(asked, cached=False) == synthesise(asked, cached=False)


def test_cells_with_their_nets_are_told_in_place_of_times(parts, osu018):
    design = to_rtlil(parts.parity(4), "unit")
    told = synthesise(
        Request(
            module="unit",
            design=design,
            library=osu018,
            clocks_ps={"sync": 10_000},
            netlist=True,
        )
    )
    assert not {"timing", "sta"} & told.keys()
    counted = Counter(kind for kind, _ in told["netlist"]["cells"].values())
    assert counted == told["cells"]


def test_without_memories_it_does_not_matter_what_would_become_of_them(parts, monkeypatch):
    first = synthesise(request(parts.register(2)))
    monkeypatch.setattr(passes, "run", lambda *_: pytest.fail("mapped again"))
    assert synthesise(request(parts.register(2), memories="macros")) == first


@pytest.mark.parametrize("change", [{"memories": "latches"}, {"boundaries": PARTS}])
def test_whatever_shapes_the_netlist_is_in_the_key(parts, change, cache):
    component = parts.shelf(depth=2, width=2)
    synthesise(request(component))
    before = set(cache.glob("synth/*.json"))
    synthesise(request(component, **change))
    assert len(set(cache.glob("synth/*.json")) - before) == 1


def test_the_run_leaves_nothing_but_its_result(parts, cache, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    synthesise(request(parts.parity(3)))
    assert list(elsewhere.iterdir()) == []
    assert [path.suffix for path in (cache / "synth").iterdir()] == [".json"]


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b"\xff"])
def test_a_damaged_entry_is_made_again(parts, cache, content):
    asked = request(parts.register(2))
    result = synthesise(asked)
    (entry,) = (cache / "synth").glob("*.json")
    held = entry.read_bytes()
    entry.write_bytes(content)
    assert synthesise(asked) == result
    assert entry.read_bytes() == held


def test_a_cache_that_cannot_be_is_told(parts, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="AHASD_CACHE"):
        synthesise(request(parts.register(1)))


def test_a_cell_that_no_library_has_is_an_error(parts, monkeypatch):
    held = mapping.commands
    monkeypatch.setattr(
        mapping,
        "commands",
        lambda *asked, **how: [
            line for line in held(*asked, **how) if not line.startswith("dfflibmap")
        ],
    )
    with pytest.raises(YosysError, match="cells that library ge lacks"):
        synthesise(request(parts.register(1)))


def test_what_yosys_says_of_a_fault_is_the_message(tmp_path):
    with pytest.raises(YosysError, match=r"ERROR: .*nothing_of_that_name"):
        passes.run(["read_rtlil nothing_of_that_name.il"], tmp_path)


def test_missing_pyosys_is_told_with_the_remedy(monkeypatch):
    from importlib.metadata import PackageNotFoundError

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(passes, "version", missing)
    with pytest.raises(UserError, match=r"pip install -e '\.\[synth\]'$"):
        passes.tools()


@pytest.mark.parametrize(
    ("words", "treatment", "rounds"),
    [(4096, "flops", True), (4097, "flops", False), (4097, "latches", False),
     (4097, "macros", True)],
)  # fmt: skip
def test_memories_of_many_cells_are_mapped_in_few_rounds(words, treatment, rounds):
    # 4 bits a word, one read port that answers a cycle later: a macro is possible.
    held = Memory(cell="m", module="m", words=words, width=4, reads=1, clocked=True, plain=True)
    large = mapping.is_large([held], treatment)
    assert large is not rounds
    asked = Request(module="m", design="", library=load(), memories=treatment)
    told = " ".join(mapping.commands(asked, ["cells.lib"], large=large))
    assert ("small.abc" in told) is rounds


def test_few_rounds_give_the_same_hardware(parts, monkeypatch):
    many = synthesise(request(parts.shelf(depth=4, width=4)))
    monkeypatch.setattr(mapping, "LARGE_BITS", 15)
    few = synthesise(request(parts.shelf(depth=4, width=4)), cached=False)
    assert (few["flops"], few["sequential_area"]) == (many["flops"], many["sequential_area"])
    assert few["area"] >= many["area"]
