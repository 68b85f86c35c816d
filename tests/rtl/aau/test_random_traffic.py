# SPDX-License-Identifier: Apache-2.0
"""Golden model and compiled RTL agree on every pin of every edge."""

from dataclasses import replace
from random import Random

import pytest

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import ACCURATE
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

CONFIGURATIONS = UNITS["aau"].configurations


def compare(params, seed, jobs, traffic, drive):
    """Run commands one behind the other, with and without gaps and stalls."""
    rng = Random(f"{seed} scenes")
    source = traffic(params, seed)
    driver = drive(
        params, make_engine("aau", params, "golden"), make_engine("aau", params, "rtl"), seed=seed
    )
    met = set()
    for job in source.directed:
        driver.run(job)
    for number in range(jobs):
        job = source.job(list(Op)[number % len(Op)] if number < 2 * len(Op) else None)
        run = driver.run(job, rng.choice((0, 0, 0.3)), rng.choice((0, 0, 0.4)))
        source.states = [*source.states[-40:], *((job.command.op, each) for each in run.exported)]
        met |= {(job.command.op, told.nan) for told in run.summaries}
    assert {op for op, _ in met} == set(Op)
    assert any(nan for _, nan in met)
    assert len(source.states) > 5


def test_commands_of_all_kinds_give_equal_pins_on_every_edge(traffic, drive):
    compare(CONFIGURATIONS["test"], 0, 250, traffic, drive)


@pytest.mark.slow
@pytest.mark.parametrize(
    "params",
    [
        AauParams(lanes=1),
        CONFIGURATIONS["small"],
        CONFIGURATIONS["paper"],
        AauParams(lanes=2, numerics=ACCURATE),
    ],
    ids=["one lane", "small", "paper", "accurate"],
)
def test_commands_of_all_kinds_at_other_sizes(params, traffic, drive):
    compare(params, 1, 600, traffic, drive)


@pytest.mark.parametrize("op", Op)
def test_a_result_is_held_until_it_is_taken(op, traffic, drive):
    params = CONFIGURATIONS["test"]
    source = traffic(params, 2)
    job = source.job(op)
    while not job.beats or job.command.exports:
        job = source.job(op)
    patient = drive(params, make_engine("aau", params, "rtl")).run(job)
    busy = drive(params, make_engine("aau", params, "rtl"), seed=4).run(job, stall=0.9)
    assert busy.results == patient.results
    assert busy.summaries == patient.summaries
    assert busy.cycles - busy.stalls == patient.cycles


def test_what_came_before_does_not_matter(traffic, drive):
    params = CONFIGURATIONS["test"]
    source = traffic(params, 8)
    job = source.job(Op.SOFTMAX)
    job = job._replace(command=replace(job.command, imports=0), states=[])
    fresh = drive(params, make_engine("aau", params, "rtl")).run(job)
    used = drive(params, make_engine("aau", params, "rtl"))
    for _ in range(20):
        used.run(source.job())
    assert used.run(job) == fresh
