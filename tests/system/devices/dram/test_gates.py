# SPDX-License-Identifier: Apache-2.0
"""One cycle early is refused with the constraint's name and value, on time is taken.

The value under test is made so long that nothing else binds; what it must add up to is written
here, by the definitions of JESD209-5, JESD235 and JESD238.
"""

import itertools
from dataclasses import dataclass, field, replace

import pytest

from ahasd.system.devices.dram.commands import Command, Op
from ahasd.system.devices.dram.engine import TooEarlyError
from ahasd.system.devices.dram.rules import RULES, Constraint

LONG = 1000


def at(op, place="0.0", rank=0, row=5):
    """Return a command; `place` is group.bank."""
    group, bank = (int(part) for part in place.split("."))
    return Command(op=op, rank=rank, group=group, bank=bank, row=row)


@dataclass(frozen=True)
class Gate:
    """`probe` must wait `cycles` after number `since` of `setup`."""

    constraint: Constraint
    setup: list[Command]
    probe: Command
    cycles: object
    changes: dict = field(default_factory=dict)
    since: int = -1

    def __str__(self):
        return f"{self.constraint.name}-{self.setup[self.since].op.name}-{self.probe.op.name}"


def gates():
    c = Constraint
    act, pre, rd, wr = at(Op.ACT), at(Op.PRE), at(Op.RD), at(Op.WR)
    actab, preab, macab, refab = at(Op.ACTAB), at(Op.PREAB), at(Op.MACAB), at(Op.REFAB)
    refpb, wrb, rdb = at(Op.REFPB), at(Op.WRB), at(Op.RDB)
    every_bank = [at(Op.ACT, f"{group}.{bank}") for group in range(4) for bank in range(4)]

    rcd = {"t_rcd_rd": LONG}, {"t_rcd_wr": LONG}, {"t_rcd_ab": LONG}
    yield Gate(c.RCD_RD, [act], rd, lambda t: LONG, rcd[0])
    yield Gate(c.RCD_WR, [act], wr, lambda t: LONG, rcd[1])
    yield Gate(c.RCD_AB, every_bank, macab, lambda t: LONG, rcd[2])
    for column in (macab, rd, wr):
        yield Gate(c.RCD_AB, [actab], column, lambda t: LONG, rcd[2])

    ras = {"t_ras": LONG, "t_rc": LONG}
    for opened in (act, actab):
        for closed in (pre, preab):
            yield Gate(c.RAS, [opened], closed, lambda t: LONG, ras)
            # After a single PRE the other banks of an ACTab are still open.
            laters = (act,) if opened is actab and closed is pre else (act, actab, refab, refpb)
            for later in laters:
                yield Gate(c.RC, [opened, closed], later, lambda t: LONG, {"t_rc": LONG}, -2)
    for later in (act, actab, refab, refpb):
        yield Gate(c.RP, [act, pre], later, lambda t: LONG, {"t_rp": LONG})
        yield Gate(c.RP_AB, [act, preab], later, lambda t: LONG, {"t_rp_ab": LONG})
    two = [act, at(Op.ACT, "1.0")]
    for first in (pre, preab):
        yield Gate(c.PPD, [*two, first], preab, lambda t: LONG, {"t_ppd": LONG})
    yield Gate(c.PPD, [*two, pre], at(Op.PRE, "1.0"), lambda t: LONG, {"t_ppd": LONG})
    yield Gate(c.PPD, [act, preab, act], pre, lambda t: LONG, {"t_ppd": LONG}, -2)

    for closed in (pre, preab):
        yield Gate(c.RTP, [act, rd], closed, lambda t: LONG, {"t_rtp": LONG})
        yield Gate(c.RTP, [actab, macab], closed, lambda t: LONG, {"t_rtp": LONG})
        yield Gate(c.WR, [act, wr], closed, lambda t: t.wl + t.burst + LONG, {"t_wr": LONG})

    ccd = {"t_ccd_s": LONG, "t_ccd_l": LONG}
    ccd_l = {"t_ccd_l": LONG}
    same_group = [act, at(Op.ACT, "0.1")]
    for op, other in ((rd, Op.RD), (wr, Op.WR)):
        yield Gate(c.CCD_S, [*two, op], at(other, "1.0"), lambda t: LONG, ccd)
        yield Gate(c.CCD_L, [*same_group, op], at(other, "0.1"), lambda t: LONG, ccd_l)
    # Bursts of banks and of the PIM unit share the data bus.
    for column in (rd, wr):
        unit = rdb if column is rd else wrb
        yield Gate(c.CCD_S, [act, column], unit, lambda t: LONG, ccd)
        yield Gate(c.CCD_S, [act, unit], column, lambda t: LONG, ccd)
        yield Gate(c.CCD_S, [unit], unit, lambda t: LONG, ccd)
    yield Gate(c.CCD_L, [actab, rd], macab, lambda t: LONG, ccd_l)
    yield Gate(c.CCD_L, [actab, macab], rd, lambda t: LONG, ccd_l)
    yield Gate(c.CCD_L, [actab, macab], wr, lambda t: LONG, ccd_l)
    yield Gate(c.MAC, [actab, macab], macab, lambda t: LONG, {"t_mac": LONG})

    # The last burst of inputs has arrived WL + BL after its command.
    yield Gate(c.WRB_MAC, [actab, wrb], macab, lambda t: LONG + t.burst, {"wl": LONG, "rl": LONG})
    yield Gate(c.MAC_RDB, [actab, macab], rdb, lambda t: LONG, {"t_mac_rdb": LONG})

    gap = {"t_rtw_gap": LONG}
    wtr = {"t_wtr_s": LONG, "t_wtr_l": LONG}
    wtr_l = {"t_wtr_l": LONG}
    yield Gate(c.RTW, [act, rd], wr, lambda t: t.rl + t.burst + LONG - t.wl, gap)
    yield Gate(c.WTR_S, [*two, wr], at(Op.RD, "1.0"), lambda t: t.wl + t.burst + LONG, wtr)
    yield Gate(
        c.WTR_L, [*same_group, wr], at(Op.RD, "0.1"), lambda t: t.wl + t.burst_max + LONG, wtr_l
    )
    yield Gate(c.WTR_L, [actab, wr], macab, lambda t: t.wl + t.burst_max + LONG, wtr_l)

    for setup, read, write in (([act], rd, wrb), ([act], rdb, wr), ([], rdb, wrb)):
        yield Gate(c.RTW, [*setup, read], write, lambda t: t.rl + t.burst + LONG - t.wl, gap)
        yield Gate(c.WTR_S, [*setup, write], read, lambda t: t.wl + t.burst + LONG, wtr)

    ranks = [act, at(Op.ACT, rank=1)]
    cs = {"t_cs": LONG}
    for read in (Op.RD, Op.RDB):
        for write in (Op.WR, Op.WRB):
            setup, late = [*ranks, at(read)], at(write, rank=1)
            yield Gate(c.CS_RTW, setup, late, lambda t: t.rl + t.burst + LONG - t.wl, cs)
            setup, late = [*ranks, at(write)], at(read, rank=1)
            yield Gate(c.CS_WTR, setup, late, lambda t: t.wl + t.burst + LONG - t.rl, cs)
    for alike in ((Op.RD, Op.RDB), (Op.WR, Op.WRB)):
        for first, later in itertools.product(alike, alike):
            setup, late = [*ranks, at(first)], at(later, rank=1)
            yield Gate(c.CS_SAME, setup, late, lambda t: t.burst + LONG, cs)

    rrd = {"t_rrd_s": LONG, "t_rrd_l": LONG}
    yield Gate(c.RRD_S, [act], at(Op.ACT, "1.0"), lambda t: LONG, rrd)
    yield Gate(c.RRD_S, [act], at(Op.REFPB, "0.1"), lambda t: LONG, rrd)
    yield Gate(c.RRD_L, [act], at(Op.ACT, "0.1"), lambda t: LONG, {"t_rrd_l": LONG})
    four = [at(Op.ACT, f"{group}.1") for group in range(4)]
    faw = {"t_faw": LONG, "t_rc": LONG}
    yield Gate(c.FAW, four, at(Op.ACT, "0.2"), lambda t: LONG, faw, -4)

    for later in (act, actab, refab, refpb, preab, wrb, rdb):
        yield Gate(c.RFC_AB, [refab], later, lambda t: LONG, {"t_rfc_ab": LONG})
    for later in (act, actab, refab, preab):
        yield Gate(c.RFC_PB, [refpb], later, lambda t: LONG, {"t_rfc_pb": LONG})
    yield Gate(c.PBR_PBR, [refpb], at(Op.REFPB, "0.1"), lambda t: LONG, {"t_pbr_pbr": LONG})
    yield Gate(c.PBR_ACT, [refpb], at(Op.ACT, "0.1"), lambda t: LONG, {"t_pbr_act": LONG})


