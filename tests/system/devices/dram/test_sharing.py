# SPDX-License-Identifier: Apache-2.0
"""Several streams on one channel: the compiled player beside the plain one, and who gets what."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahasd.system.devices.closed_forms import best_split_s, time_shared_s
from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.sharing import (
    Arbiter,
    FastSharer,
    Lane,
    ReferenceSharer,
    share,
)
from ahasd.system.devices.dram.sharing_kernel import NEVER_CYCLES
from ahasd.system.devices.dram.stream import AllBankMac, SequentialRead
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.pim.program import Program
from ahasd.system.devices.pim.step import PimModel
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

POLICIES = ("fair", "npu-first", "pim-first", "slots")
BURSTS = (Op.RD, Op.WR, Op.RDB, Op.WRB)
# Rows of eight bursts, and refreshes often: all happens within a few hundred commands.
SMALL: dict[str, Any] = {
    "channels": 1,
    "ranks": 4,
    "row_bytes": 256,
    "t_refi": 500,
    "t_refi_pb": 100,
}
NOBODY_FIRST = Arbiter()


class Watched(ReferenceEngine):
    """An engine that keeps what it was given."""

    def __init__(self, timing) -> None:
        super().__init__(timing)
        self.given: list[tuple[Op, int, int]] = []

    def _commit(self, command, cycle):
        self.given.append((command.op, command.rank, cycle))
        super()._commit(command, cycle)


def read(timing, rank=0):
    per_segment = timing.bank_groups * timing.bursts_per_row
    pattern = SequentialRead(timing, per_segment * (timing.banks_per_group + 1))
    return Lane(user="npu", pattern=pattern, rank=rank)


def mac(timing, rank=0):
    return Lane(user="pim", pattern=AllBankMac(timing, 4), rank=rank)


def bursts(timing, rank=0, op=Op.WRB):
    return Lane(user="pim", pattern=Program(timing, [((op, 0, 0),) * 64], 4), rank=rank)


MIXES = {
    "a read": lambda t: [read(t)],
    "one MAC": lambda t: [mac(t)],
    "two MACs": lambda t: [mac(t, 0), mac(t, 3)],
    "three MACs": lambda t: [mac(t, 0), mac(t, 1), mac(t, 2)],
    "bursts": lambda t: [bursts(t)],
    "a read beside MACs": lambda t: [read(t, 1), mac(t, 0), mac(t, 2)],
    "a read and a MAC on one rank": lambda t: [read(t), mac(t)],
    "a read beside bursts": lambda t: [read(t, 1), bursts(t, 3)],
    "a read and bursts on one rank": lambda t: [bursts(t, 2), read(t, 2)],
    "all": lambda t: [mac(t, 0), read(t, 0), bursts(t, 1), mac(t, 2), read(t, 2)],
}
CASES = [
    *(("lpddr5-6400", 4, policy) for policy in POLICIES),
    ("lpddr5-6400", 8, "slots"),
    ("lpddr5-6400", 26, "fair"),
    ("hbm2", 4, "fair"),
    ("hbm2", 4, "pim-first"),
]


def side_by_side(timing, lanes, arbiter, commands):
    """Give both players so many commands one by one; return the plain one, its engine watched."""
    engine = Watched(timing)
    reference = ReferenceSharer(engine, lanes, arbiter)
    fast = FastSharer(FastEngine(timing), lanes, arbiter)
    for number in range(commands):
        assert (reference.run(1), fast.run(1)) == (1, 1)
        assert fast.now() == reference.now(), number
        assert fast.segments() == reference.segments(), number
    return reference, engine


@pytest.mark.full
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(("name", "t_mac", "policy"), CASES)
def test_both_players_give_the_same_commands_and_keep_to_the_peak(load, name, t_mac, mix, policy):
    timing = load(name, **SMALL, t_mac=t_mac)
    arbiter = Arbiter(policy=policy, slot_cycles=300, patience_cycles=20)
    reference, engine = side_by_side(timing, MIXES[mix](timing), arbiter, 400)
    moved = sum(op in BURSTS for op, *_ in engine.given)
    # No more bytes than the data bus carries; the last burst follows its command.
    assert (moved - 1) * timing.burst <= reference.now()
    refreshed = any(op is Op.REFAB for op, *_ in engine.given)
    assert refreshed or reference.now() < timing.t_refi + 100


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mix", ["a read beside MACs", "a read and a MAC on one rank", "all"])
def test_both_players_find_the_same_rates(load, mix, policy):
    timing = load("lpddr5-6400", **SMALL)
    lanes, arbiter = MIXES[mix](timing), Arbiter(policy=policy, slot_cycles=500)
    seen = [
        share(sharer, max_refreshes=8)
        for sharer in (
            ReferenceSharer(ReferenceEngine(timing), lanes, arbiter),
            FastSharer(FastEngine(timing), lanes, arbiter),
        )
    ]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("part", ["weights", "attention"])
def test_both_players_give_the_same_commands_of_real_kernels(load, part, policy):
    timing = load("lpddr5-6400", t_refi=500, t_refi_pb=100)
    model = PimModel(load_platform("mobile-paper"), timing, load_model("tiny-draft"), [0, 4])
    stream = {"weights": model.weights, "attention": model.attention(64)}[part]
    channel = load("lpddr5-6400", channels=1, t_refi=500, t_refi_pb=100, t_mac=stream.pace.cycles)
    lanes = [Lane(user="pim", pattern=stream.programs[0], rank=rank) for rank in (0, 1)]
    arbiter = Arbiter(policy=policy, slot_cycles=300)
    side_by_side(channel, [read(channel, 0), *lanes], arbiter, 500)


@st.composite
def programs(draw):
    """Segments of a PIM kernel: rows of MACs with transfers between, and transfers alone."""
    made = []
    for _ in range(draw(st.integers(1, 3))):
        segment = [(draw(st.sampled_from([Op.WRB, Op.RDB])), 0, 0)] * draw(st.integers(0, 12))
        if not segment or draw(st.booleans()):
            passes = [
                item
                for _ in range(draw(st.integers(1, 4)))
                for item in (
                    *[(Op.MACAB, 0, 0)] * draw(st.integers(0, 6)),
                    *[(draw(st.sampled_from([Op.WRB, Op.RDB])), 0, 0)] * draw(st.integers(0, 4)),
                )
            ]
            segment = [*segment, (Op.ACTAB, 0, 0), *passes, (Op.PREAB, 0, 0)]
        made.append(tuple(segment))
    return made


@settings(max_examples=25, deadline=None)
@given(
    first=programs(),
    second=programs(),
    ranks=st.tuples(*[st.integers(0, 2)] * 3),
    policy=st.sampled_from(POLICIES),
    slot=st.integers(1, 400),
    patience=st.integers(1, 100),
    t_refi=st.integers(300, 900),
)
def test_random_kernels_beside_a_read(first, second, ranks, policy, slot, patience, t_refi):
    if len(set(ranks)) == 1:  # three on a rank
        ranks = (ranks[0], ranks[1], ranks[2] + 1)
    timing = replace(load_timing("lpddr5-6400"), **(SMALL | {"t_refi": t_refi}))
    lanes = [
        Lane(user="pim", pattern=Program(timing, first, 2), rank=ranks[0]),
        Lane(user="pim", pattern=Program(timing, second, 2), rank=ranks[1]),
        read(timing, ranks[2]),
    ]
    arbiter = Arbiter(policy=policy, slot_cycles=slot, patience_cycles=patience)
    side_by_side(timing, lanes, arbiter, 150)


def pace(timing, lanes, arbiter=NOBODY_FIRST, **limits):
    """Return the segments a cycle of each lane."""
    shared = share(FastSharer(FastEngine(timing), lanes, arbiter), **limits)
    return [each / shared.cycles for each in shared.segments]


def alone(timing, lane):
    return pace(timing, [lane])[0]


def shares(timing, lanes, **arbiter):
    """Return the pace of each lane beside the others over that alone."""
    together = pace(timing, lanes, Arbiter(**arbiter))
    return [got / alone(timing, lane) for got, lane in zip(together, lanes, strict=True)]


@pytest.fixture
def lpddr5(load):
    """Return one channel with all its ranks."""
    return load("lpddr5-6400", channels=1)


def cycles_of(timing, lanes, arbiter, user, commands=1000):
    """Return when each command of a user was given."""
    engine = Watched(timing)
    sharer = ReferenceSharer(engine, lanes, arbiter)
    for _ in range(commands):
        sharer.run(1)
    ranks = {lane.rank for lane in lanes if lane.user == user}
    return [(op, cycle) for op, rank, cycle in engine.given if rank in ranks]


@pytest.mark.parametrize("user", ["npu", "pim"])
@pytest.mark.parametrize("kind", ["MACs", "bursts"])
def test_who_goes_first_is_never_delayed(load, kind, user):
    # Reads and MACs of other ranks meet on the command bus, reads and bursts on the data bus, too.
    timing = load("lpddr5-6400", **SMALL)
    lanes = [read(timing, 1), {"MACs": mac, "bursts": bursts}[kind](timing, 0)]
    (mine,) = [lane for lane in lanes if lane.user == user]
    first = Arbiter(policy="npu-first" if user == "npu" else "pim-first")
    beside = cycles_of(timing, lanes, first, user)
    undisturbed = cycles_of(timing, [mine], first, user)
    assert len(beside) > 200
    assert beside == undisturbed[: len(beside)]
    # It has to wait where the other goes first or nobody does.
    other = Arbiter(policy="pim-first" if user == "npu" else "npu-first")
    for arbiter in (other, NOBODY_FIRST):
        delayed = cycles_of(timing, lanes, arbiter, user)
        assert delayed != undisturbed[: len(delayed)]


@pytest.mark.parametrize(("policy", "expected"), [("npu-first", [1, 0]), ("pim-first", [0, 1])])
def test_a_rank_belongs_for_ever_to_who_goes_first(lpddr5, policy, expected):
    lanes = [read(lpddr5), mac(lpddr5)]
    assert shares(lpddr5, lanes, policy=policy) == pytest.approx(expected)


def test_who_goes_first_leaves_the_data_bus_while_it_is_refreshed(lpddr5):
    # 224 of 3124 cycles, of which the other alone uses as many on its own refreshes.
    lanes = [read(lpddr5), bursts(lpddr5, 3)]
    assert shares(lpddr5, lanes, policy="npu-first") == pytest.approx([1, 0.07], abs=0.03)
    assert shares(lpddr5, lanes, policy="pim-first") == pytest.approx([0.07, 1], abs=0.03)


@pytest.mark.parametrize("op", [Op.WRB, Op.RDB])
def test_fair_halves_a_data_bus_that_both_could_fill(lpddr5, op):
    # Either alone has a burst every two cycles. Together they lose turns of the direction, 12
    # cycles each in at least 64, and win what is free while the other is refreshed, 7 %.
    npu, pim = shares(lpddr5, [read(lpddr5, 0), bursts(lpddr5, 3, op)], policy="fair")
    assert 0.5 * (1 - 12 / 64) < npu < 0.54
    assert 0.5 * (1 - 12 / 64) < pim < 0.54
    assert npu == pytest.approx(pim, rel=0.1)


@pytest.mark.parametrize("other", [bursts, mac])
def test_slots_halve_both(lpddr5, other):
    # A lane has half of the time and all of its refreshes in it, since its segments end there:
    # 224 of 3124 cycles alone, and of 1562 now.
    expected = 0.5 * (1 - 2 * 224 / 3124) / (1 - 224 / 3124)
    npu, pim = shares(lpddr5, [read(lpddr5, 0), other(lpddr5, 3)], policy="slots")
    assert npu == pytest.approx(expected, rel=0.02)
    assert pim == pytest.approx(expected, rel=0.02)
    # On one rank both are refreshed at once, as alone.
    npu, pim = shares(lpddr5, [read(lpddr5), mac(lpddr5)], policy="slots")
    assert npu == pytest.approx(0.5, rel=0.02)
    assert pim == pytest.approx(0.5, rel=0.02)


def test_fair_gives_a_shared_rank_to_both_for_as_long(lpddr5):
    # A turn of reads is 256 bursts of two cycles, one of MACs 64 of eight: about as long, and each
    # waits for the precharge of all banks and its first row, 32 of some 550 cycles.
    timing = replace(lpddr5, t_mac=8)
    npu, pim = shares(timing, [read(timing), mac(timing)], policy="fair")
    assert 0.5 * (1 - 2 * 32 / 550) < npu <= 0.505
    assert 0.5 * (1 - 2 * 32 / 550) < pim <= 0.505


class Waits(ReferenceSharer):
    """Keeps how long any command has been put off."""

    longest = 0

    def _choose(self):
        chosen, command, cycle = super()._choose()
        self.longest = max(self.longest, *(cycle - each.ready for each in self._at))
        return chosen, command, cycle


def longest_wait(timing, patience, commands=1000):
    lanes = [read(timing), bursts(timing, 3)]
    sharer = Waits(ReferenceEngine(timing), lanes, Arbiter(patience_cycles=patience))
    for _ in range(commands):
        sharer.run(1)
    return sharer.longest


@pytest.mark.parametrize("patience", [8, 64, 256])
def test_no_command_is_put_off_much_longer_than_the_patience(lpddr5, patience):
    # Beside the patience, one burst and one turn of the bus.
    assert patience <= longest_wait(lpddr5, patience) <= patience + 16


def test_without_an_end_to_patience_reads_are_always_legal_before_writes(lpddr5):
    assert longest_wait(lpddr5, 10**6) > 1500


@pytest.mark.parametrize("mix", ["a read", "one MAC", "a read and a MAC on one rank"])
def test_a_period_that_is_found_goes_on_for_ever(load, mix):
    timing = load("lpddr5-6400", **SMALL)
    sharer = FastSharer(FastEngine(timing), MIXES[mix](timing), NOBODY_FIRST)
    found = share(sharer, max_refreshes=5000)
    assert found.is_period
    for _ in range(3):
        end, before = sharer.now() + found.cycles, sharer.segments()
        while sharer.now() < end:
            sharer.run(2**40)
        assert sharer.now() == end
        passed = [b - a for a, b in zip(before, sharer.segments(), strict=True)]
        assert passed == pytest.approx(found.segments)


def test_a_search_that_gives_up_knows_the_rates_all_the_same(lpddr5):
    lanes = [read(lpddr5, 1), mac(lpddr5, 0), mac(lpddr5, 2)]
    # Lanes take a while to find their step: with the first refreshes it would be 0.25 % off.
    short, far = (
        share(FastSharer(FastEngine(lpddr5), lanes, NOBODY_FIRST), max_refreshes=refreshes)
        for refreshes in (256, 3000)
    )
    assert (short.is_period, far.is_period) == (False, True)
    for a, b in zip(short.segments, far.segments, strict=True):
        assert a / short.cycles == pytest.approx(b / far.cycles, rel=1e-3)


@pytest.mark.parametrize("policy", ["fair", "slots"])
def test_a_memory_that_is_not_refreshed_has_rates_too(load, policy):
    timing = load("lpddr5-6400", channels=1, t_refi=NEVER_CYCLES)
    # A MAC pass over a row: 15 to its first column, 63 more of 4, 8 to the precharge of 17.
    assert alone(timing, mac(timing)) == pytest.approx(1 / (15 + 63 * 4 + 8 + 17))
    # Reads of 256 bursts on a bus that is all but full.
    assert 1 / 520 < alone(timing, read(timing)) <= 1 / 512
    lanes, arbiter = [read(timing), mac(timing)], Arbiter(policy=policy)
    seen = [
        share(sharer, max_refreshes=5)
        for sharer in (
            ReferenceSharer(ReferenceEngine(timing), lanes, arbiter),
            FastSharer(FastEngine(timing), lanes, arbiter),
        )
    ]
    assert seen[0] == seen[1]
    assert 0.93 < sum(shares(timing, lanes, policy=policy)) < 1.001


def test_a_rank_that_both_use_side_by_side_gains_nothing(lpddr5):
    # Bandwidth is conserved: the shares of the rank add up to one, less the turns.
    for t_mac, policy, least in ((8, "slots", 0.97), (26, "slots", 0.97), (26, "fair", 0.97)):
        timing = replace(lpddr5, t_mac=t_mac)
        together = sum(shares(timing, [read(timing), mac(timing)], policy=policy))
        assert least < together < 1.005
    # Turns of single segments cost more where those are short: 32 of every 300 to 550 cycles.
    assert 0.95 < sum(shares(lpddr5, [read(lpddr5), mac(lpddr5)])) < 0.97


@pytest.mark.parametrize("pass_share", [0.5, 0.7])
def test_the_best_split_of_the_ranks_gains_nothing_either(lpddr5, pass_share):
    # Columns so slow that the channel carries all four ranks: reads are limited by the ranks, too.
    timing = replace(lpddr5, t_ccd_s=32, t_ccd_l=32, t_mac=32)
    read_alone, mac_alone = alone(timing, read(timing)), alone(timing, mac(timing))
    # Segments of both: so many that four ranks take a million cycles for all.
    reads, macs = (
        4 * 10**6 * share * pace
        for share, pace in ((pass_share, read_alone), (1 - pass_share, mac_alone))
    )
    split = []
    for ranks in (1, 2, 3):
        lanes = [read(timing, rank) for rank in range(ranks)]
        lanes += [mac(timing, rank) for rank in range(ranks, 4)]
        got = pace(timing, lanes)
        split.append(max(reads / sum(got[:ranks]), macs / sum(got[ranks:])))
    shared = [*(read(timing, rank) for rank in range(4)), *(mac(timing, rank) for rank in range(4))]
    got = pace(timing, shared, Arbiter(policy="slots"))
    both, left = sorted(
        ((reads, sum(got[:4]), 4 * read_alone), (macs, sum(got[4:]), 4 * mac_alone)),
        key=lambda each: each[0] / each[1],
    )
    # Until one is done, and what is left of the other alone.
    first_end = both[0] / both[1]
    time_shared = first_end + (left[0] - first_end * left[1]) / left[2]
    formula = (macs, mac_alone, reads, read_alone, 4)
    assert time_shared_s(*formula) == pytest.approx(10**6)
    assert time_shared == pytest.approx(10**6, rel=0.03)
    assert min(split) == pytest.approx(best_split_s(*formula), rel=0.03)
    assert min(split) > 0.97 * time_shared
