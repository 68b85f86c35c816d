# SPDX-License-Identifier: Apache-2.0
"""Both controllers on the same random requests under random options: same cycles, same commands."""

import sys
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from types import ModuleType

import numpy as np
import pytest

from ahasd.system.devices.dram import controller_fast
from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.controller import Options
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import MAPPINGS
from ahasd.system.devices.dram.controller_reference import ReferenceController
from ahasd.system.devices.dram.controller_traffic import at_rate, mixed, random

REQUESTS = 40


def drawn(timing, seed):
    """Return a small memory that refreshes often, requests and options."""
    rng = np.random.default_rng(seed)
    small = replace(
        timing,
        ranks=1 + seed % 2,
        channels=1,
        rows=64,
        t_refi=timing.t_rfc_ab + 100,
        t_refi_pb=timing.t_rfc_pb + timing.t_pbr_pbr,
    )
    write_depth = int(rng.integers(2, 12))
    drain_from = int(rng.integers(1, write_depth + 1))
    options = Options(
        mapping=list(MAPPINGS.values())[seed % len(MAPPINGS)],
        read_depth=int(rng.integers(1, 12)),
        write_depth=write_depth,
        drain_from=drain_from,
        drain_to=int(rng.integers(0, drain_from)),
        bank_depth=int(rng.choice([0, 0, 1, 4])),
        hits_cap=int(rng.choice([0, 1, 4])),
        hits_limit=int(rng.choice([0, 4, 5])),
        page=("open", "closed")[int(rng.integers(2))],
        refresh=("all-bank", "per-bank", "none")[int(rng.integers(3))],
    )
    addresses = random(rng, REQUESTS, small.burst_bytes, int(rng.choice([256, 2048, 2**14, 2**19])))
    if rng.random() < 0.3:
        # Two rows of a bank, in mappings with the row above all.
        row_step = small.ranks * small.banks * small.row_bytes
        addresses = addresses % 512 + row_step * rng.integers(0, 2, REQUESTS)
    requests = mixed(rng, addresses, float(rng.choice([1, 0.7, 0.5, 0.2])))
    if rng.random() < 0.5:
        requests = at_rate(requests, float(rng.choice([1, 5, 30])))
    if rng.random() < 0.3:
        requests = replace(requests, gaps=rng.integers(0, 40, REQUESTS))
    return small, requests, options


def compared(timing, seeds):
    """Compare both on so many cases, and return the commands that came up."""
    seen = Counter()
    for seed in range(seeds):
        small, requests, options = drawn(timing, seed)
        reference = ReferenceController(small, requests, options).run()
        fast = serve(small, requests, options)
        assert fast.entered.tolist() == reference.entered.tolist()
        assert fast.done.tolist() == reference.done.tolist()
        assert fast.commands == reference.commands
        assert fast.forwarded == reference.forwarded
        seen.update(reference.commands)
        seen["forwarded"] += reference.forwarded
    return seen


def test_both_controllers_serve_random_requests_alike(timing):
    seen = compared(timing, 6)
    assert all(seen[op] for op in (Op.RD, Op.WR, Op.ACT))


@pytest.mark.slow
def test_both_controllers_serve_many_random_requests_alike(timing):
    seen = compared(timing, 100)
    used = (Op.RD, Op.WR, Op.ACT, Op.PRE, Op.PREAB, Op.REFAB, Op.REFPB, "forwarded")
    assert [each for each in used if not seen[each]] == []


# before, after
MUTANTS = {
    "refreshes come last": ("bank - _FAR", "_FAR - 1"),
    "banks that wait for a refresh get new rows": (
        "    if ranks[rank, R_DUE] > now:\n        return False\n",
        "    return False\n",
    ),
    "the youngest goes first": (
        "return i if queue[i, Q_OPENED] else count + i",
        "return -i if queue[i, Q_OPENED] else count - i",
    ),
    "opened rows have no right of way": ("return i if queue[i, Q_OPENED] else", "return"),
    "banks are not served in turns": ("- state[LAST_BANK] - 1)", ")"),
    "rows are closed in spite of hits": ("accesses < options[HITS_CAP]", "False"),
    "hits are not limited": ("at_limit = limit > 0 and", "at_limit = False and"),
    "a younger request closes a row": ("if i != oldest or", "if"),
    "writes never drain by number": ("writes >= options[DRAIN_FROM] or", "False or"),
    "writes drain to the last": ("writes <= options[DRAIN_TO]", "writes < 0"),
    "reads pass writes of their burst": ("if behind_write and not", "if False and not"),
    "writes pass reads of their burst": ("queue[i, Q_WAITS_FOR] = youngest_read", "pass"),
    "a queue has room for one more": (
        "state[READS] < options[READ_DEPTH]",
        "state[READS] <= options[READ_DEPTH]",
    ),
    "a bank's queue has room for one more": ("< options[BANK_DEPTH]", "<= options[BANK_DEPTH]"),
    "nothing is closed for want of use": ("if options[CLOSED_PAGE] != 0:", "if False:"),
    "bounds are kept too long": ("state[SERIAL] += 1", "pass"),
    "a request that comes in time is overlooked": ("if event <= cycle:", "if event < cycle:"),
    "pauses are forgotten": ("now + queue[i + 1, Q_GAP]", "now"),
    "the next set of banks is not taken in turn": ("(next_set[best[2]] + 1) %", "0 *"),
}


def mutant(monkeypatch, before, after):
    """Return the kernel with one change, not compiled."""
    text = (files("ahasd.system.devices.dram") / "controller_kernel.py").read_text(encoding="utf-8")
    assert before in text
    text = text.replace(before, after).replace("@compiled\n", "")
    module = ModuleType("mutant_of_controller_kernel")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text, "controller_kernel.py", "exec"), module.__dict__)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_in_the_kernel_is_caught(monkeypatch, load, name):
    monkeypatch.setattr(controller_fast, "kernel", mutant(monkeypatch, *MUTANTS[name]))
    with pytest.raises(AssertionError):
        compared(load("lpddr5-6400"), 200)


def test_the_kernel_does_the_same_when_not_compiled(monkeypatch, load):
    monkeypatch.setattr(controller_fast, "kernel", mutant(monkeypatch, "def ", "def "))
    compared(load("lpddr5-6400"), 3)
