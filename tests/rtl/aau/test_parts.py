# SPDX-License-Identifier: Apache-2.0
"""Parts that stand alone: their Amaranth sources equal golden, and hand-made faults do not."""

from random import Random

import pytest
from amaranth.hdl import Fragment

from ahasd.gen.manifest import find, ports
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.parts import PARTS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine
from ahasd.tb.lib.parts import stimulus


def compare(part, params, edges, seed=0):
    """Drive the source as its users may, and compare what stands on the outputs at every edge."""
    component = part.load_hardware()(params)
    Fragment.get(component, None)  # Amaranth complains of hardware that is never built
    listed = ports(component)
    widths = {port["name"]: port["width"] for port in listed if port["direction"] == "in"}
    driven = stimulus(part.name, Random(seed), widths, params)
    golden, source = GoldenEngine(part, params), PysimEngine(part, params)
    pins, compared = next(driven), 0
    for edge in range(edges):
        expected, seen = golden.step(pins, 1, edge), source.step(pins, 1, edge)
        assert {name: seen[name] for name in expected} == expected, f"edge {edge}: {pins}"
        compared += bool(expected)
        pins = driven.send(seen)
    assert compared > edges - 20


@pytest.mark.parametrize("part", PARTS)
def test_the_source_equals_golden(part):
    unit, params = find(part, "test")
    compare(unit, params, 800)
    made, golden = unit.load_hardware()(params), unit.load_golden()(params)
    Fragment.get(made, None)
    assert (made.latency, made.interval) == (golden.latency, golden.interval)


@pytest.mark.full
@pytest.mark.parametrize("part", ["maxtree", "topk", "blocksum", "rowstate"])
@pytest.mark.parametrize("params", [AauParams(lanes=8, top_k=5), AauParams(lanes=1, top_k=1)])
def test_lists_of_other_lengths_equal_golden(part, params):
    compare(PARTS[part], params, 1000)


TERM, BLOCK, ROW = (
    ("blocksum", "term_unit"),
    ("blocksum", "block_sum_unit"),
    ("rowstate", "row_state_unit"),
)
MUTANTS = {
    "the last of equals is the largest": ("maxtree", "max_unit", "key_2 > key", "key_2 >= key"),
    "what has won is left": ("maxtree", "max_unit", "sound & ~winner", "sound"),
    "a state that is loaded leaves the beat": ("maxtree", "max_unit", ", left.eq(0)]", "]"),
    "nothing is left when it should": ("maxtree", "max_unit", "& self.more", "& ~self.more"),
    "the later of equals is first": ("topk", "top_unit", "new.index < head", "new.index > head"),
    "too few make room": ("topk", "top_unit", ">= last - i", "> last - i"),
    "a cleared list has a head": ("topk", "top_unit", "entry.seen.eq(0)", "entry.seen.eq(1)"),
    "a rotation drops the head": ("topk", "top_unit", "moves = self.rotate | (", "moves = (0) | ("),
    "without head nothing comes in": ("topk", "top_unit", "(~head.seen | first)", "first"),
    "what is no number is added": (*TERM, "term & self.active", "term | self.active"),
    "signs do not count": (*TERM, "self.product.sign & ~", "0 & ~"),
    "far below is near": (*TERM, "| right[near:].any().replicate(near)", ""),
    "terms are cut down, not to 0": (*TERM, "Mux(below, -", "Mux(below, ~"),
    "signed terms add up as they are": (*BLOCK, "(_flipped(total)", "(total"),
    "a sum waits for nobody": (*BLOCK, "sum_unit.enable.eq(self", "sum_unit.enable.eq(1 | self"),
    "the higher sums are shifted": (*ROW, "self.importing & ~above", "self.importing & above"),
    "a part leaves the reference": (*ROW, "self._moves & self.raise", "self.enable & self.raise"),
    "the level is rounded down": (*ROW, "reference[:behind].any()", "Const(0, 1)"),
    "a high rise is a low one": (*ROW, "| rise[6:].any().replicate(6)", ""),
    "a rise comes too late": (*ROW, "line[delay - 2]", "line[min(3, delay - 1)]"),
    "squares are shifted as their roots": (*ROW, "due, twice)", "due, due)"),
    "an amount is lost with a second step": (*ROW, "self.enable & ~self.lift", "self.enable"),
    "what the first sum moved is lost": (*ROW, "low_a.as_signed() * down", "0"),
    "a cleared state is near": (*ROW, "eq(no_sums(self.params).reference)", "eq(0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name, mutant):
    part, file, before, after = MUTANTS[name]
    unit = mutant(part, before, after, file)
    with pytest.raises(AssertionError, match="edge"):
        compare(unit, unit.configurations["test"], 3000)
