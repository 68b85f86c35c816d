# SPDX-License-Identifier: Apache-2.0
"""Hand-made faults in the hardware, each of which the comparison with golden must catch."""

from random import Random

import pytest

from ahasd.rtl.aau.encodings import Op
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.pysim import PysimEngine

pytestmark = pytest.mark.full

MUTANTS = {
    # lanes
    "a product is cut off, not rounded to odd": (
        "real_logic",
        "short = Cat(wide[: width - 1].any() | wide[width - 1], wide[width:-1])",
        "short = wide[width - 1 : -1]",
    ),
    "zero times infinity is infinite": (
        "multiply_add_unit",
        "| (p.infinite & ~q.infinite & no_q)",
        "",
    ),
    "infinities cancel": ("real_logic", "(p.infinite & q.infinite & unlike)", "0"),
    "a sum of zero is below zero": (
        "real_logic",
        "Mux(some | total.infinite, total.sign, total.below)",
        "total.sign",
    ),
    "scaled numbers round half up": (
        "real_logic",
        "up = shifted[1] & (shifted[0] | shifted[2])",
        "up = shifted[1]",
    ),
    "scaled numbers wrap": (
        "real_logic",
        "over = product.infinite | magnitude[plain:].any()",
        "over = product.infinite",
    ),
    "a masked element has a probability": (
        "power_unit",
        "with m.If(above[-1] & ~unsound):",
        "with m.If(above[-1]):",
    ),
    "a masked element has a power in the sum": (
        "power_unit",
        "(over | unsound).replicate",
        "over.replicate",
    ),
    "ReLU lets what is below zero through": (
        "lane_unit",
        "(control.out == Stored.POSITIVE) & result.sign",
        "(control.out == Stored.POSITIVE) & ~result.sign",
    ),
    "moments are added without sign": (
        "term_unit",
        "self.product.sign & ~self.of_power",
        "self.product.sign & 0",
    ),
    "squares are shifted as their roots": (
        "unit",
        "Mux(control.twice, twice, level)",
        "level",
    ),
    "a power stands for one cycle only": (
        "power_unit",
        "kept = Registers(m, self.enable & self.take)",
        "kept = Registers(m, self.enable)",
    ),
    "a factor is chosen too late": (
        "sequencer",
        "with m.If(token[step.at - 1]):",
        "with m.If(token[step.at]):",
    ),
    "the lowest digit of a product is positive": (
        "primitives.product",
        "signs = Cat(high, high, ~high) if i == 0 else",
        "signs = Cat(0 & high, high, ~high) if i == 0 else",
    ),
    "the one that is missing below zero is not added": (
        "primitives.load.unit",
        "Mux(sign, half |",
        "Mux(sign, half &",
    ),
    "a result is kept too late": (
        "sequencer",
        "with m.If(token[do.steps[number - 1].at + RESULT_AFTER]):",
        "with m.If(token[do.steps[number - 1].at + RESULT_AFTER + 1]):",
    ),
    "the partner is read late": (
        "sequencer",
        "reading.partner.eq(token[step.at - OPERAND_CYCLES])",
        "reading.partner.eq(token[step.at])",
    ),
    "the product of the step before loses its sign": (
        "multiply_add_unit",
        "total.sign & (mantissa[-1] | total.infinite)",
        "0",
    ),
    "an operand does not stand": (
        "operand_unit",
        "load_operand.enable.eq(self.enable & reading.operand)",
        "load_operand.enable.eq(self.enable)",
    ),
    "the first sum is the second": (
        "reduction_unit",
        "new.a.eq(Mux(self.seconds, before, beat.total))",
        "new.a.eq(beat.total)",
    ),
    # sigmoids
    "a sigmoid is not mirrored": ("gate_unit", "value = Mux(below,", "value = Mux(below & 0,"),
    "lanes change places at the reciprocal": (
        "gate_unit",
        "with m.If(self.enable & self.keep[lane]):",
        "with m.If(self.enable & self.keep[lane ^ 1]):",
    ),
    "the sigmoid of 0 divides by no mantissa": (
        "gate_unit",
        "total[:width] | total[width].replicate(width)",
        "total[:width]",
    ),
    # the state of a row
    "sums are not rebased": ("row_state_unit", "(low_a.as_signed() >> down)", "low_a.as_signed()"),
    "the second sum forgets what the first one moved": (
        "row_state_unit",
        "lifted.eq(low_b + low_a.as_signed() * down)",
        "lifted.eq(low_b)",
    ),
    "a product before keeps the sign of its zero": (
        "multiply_add_unit",
        "total.sign & (mantissa[-1] | total.infinite)",
        "total.sign",
    ),
    "the last of equals wins": ("max_unit", "(key_2 > key)", "(key_2 >= key)"),
    "of merged states the later index wins": (
        "top_unit",
        "(new.index < head.index)",
        "(new.index > head.index)",
    ),
    "a merged state leaves the reference": (
        "row_state_unit",
        "with m.If(self._moves & self.raise_reference & (given > reference)):",
        "with m.If(self.enable & self.raise_reference & (given > reference)):",
    ),
    "the level is rounded down": (
        "row_state_unit",
        "reference[:behind].any()",
        "(reference[:behind].any() & 0)",
    ),
    "merged elements are not counted": (
        "reduction_unit",
        "state.count.eq(state.count + self.imported.count)",
        "state.count.eq(state.count)",
    ),
    # the largest elements
    "what makes room stays": ("top_unit", "self.step >= last - i", "self.step > last - i"),
    "a winner of a beat is offered again": ("max_unit", "sound & ~winner", "sound"),
    "a beat offers its largest element only": (
        "max_unit",
        "self.more.replicate(self.lanes)",
        "0",
    ),
    "what is left of a beat is offered to the next command": (
        "max_unit",
        "[found.eq(self.given), left.eq(0)]",
        "[found.eq(self.given)]",
    ),
    "a state that came in is offered again": (
        "reduction_unit",
        "top.candidate.seen & ~top.wins & ~self.clear",
        "top.candidate.seen & ~self.clear",
    ),
    "a candidate of the last row is offered": (
        "reduction_unit",
        "top.candidate.seen & ~top.wins & ~self.clear",
        "top.candidate.seen & ~top.wins",
    ),
    "every exported element counts the row": (
        "reduction_unit",
        "with m.If(self.clear | self.rotate):",
        "with m.If(self.clear):",
    ),
    "an entry without element shows an old one": (
        "top_unit",
        "Mux(head.seen, head.key,",
        "Mux(1, head.key,",
    ),
    "a state of a list is taken at its end": (
        "sequencer",
        "Mux(self.listing, ~begun, self._last_step)",
        "self._last_step",
    ),
    "a state is added before its reference is compared": (
        "sequencer",
        "last.eq(cycles - 1)",
        "last.eq(0)",
    ),
    "what the first sum moves is found while none is there": (
        "sequencer",
        "self.lift.eq(token[do.summed - 1] & do.weighted)",
        "self.lift.eq(token[do.summed] & do.weighted)",
    ),
    "a list is told without its last element": (
        "sequencer",
        "Mux(self.listing, entries - 1, 0)",
        "Mux(self.listing, entries - 2, 0)",
    ),
    "entries go on while a beat is awaited": (
        "sequencer",
        "self.moves & (begun | self._token[COMPARE_AT])",
        "begun | self._token[COMPARE_AT]",
    ),
    # who leads
    "the last beat is full": (
        "unit",
        "return Value.cast(~last | ~rest.any())",
        "return Value.cast(~last | 1)",
    ),
    "a result is shown twice": ("sequencer", "m.d.pim += sent.eq(1)", "m.d.pim += sent.eq(0)"),
    "a pass goes on without a beat": (
        "sequencer",
        "(~self.wants | self.beat_valid)",
        "(~self.wants | 1)",
    ),
    "an operand is taken a beat too late": (
        "sequencer",
        "place.eq(newer +",
        "place.eq(max(newer - 1, 0) +",
    ),
    "states are merged without their number": (
        "sequencer",
        "self._last_step & (through == self.now.imports)",
        "self._last_step & (imported == 0)",
    ),
    "what is poisoned is told as a number": (
        "unit",
        "lane.control.poison.eq(poison)",
        "lane.control.poison.eq(0)",
    ),
}


def find_a_difference(driver, source):
    """Run commands of all kinds."""
    rng = Random(0)
    for job in source.directed:
        driver.run(job)
        driver.run(job, 0.3, 0.3)
    for number in range(120):
        job = source.job(list(Op)[number % len(Op)])
        run = driver.run(job, rng.choice((0, 0.3)), rng.choice((0, 0.3)))
        source.states = [*source.states[-40:], *((job.command.op, each) for each in run.exported)]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_the_hardware_is_caught(name, traffic, drive, mutant):
    file, before, after = MUTANTS[name]
    unit = mutant("aau", before, after, file)
    params = unit.configurations["test"]
    driver = drive(params, GoldenEngine(unit, params), PysimEngine(unit, params))
    with pytest.raises(AssertionError, match="edge"):
        find_a_difference(driver, traffic(params, 0))
