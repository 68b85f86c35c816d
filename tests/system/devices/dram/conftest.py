# SPDX-License-Identifier: Apache-2.0
import functools
import random
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.commands import Command, Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.reference import ReferenceEngine
from ahasd.system.devices.dram.timing import load_timing

STANDARDS = ("lpddr5-6400", "paper", "lpddr5x-8533", "hbm2", "hbm3-5200")


@functools.cache
def _timing(name):
    return load_timing(name)


class Traffic:
    """Random commands, mostly legal, for a memory; keeps its own account of open rows."""

    def __init__(self, timing, seed):
        self.timing = timing
        self.rng = random.Random(seed)
        self.rows = {}
        self.refreshed = {}

    def command(self):
        rng, t = self.rng, self.timing
        channel, rank = rng.randrange(t.channels), rng.randrange(t.ranks)
        where = {"channel": channel, "rank": rank}
        bank = rng.randrange(t.banks)
        group, in_group = divmod(bank, t.banks_per_group)
        at_bank = where | {"group": group, "bank": in_group}
        row = rng.randrange(3)
        if rng.random() < 0.05:
            return Command(op=rng.choice(list(Op)), row=row, **at_bank)
        rows = self.rows.setdefault((channel, rank), {})
        if not rows and rng.random() < 0.5:
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
        op = rng.choice([Op.RD, Op.RD, Op.RD, Op.WR, Op.WR, Op.PRE])
        return Command(op=op, row=0 if op is Op.PRE else rows[bank], **at_bank)

    def wait(self):
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
