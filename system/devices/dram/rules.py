# SPDX-License-Identifier: Apache-2.0
"""Which command must wait how long after which: the timing rules as a table.

Sources of the rules: JESD209-5B (LPDDR5), JESD235D (HBM2), JESD238A (HBM3), in the form that
Ramulator 2.1 (CMU-SAFARI) gives them. Rules of all-bank commands follow those of a column read or
an activate of every bank at once, as in the all-bank mode of HBM-PIM (Lee et al., ISCA 2021).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.timing import Timing

Scope = Literal["bank", "group", "rank", "other_rank"]
"""Where two commands must meet: a bank or a group that both touch, one rank, or two ranks of one
channel."""


class Constraint(IntEnum):
    """Why a command has to wait. Of several that end together, the first here is told."""

    ORDER = 0
    COMMAND_BUS = 1
    RCD_RD = 2
    RCD_WR = 3
    RCD_AB = 4
    RAS = 5
    RC = 6
    RP = 7
    RP_AB = 8
    PPD = 9
    RTP = 10
    WR = 11
    CCD_S = 12
    CCD_L = 13
    MAC = 14
    WRB_MAC = 15
    MAC_RDB = 16
    RTW = 17
    WTR_S = 18
    WTR_L = 19
    CS_SAME = 20
    CS_RTW = 21
    CS_WTR = 22
    RRD_S = 23
    RRD_L = 24
    FAW = 25
    RFC_AB = 26
    RFC_PB = 27
    PBR_PBR = 28
    PBR_ACT = 29
    REFI = 30


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`later` waits for the `count`-th last of `earlier` within `scope`."""

    constraint: Constraint
    earlier: tuple[Op, ...]
    later: tuple[Op, ...]
    scope: Scope
    count: int = 1


_PRECHARGE = (Op.PRE, Op.PREAB)
_FROM_CLOSED = (Op.ACT, Op.ACTAB, Op.REFAB, Op.REFPB)
# On the data bus a burst is a burst, from a bank or from a PIM unit.
_READ = (Op.RD, Op.RDB)
_WRITE = (Op.WR, Op.WRB)


def _rule(
    constraint: Constraint, earlier: tuple[Op, ...], later: tuple[Op, ...], scope: Scope
) -> Rule:
    return Rule(constraint=constraint, earlier=earlier, later=later, scope=scope)


RULES = (
    _rule(Constraint.RCD_RD, (Op.ACT,), (Op.RD,), "bank"),
    _rule(Constraint.RCD_WR, (Op.ACT,), (Op.WR,), "bank"),
    _rule(Constraint.RCD_AB, (Op.ACT,), (Op.MACAB,), "bank"),
    _rule(Constraint.RCD_AB, (Op.ACTAB,), (Op.RD, Op.WR, Op.MACAB), "bank"),
    _rule(Constraint.RAS, (Op.ACT, Op.ACTAB), _PRECHARGE, "bank"),
    _rule(Constraint.RC, (Op.ACT, Op.ACTAB), _FROM_CLOSED, "bank"),
    _rule(Constraint.RP, (Op.PRE,), _FROM_CLOSED, "bank"),
    _rule(Constraint.RP_AB, (Op.PREAB,), _FROM_CLOSED, "bank"),
    _rule(Constraint.PPD, _PRECHARGE, _PRECHARGE, "rank"),
    _rule(Constraint.RTP, (Op.RD, Op.MACAB), _PRECHARGE, "bank"),
    _rule(Constraint.WR, (Op.WR,), _PRECHARGE, "bank"),
    _rule(Constraint.CCD_S, _READ, _READ, "rank"),
    _rule(Constraint.CCD_S, _WRITE, _WRITE, "rank"),
    _rule(Constraint.CCD_L, (Op.RD,), (Op.RD, Op.MACAB), "group"),
    _rule(Constraint.CCD_L, (Op.WR,), (Op.WR,), "group"),
    _rule(Constraint.CCD_L, (Op.MACAB,), (Op.RD, Op.WR), "group"),
    _rule(Constraint.MAC, (Op.MACAB,), (Op.MACAB,), "rank"),
    _rule(Constraint.WRB_MAC, (Op.WRB,), (Op.MACAB,), "rank"),
    _rule(Constraint.MAC_RDB, (Op.MACAB,), (Op.RDB,), "rank"),
    _rule(Constraint.RTW, _READ, _WRITE, "rank"),
    _rule(Constraint.WTR_S, _WRITE, _READ, "rank"),
    _rule(Constraint.WTR_L, (Op.WR,), (Op.RD, Op.MACAB), "group"),
    _rule(Constraint.CS_SAME, _READ, _READ, "other_rank"),
    _rule(Constraint.CS_SAME, _WRITE, _WRITE, "other_rank"),
    _rule(Constraint.CS_RTW, _READ, _WRITE, "other_rank"),
    _rule(Constraint.CS_WTR, _WRITE, _READ, "other_rank"),
    _rule(Constraint.RRD_S, (Op.ACT,), (Op.ACT, Op.REFPB), "rank"),
    _rule(Constraint.RRD_L, (Op.ACT,), (Op.ACT,), "group"),
    Rule(constraint=Constraint.FAW, earlier=(Op.ACT,), later=(Op.ACT,), scope="rank", count=4),
    _rule(Constraint.RFC_AB, (Op.REFAB,), (*_FROM_CLOSED, Op.PREAB, Op.WRB, Op.RDB), "rank"),
    _rule(Constraint.RFC_PB, (Op.REFPB,), (*_FROM_CLOSED, Op.PREAB), "bank"),
    _rule(Constraint.PBR_PBR, (Op.REFPB,), (Op.REFPB,), "rank"),
    _rule(Constraint.PBR_ACT, (Op.REFPB,), (Op.ACT,), "rank"),
)


