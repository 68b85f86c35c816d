# SPDX-License-Identifier: Apache-2.0
"""What a run had its AAUs do, beside the ledger of its steps."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ahasd.rtl.aau.params import Operation
from ahasd.system.aau_work import told, worked
from ahasd.system.config import load_config
from ahasd.system.devices.aau_check import Sampled
from ahasd.system.devices.nonlinear import operators, spread
from ahasd.system.schemes.names import Scheme
from ahasd.system.simulate import Outcome, prepare, simulate


def outcome(scheme: Scheme) -> Outcome:
    keys: dict[str, Any] = {"scheme": scheme, "backend.ahasd": "golden", "workload.tokens": 12}
    config = load_config("test", keys)
    return simulate(config, *prepare(config))


def by_hand(found: Outcome, model: str, operation: Operation, context: int) -> int:
    """Return the cycles of one row's operators on all ranks."""
    shape = {"draft": found.config.dlm, "target": found.config.tlm}[model]
    ranks = {"draft": found.ranks.draft_ranks, "target": found.ranks.target.ranks}[model]
    cycles = 0
    for each in operators(shape, context + 1):
        if each.operation is operation:
            parts, length = spread(each, ranks)
            taken = found.config.nonlinear.params().cycles(operation, length, parts)
            cycles += each.layers * each.vectors * parts * taken
    return cycles


def test_draft_steps_and_passes_in_the_ranks_count_as_often_as_they_were():
    found = outcome("pim-sd")
    counted = worked(found)
    assert {model for model, _ in counted} == {"draft", "target"}
    drafted = sum(
        times * by_hand(found, "draft", Operation.SOFTMAX, context)
        for context, times in found.ledger.draft_steps.items()
    )
    assert counted["draft", Operation.SOFTMAX] == drafted > 0
    verified = sum(
        times * by_hand(found, "target", Operation.SOFTMAX, context + row)
        for (rows, context, _), times in found.ledger.verified.items()
        for row in range(rows)
    )
    assert counted["target", Operation.SOFTMAX] == verified > 0
    # As often as steps and passes of a context were made.
    steps, passes = (
        Counter({key: 3 * times for key, times in each.items()})
        for each in (found.ledger.draft_steps, found.ledger.verified)
    )
    ledger = replace(found.ledger, draft_steps=steps, verified=passes)
    thrice = worked(replace(found, ledger=ledger))
    assert thrice == {key: 3 * cycles for key, cycles in counted.items()}


def test_where_the_npu_verifies_the_ranks_have_the_draft_alone():
    counted = worked(outcome("sync"))
    assert {model for model, _ in counted} == {"draft"}


def test_a_record_is_told_the_share_of_every_command_and_the_time_of_one_unit():
    found = outcome("sync")
    tried = [
        Sampled(model, each.operation, length, parts, 7)
        for model, shape, ranks in (
            ("draft", found.config.dlm, found.ranks.draft_ranks),
            ("target", found.config.tlm, found.ranks.target.ranks),
        )
        for each in {each.operation: each for each in operators(shape, 9)}.values()
        for parts, length in (spread(each, ranks),)
    ]
    header = told(replace(found, aau_commands=tuple(tried)))
    shares = {(each["model"], each["operation"]): each["share"] for each in header["commands"]}
    counted = worked(found)
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["target", "softmax"] == 0
    softmax = counted["draft", Operation.SOFTMAX]
    assert shares["draft", "softmax"] == pytest.approx(softmax / sum(counted.values()))
    pim = found.config.platform.pim
    assert header["instances"] == pim.ranks
    expected_ps = sum(counted.values()) * pim.period_ps / pim.ranks
    assert header["busy_ps"] == pytest.approx(expected_ps, abs=1)


def test_a_run_without_work_for_an_aau_has_nothing_to_tell():
    with pytest.raises(ValueError, match="no AAU works in a run of scheme npu-ar"):
        told(outcome("npu-ar"))