GATES = list(gates())


@pytest.mark.parametrize("gate", GATES, ids=str)
def test_not_one_cycle_early_and_on_time(load, standards, make_engine, gate):
    for standard in standards:
        timing = load(standard, channels=1, ranks=2, **gate.changes)
        engine = make_engine(timing)
        cycles = gate.cycles(timing)
        legal = engine.run(gate.setup)[gate.since] + cycles
        assert engine.earliest(gate.probe) == legal
        with pytest.raises(TooEarlyError, match=f"{gate.constraint.name} = {cycles} ") as refusal:
            engine.issue(gate.probe, legal - 1)
        told = refusal.value
        assert (told.constraint, told.minimum, told.earliest) == (gate.constraint, cycles, legal)
        engine.issue(gate.probe, legal)
        assert engine.now(0) == legal


def test_every_rule_has_its_gates():
    gated = {(g.constraint, g.setup[g.since].op, g.probe.op) for g in GATES}
    ruled = {(r.constraint, a, b) for r in RULES for a in r.earlier for b in r.later}
    # A second refresh of one bank waits for its round, unless REFab came between.
    assert ruled - gated == {(Constraint.RFC_PB, Op.REFPB, Op.REFPB)}
    assert gated <= ruled


def test_a_bank_refreshed_alone_is_busy_for_its_refresh_in_the_next_round(timing, make_engine):
    step = timing.banks // timing.banks_per_refresh
    timing = replace(timing, t_pbr_pbr=1, t_rfc_pb=LONG)
    round_ = [at(Op.REFPB, f"{b // 4}.{b % 4}") for b in range(step)]
    engine = make_engine(timing)
    first, *_ = engine.run(round_)
    assert engine.bound(round_[0]) == (first + LONG, Constraint.RFC_PB)


