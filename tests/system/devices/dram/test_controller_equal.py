# SPDX-License-Identifier: Apache-2.0
"""Both controllers on the same random requests under random options: same cycles, same commands."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

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
        t_refi=timing.t_rfc_ab * 3,
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
