# SPDX-License-Identifier: Apache-2.0
import functools
import random
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.commands import Command, Op, encoded
from ahasd.system.devices.dram.engine import IllegalCommandError
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.rules import Constraint
from ahasd.system.devices.dram.timing import load_timing

STANDARDS = ("lpddr5-6400", "paper", "lpddr5x-8533", "hbm2", "hbm3-5200")
COMMANDS = 40


@functools.cache
def _timing(name):
    return load_timing(name)


class Traffic:
    """Random commands, mostly legal, for a memory; keeps its own account of open rows.

    By turns seeds give traffic of all kinds, or in a hurry to open rows of one rank, or for columns
    of one channel, or to open all banks one by one for a MAC.
    """

    def __init__(self, timing, seed):
        self.timing = timing
        self.kind = ("all", "rows", "columns", "gang")[seed % 4]
        self.rng = random.Random(seed)
        self.rows = {}
        self.refreshed = {}

    def command(self):
        rng, t = self.rng, self.timing
        channel = rng.randrange(t.channels) if self.kind == "all" else 0
        rank = rng.randrange(t.ranks) if self.kind in ("all", "columns") else 0
        where = {"channel": channel, "rank": rank}
        bank = rng.randrange(t.banks)
        group, in_group = divmod(bank, t.banks_per_group)
        at_bank = where | {"group": group, "bank": in_group}
        row = rng.randrange(3)
        if rng.random() < 0.05:
            return Command(op=rng.choice(list(Op)), row=row, **at_bank)
        if rng.random() < {"columns": 0.25, "gang": 0.15}.get(self.kind, 0.08):
            return Command(op=rng.choice([Op.WRB, Op.RDB]), **where)
        rows = self.rows.setdefault((channel, rank), {})
        if self.kind == "gang" and len(rows) < t.banks and rng.random() < 0.9:
            bank = next(each for each in range(t.banks) if each not in rows)
            group, in_group = divmod(bank, t.banks_per_group)
            return Command(op=Op.ACT, **where, group=group, bank=in_group)
        if not rows and rng.random() < (0.5 if self.kind == "all" else 0.2):
            op = rng.choice([Op.ACTAB, Op.REFAB, Op.REFPB, Op.REFPB])
            if op is Op.REFPB:
                return Command(op=op, **at_bank)
            return Command(op=op, row=row if op is Op.ACTAB else 0, **where)
        if len(rows) == t.banks and len(set(rows.values())) == 1 and rng.random() < 0.6:
            return Command(op=Op.MACAB, row=rows[0], **where)
        if rng.random() < 0.06:
            return Command(op=Op.PREAB, **where)
        if bank not in rows:
            op = Op.REFPB if rng.random() < 0.15 else Op.ACT
            return Command(op=op, row=row if op is Op.ACT else 0, **at_bank)
        if self.kind == "rows" and rng.random() < 0.7:
            return Command(op=Op.PRE, **at_bank)
        op = rng.choice([Op.RD, Op.RD, Op.RD, Op.WR, Op.WR, Op.PRE])
        return Command(op=op, row=0 if op is Op.PRE else rows[bank], **at_bank)

    def wait(self):
        if self.kind != "all" and self.rng.random() < 0.8:
            return 0
        return self.rng.choice([0] * 12 + [1, 1, 2, 3, 7, 30, 200]) + (
            self.rng.randrange(4000) if self.rng.random() < 0.02 else 0
        )

    def accepted(self, command):
        rows = self.rows.setdefault((command.channel, command.rank), {})
        bank = command.group * self.timing.banks_per_group + command.bank
        match command.op:
            case Op.ACT:
                rows[bank] = command.row
            case Op.PRE:
                del rows[bank]
            case Op.ACTAB:
                rows.update(dict.fromkeys(range(self.timing.banks), command.row))
            case Op.PREAB:
                rows.clear()


def _outcome(act, *arguments):
    """Return what a call returns, or what it raises with all it says."""
    try:
        return act(*arguments)
    except IllegalCommandError as error:
        return type(error), str(error)


def _lockstep(timing, seed, seen):
    """Give both engines one stream command by command, then the accepted ones as a whole."""
    traffic = Traffic(timing, seed)
    reference, fast = ReferenceEngine(timing), FastEngine(timing)
    accepted = []
    for _ in range(COMMANDS):
        command = traffic.command()
        bound = _outcome(reference.bound, command)
        assert _outcome(fast.bound, command) == bound
        earliest = _outcome(reference.earliest, command)
        assert _outcome(fast.earliest, command) == earliest
        if isinstance(bound[1], str):
            seen["refused"] += 1
            continue
        seen["Constraint", Constraint(bound[1]).name] += 1
        if not isinstance(earliest, int):
            seen["overdue"] += 1
            continue
        early = _outcome(reference.issue, command, earliest - 1)
        assert _outcome(fast.issue, command, earliest - 1) == early
        assert early is not None
        cycle = earliest + traffic.wait()
        issued = _outcome(reference.issue, command, cycle)
        assert _outcome(fast.issue, command, cycle) == issued
        if issued is None:
            traffic.accepted(command)
            accepted.append(command)
            seen["Op", command.op.name] += 1
    for channel in range(timing.channels):
        assert fast.now(channel) == reference.now(channel)
        for rank in range(timing.ranks):
            assert fast.refresh_due(channel, rank) == reference.refresh_due(channel, rank)
            for bank in range(timing.banks):
                assert fast.open_row(channel, rank, bank) == reference.open_row(channel, rank, bank)
    cycles = ReferenceEngine(timing).run(accepted)
    assert FastEngine(timing).run(accepted) == cycles
    assert FastEngine(timing).run_encoded(encoded(timing, accepted)).tolist() == cycles


@pytest.fixture
def outcome():
    return _outcome


@pytest.fixture
def lockstep():
    """Compare both engines on one random stream and count in `seen` what came up."""
    return _lockstep


@pytest.fixture
def load():
    """Return a packaged memory, with some values replaced."""
    return lambda name, **changes: replace(_timing(name), **changes)


@pytest.fixture
def standards():
    return STANDARDS


@pytest.fixture(params=STANDARDS)
def timing(request):
    return _timing(request.param)


@pytest.fixture(params=[ReferenceEngine, FastEngine], ids=["reference", "fast"])
def make_engine(request):
    return request.param


@pytest.fixture
def make_traffic():
    return Traffic