def minima(timing: Timing) -> dict[Constraint, int]:
    """Return the cycles from the earlier to the later command of every constraint.

    ORDER and COMMAND_BUS have no fixed value and are 0; REFI is how far ahead of its due cycle a
    refresh may come.
    """
    t = timing
    read_to_write = t.rl + t.burst - t.wl
    write_data_end = t.wl + t.burst
    return {
        Constraint.ORDER: 0,
        Constraint.COMMAND_BUS: 0,
        Constraint.RCD_RD: t.t_rcd_rd,
        Constraint.RCD_WR: t.t_rcd_wr,
        Constraint.RCD_AB: t.t_rcd_ab,
        Constraint.RAS: t.t_ras,
        Constraint.RC: t.t_rc,
        Constraint.RP: t.t_rp,
        Constraint.RP_AB: t.t_rp_ab,
        Constraint.PPD: t.t_ppd,
        Constraint.RTP: t.t_rtp,
        Constraint.WR: write_data_end + t.t_wr,
        Constraint.CCD_S: t.t_ccd_s,
        Constraint.CCD_L: t.t_ccd_l,
        Constraint.MAC: t.t_mac,
        # The unit multiplies what has arrived in whole.
        Constraint.WRB_MAC: write_data_end,
        Constraint.MAC_RDB: t.t_mac_rdb,
        Constraint.RTW: read_to_write + t.t_rtw_gap,
        Constraint.WTR_S: write_data_end + t.t_wtr_s,
        Constraint.WTR_L: t.wl + t.burst_max + t.t_wtr_l,
        Constraint.CS_SAME: t.burst + t.t_cs,
        Constraint.CS_RTW: read_to_write + t.t_cs,
        # Data of the read may not arrive before the write's is over: at once, if RL is long.
        Constraint.CS_WTR: max(0, write_data_end + t.t_cs - t.rl),
        Constraint.RRD_S: t.t_rrd_s,
        Constraint.RRD_L: t.t_rrd_l,
        Constraint.FAW: t.t_faw,
        Constraint.RFC_AB: t.t_rfc_ab,
        Constraint.RFC_PB: t.t_rfc_pb,
        Constraint.PBR_PBR: t.t_pbr_pbr,
        Constraint.PBR_ACT: t.t_pbr_act,
        Constraint.REFI: t.refresh_slack * t.t_refi,
    }
