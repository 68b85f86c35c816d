# SPDX-License-Identifier: Apache-2.0
"""What the state of banks and refreshes forbids, and that a refused command changes nothing."""

import pytest

from ahasd.system.devices.dram.commands import Command, Op, encoded, touched_banks
from ahasd.system.devices.dram.engine import BankStateError, Fault, RefreshOverdueError
from ahasd.system.devices.dram.rules import Constraint

ACT, RD, PRE = Command(op=Op.ACT, row=5), Command(op=Op.RD, row=5), Command(op=Op.PRE)
OTHER = Command(op=Op.ACT, group=1, row=6)


@pytest.mark.parametrize(
    ("setup", "command", "fault"),
    [
        ([], RD, Fault.CLOSED),
        ([], Command(op=Op.WR), Fault.CLOSED),
        ([], PRE, Fault.CLOSED),
        ([ACT], Command(op=Op.MACAB, row=5), Fault.CLOSED),
        ([ACT], ACT, Fault.OPEN),
        ([ACT], Command(op=Op.ACTAB), Fault.OPEN),
        ([ACT], Command(op=Op.REFAB), Fault.OPEN),
        ([ACT], Command(op=Op.REFPB), Fault.OPEN),
        ([ACT], Command(op=Op.RD, row=6), Fault.OTHER_ROW),
        ([ACT], Command(op=Op.WR, row=6), Fault.OTHER_ROW),
        ([Command(op=Op.ACTAB, row=5)], Command(op=Op.MACAB, row=6), Fault.OTHER_ROW),
        (
            [Command(op=Op.ACTAB, row=5), PRE, Command(op=Op.ACT, row=7)],
            Command(op=Op.MACAB, row=5),
            Fault.OTHER_ROW,
        ),
        ([Command(op=Op.REFPB)], Command(op=Op.REFPB), Fault.REFRESHED),
    ],
)
def test_a_bank_in_the_wrong_state_refuses(timing, make_engine, setup, command, fault):
    engine = make_engine(timing)
    engine.run(setup)
    before = engine.save(0, 0)
    for refused in (engine.earliest, lambda each: engine.issue(each, 10**4)):
        with pytest.raises(BankStateError) as refusal:
            refused(command)
        assert refusal.value.fault is fault
    with pytest.raises(BankStateError):
        engine.run([command])
    assert engine.save(0, 0) == before


def test_all_banks_opened_one_by_one_take_a_mac(timing, make_engine):
    engine = make_engine(timing)
    engine.run(
        [
            Command(op=Op.ACT, group=group, bank=bank, row=3)
            for group in range(timing.bank_groups)
            for bank in range(timing.banks_per_group)
        ]
    )
    engine.run([Command(op=Op.MACAB, row=3)])
    assert {engine.open_row(0, 0, bank) for bank in range(timing.banks)} == {3}
    engine.run([PRE])
    assert engine.open_row(0, 0, 0) is None
    assert engine.open_row(0, 0, 1) == 3


def test_a_refresh_of_single_banks_takes_partners_along(load, make_engine):
    # LPDDR5: eight REFpb for sixteen banks; bank 1 goes with bank 9.
    engine = make_engine(load("lpddr5-6400"))
    engine.run([Command(op=Op.REFPB, group=2, bank=1)])
    with pytest.raises(BankStateError, match="refreshed in this round"):
        engine.earliest(Command(op=Op.REFPB, group=0, bank=1))
    assert engine.bound(Command(op=Op.ACT, group=0, bank=1)) == (112, Constraint.RFC_PB)
    # HBM2 refreshes one at a time.
    engine = make_engine(load("hbm2"))
    engine.run([Command(op=Op.REFPB, group=2, bank=1)])
    assert engine.bound(Command(op=Op.ACT, group=0, bank=1)) == (8, Constraint.PBR_ACT)


def test_a_round_of_single_refreshes_ends_with_the_last_bank_or_a_full_refresh(timing, make_engine):
    engine = make_engine(timing)
    step = timing.banks // timing.banks_per_refresh
    round_ = [
        Command(
            op=Op.REFPB, group=bank // timing.banks_per_group, bank=bank % timing.banks_per_group
        )
        for bank in range(step)
    ]
    engine.run(round_)
    assert engine.refresh_due(0, 0) == timing.t_refi + step * timing.t_refi_pb
    engine.run(round_[:1])
    engine.run([Command(op=Op.REFAB)])
    engine.run(round_[:1])


def test_a_pim_unit_is_written_and_read_whatever_the_banks_do(timing, make_engine):
    units = [Command(op=Op.WRB), Command(op=Op.RDB)]
    for before in ([], [ACT], [Command(op=Op.ACTAB, row=5)]):
        engine = make_engine(timing)
        engine.run([*before, *units])
        assert touched_banks(timing, units[0]) == ()
        assert engine.open_row(0, 0, 0) == (5 if before else None)


def test_an_overdue_refresh_stops_all_but_precharge_and_refresh(timing, make_engine):
    engine = make_engine(timing)
    engine.run([ACT, RD])
    latest = 9 * timing.t_refi
    units = Command(op=Op.WRB), Command(op=Op.RDB)
    for command in (RD, Command(op=Op.WR, row=5), OTHER, *units):
        with pytest.raises(RefreshOverdueError, match=f"legal up to cycle {latest}") as refusal:
            engine.issue(command, latest + 1)
        assert refusal.value.latest == latest
    engine.issue(RD, latest)
    engine.issue(Command(op=Op.PREAB), latest + 500)
    for command in (ACT, Command(op=Op.ACTAB)):
        with pytest.raises(RefreshOverdueError):
            engine.earliest(command)
        with pytest.raises(RefreshOverdueError):
            engine.run([command])
    engine.run([Command(op=Op.REFAB), ACT])
    assert engine.refresh_due(0, 0) == 2 * timing.t_refi


def test_a_stream_stops_at_its_first_illegal_command(timing, make_engine):
    engine = make_engine(timing)
    with pytest.raises(BankStateError):
        engine.run_encoded(encoded(timing, [ACT, RD, ACT, PRE]))
    assert engine.open_row(0, 0, 0) == 5
    assert engine.now(0) == timing.t_rcd_rd


@pytest.mark.parametrize(
    "where", [{"channel": 99}, {"rank": 9}, {"group": 4}, {"bank": 4}, {"row": 2**20}, {"row": -1}]
)
def test_a_place_that_does_not_exist_is_refused(timing, make_engine, where):
    with pytest.raises(ValueError, match=r"must be 0 to \d+ in"):
        make_engine(timing).earliest(Command(op=Op.ACT, **where))


def test_numbers_out_of_range_never_reach_the_tables(timing, make_engine):
    numbers = encoded(timing, [ACT])
    for column in range(6):
        for value in (-1, 2**20):
            wrong = numbers.copy()
            wrong[0, column] = value
            with pytest.raises(ValueError, match=r"must|is not a valid"):
                make_engine(timing).run_encoded(wrong)