@pytest.mark.parametrize(
    ("setup", "probe", "changes"),
    [
        # Same-group values do not reach other groups, nor bank values other banks.
        ([at(Op.ACT)], at(Op.ACT, "1.0"), {"t_rrd_l": LONG}),
        ([at(Op.ACT), at(Op.ACT, "1.0"), at(Op.RD)], at(Op.RD, "1.0"), {"t_ccd_l": LONG}),
        ([at(Op.ACT), at(Op.ACT, "1.0"), at(Op.WR)], at(Op.RD, "1.0"), {"t_wtr_l": LONG}),
        ([at(Op.ACT), at(Op.PRE)], at(Op.ACT, "1.0"), {"t_rp": LONG, "t_rc": LONG}),
        ([at(Op.ACT), at(Op.ACT, "1.0"), at(Op.RD)], at(Op.PRE, "1.0"), {"t_rtp": LONG}),
        ([at(Op.REFPB)], at(Op.ACT, "0.1"), {"t_rfc_pb": LONG}),
        # Rank values do not reach other ranks.
        ([at(Op.REFAB)], at(Op.ACT, rank=1), {"t_rfc_ab": LONG}),
        ([at(Op.ACT)], at(Op.ACT, rank=1), {"t_rrd_s": LONG, "t_rrd_l": LONG}),
        # All-bank MAC commands leave the data bus to other ranks.
        (
            [at(Op.ACTAB), at(Op.ACT, rank=1), at(Op.MACAB)],
            at(Op.RD, rank=1),
            {"t_mac": LONG, "t_ccd_l": LONG, "t_cs": LONG},
        ),
        # A unit's inputs and results are those of its own rank, and no banks' columns.
        (
            [at(Op.ACTAB), at(Op.WRB, rank=1)],
            at(Op.MACAB),
            {"wl": LONG, "rl": LONG},
        ),
        ([at(Op.ACTAB), at(Op.MACAB)], at(Op.RDB, rank=1), {"t_mac_rdb": LONG}),
        ([at(Op.ACTAB), at(Op.RDB)], at(Op.MACAB), {"t_ccd_l": LONG}),
        ([at(Op.ACTAB), at(Op.MACAB)], at(Op.WRB), {"t_mac": LONG, "t_ccd_l": LONG}),
        ([at(Op.ACT), at(Op.RDB)], at(Op.PREAB), {"t_rtp": LONG}),
        ([at(Op.ACT), at(Op.WRB)], at(Op.PREAB), {"t_wr": LONG}),
        ([at(Op.REFAB)], at(Op.WRB, rank=1), {"t_rfc_ab": LONG}),
    ],
)
def test_a_constraint_ends_at_its_scope(timing, make_engine, setup, probe, changes):
    engine = make_engine(replace(timing, channels=1, ranks=2, **changes))
    engine.run(setup)
    assert engine.earliest(probe) < engine.now(0) + LONG


