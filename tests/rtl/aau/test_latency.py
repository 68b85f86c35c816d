# SPDX-License-Identifier: Apache-2.0
"""Cycles of commands on the compiled RTL: what the schedule says, whatever the data."""

import pytest

from ahasd.rtl.aau.encodings import Command, Op
from ahasd.rtl.aau.numerics import CHEAP, DEFAULT
from ahasd.rtl.aau.schedule import APPLY, REDUCE, P, Pass, Q, S, Step, command_cycles
from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine

PARAMS = UNITS["aau"].configurations["test"]
DATA = {
    "zeros": lambda i: 0,
    "ones": lambda i: 0x3C00,
    "masked": lambda i: 0xFC00,
    "no numbers": lambda i: 0x7E00,
    "infinities": lambda i: 0x7C00,
    "extremes in turn": lambda i: 0x7BFF ^ (i % 2) << 15,
    "rising": lambda i: 0x3000 + 37 * i,
    "falling": lambda i: 0x7000 - 37 * i,
    "subnormal": lambda i: 1 + i,
}


def contract(job, params=PARAMS):
    command = job.command
    return command_cycles(
        Op(command.op),
        command.length,
        lanes=params.lanes,
        numerics=params.numerics,
        top_k=params.top_k,
        imports=command.imports,
        reduces=bool(command.reduces),
        exports=bool(command.exports),
        applies=bool(command.applies),
    )


def test_random_commands_take_the_cycles_of_the_schedule_and_their_stalls(traffic, drive):
    source = traffic(PARAMS, 11)
    driver = drive(PARAMS, make_engine("aau", PARAMS, "rtl"), seed=11)
    for number in range(200):
        job = source.job()
        stalled = number % 2
        run = driver.run(job, gap=0.3 * stalled, stall=0.3 * stalled)
        assert run.cycles == contract(job) + run.stalls, job.command
        assert stalled or run.stalls == 0
        source.states += [(job.command.op, state) for state in run.exported]


@pytest.mark.parametrize("op", Op)
def test_cycles_do_not_depend_on_data(op, traffic, drive):
    driver = drive(PARAMS, make_engine("aau", PARAMS, "rtl"))
    source = traffic(PARAMS, 1)
    job = source.job(op)
    while job.command.length < 5 or job.command.exports or not job.beats:
        job = source.job(op)
    job = job._replace(command=Command(**{**vars(job.command), "imports": 0}), states=[])
    found = set()
    for code in DATA.values():
        beats = [
            sum((code(2 * i + lane) * 0x0001_0001_0001_0001) << 64 * lane for lane in range(2))
            for i in range(len(job.beats))
        ]
        found.add(driver.run(job._replace(beats=beats)).cycles)
    assert found == {contract(job)}


def test_cycles_worked_by_hand():
    # A command and its summary are a cycle each. 100 elements on 16 lanes are 7 beats.
    def cycles(op, length=100, **how):
        return command_cycles(op, length, lanes=16, numerics=DEFAULT, **how)

    # An addition: the last beat is taken in cycle 6 and stands as a result 6 later.
    assert cycles(Op.ADD) == 2 + (6 + 6 + 1)
    # A softmax: sums are there after 9, the program takes 46, results stand after 8.
    assert cycles(Op.SOFTMAX) == 2 + (6 + 9 + 1) + 46 + (6 + 8 + 1)
    assert cycles(Op.SOFTMAX, applies=False) == 2 + (6 + 9 + 1) + 46
    # A state takes a cycle for its reference and one for its sums, one more for an entropy's.
    assert cycles(Op.SOFTMAX, imports=3, reduces=False) == 2 + 3 * 2 + 46 + (6 + 8 + 1)
    assert cycles(Op.STATISTICS, imports=3) - cycles(Op.STATISTICS) == 3 * 3
    assert cycles(Op.MAX, imports=3) - cycles(Op.MAX) == 3
    assert cycles(Op.TOP, imports=3, top_k=5) - cycles(Op.TOP, top_k=5) == 3 * 5
    assert cycles(Op.SOFTMAX, exports=True) == 2 + (6 + 9 + 1)
    # A beat of statistics takes two cycles, one of a gated activation four; one of a layer
    # normalisation two in its first pass and three in its second.
    assert cycles(Op.STATISTICS, 3200) - cycles(Op.STATISTICS, 1600) == 2 * 100
    assert cycles(Op.LAYERNORM, 3200) - cycles(Op.LAYERNORM, 1600) == (2 + 3) * 100
    assert cycles(Op.SWIGLU, 3200) - cycles(Op.SWIGLU, 1600) == 4 * 100
    assert cycles(Op.MAX, 0) == 2
    # Without a Newton step four products and a difference are saved, and places in the table are
    # shorter by a digit.
    cheap = command_cycles(Op.RMSNORM, 100, lanes=16, numerics=CHEAP)
    assert cycles(Op.RMSNORM) - cheap == 4 * 7 + 11 + 1


@pytest.mark.parametrize("passes", [REDUCE, APPLY], ids=["reduce", "apply"])
def test_no_two_steps_of_a_pass_meet_on_the_multiplier(passes):
    for do in passes.values():
        beats = range(60)
        used = [beat * do.interval + step.at for beat in beats for step in do.steps]
        assert len(used) == len(set(used))


@pytest.mark.parametrize(
    ("interval", "steps", "told"),
    [
        # The first addend is read in cycle 1, for cycle 3; the second one in cycle 2.
        (2, (Step(2, P.X, Q.ONE, S.C, early=1), Step(3, P.X, Q.ONE, S.C)), "one operand stands"),
        # Results of cycles 5 and 9 are kept, so of the beat that follows in cycles 8 and 12; the
        # second is used in cycle 13.
        (3, (Step(2, P.X, Q.ONE), Step(6, P.RESULT, Q.B), Step(13, P.RESULT, Q.B)), "one is kept"),
    ],
)
def test_what_is_overwritten_before_it_is_used_makes_no_pass(interval, steps, told):
    with pytest.raises(AssertionError, match=told):
        Pass(interval, steps)