def test_channels_do_not_see_each_other(timing, make_engine):
    engine = make_engine(replace(timing, channels=2))
    engine.issue(at(Op.REFAB), 100)
    assert engine.earliest(Command(op=Op.ACT, channel=1)) == 0


def test_commands_of_a_shared_bus_follow_each_other(load, make_engine):
    timing = load("lpddr5-6400")
    engine = make_engine(timing)
    engine.issue(at(Op.ACT), 10)
    engine.issue(at(Op.ACT, rank=1), 12)
    with pytest.raises(TooEarlyError) as refusal:
        engine.issue(at(Op.ACT, rank=2), 13)
    assert refusal.value.constraint is Constraint.COMMAND_BUS
    assert refusal.value.earliest == 14


def test_a_column_command_may_share_a_cycle_with_a_row_command_on_split_buses(load, make_engine):
    engine = make_engine(load("hbm2"))
    engine.run([at(Op.ACT)])
    engine.issue(at(Op.ACT, "1.0"), 100)
    assert engine.bound(at(Op.RD)) == (100, Constraint.ORDER)
    with pytest.raises(TooEarlyError, match="ORDER"):
        engine.issue(at(Op.RD), 99)
    engine.issue(at(Op.RD), 100)
    assert engine.now(0) == 100


def test_refreshes_may_be_pulled_in_so_far_only(load, make_engine):
    timing = load("lpddr5-6400", refresh_slack=2)
    engine = make_engine(timing)
    # Due at 3124, 6248, 9372: the third may come 2 x 3124 ahead of that.
    engine.run([at(Op.REFAB), at(Op.REFAB)])
    with pytest.raises(TooEarlyError, match="REFI = 6248 cycles, legal from cycle 3124"):
        engine.issue(at(Op.REFAB), 3123)
    engine.issue(at(Op.REFAB), 3124)
    assert engine.refresh_due(0, 0) == 4 * 3124
