# SPDX-License-Identifier: Apache-2.0
"""Every rule on the shipped trace, as an independent program measured it there.

Columns: mean L, acceptance rate, acceptance length, target calls and rejected drafts per trace
token, standard deviation of L, each with the digits that were printed. Conventions: cap 12, the
tripping token kept, AdaEDL anew with every request, the bandit over all of them with delta 0.05 and
tokens per round, SpecDec++ with factor 1 at the first token and the given logistic weights.
"""

import pytest
from pydantic import TypeAdapter

from ahasd.system.drafting.base import Drafting, Outcome
from ahasd.system.drafting.oracle import Oracle
from ahasd.system.drafting.registry import AnyRuleOptions
from ahasd.system.workload.playback import DraftTable
from ahasd.system.workload.replay import replay

ANY = TypeAdapter(AnyRuleOptions)

ROWS = [
    ({"rule": "fixed", "k": 1}, "1 .703 1.70 .590 .175 0"),
    ({"rule": "fixed", "k": 2}, "2 .612 2.22 .452 .351 0"),
    ({"rule": "fixed", "k": 4}, "4 .454 2.82 .357 .780 0"),
    ({"rule": "svip", "c": 0.15, "h": 0.3}, "1.36 .715 1.97 .511 .197 0.9"),
    ({"rule": "adaedl", "lambda0": 0.3}, "4.03 .441 2.78 .362 .817 3.7"),
    ({"rule": "adaedl", "lambda0": 0.7}, "1.27 .724 1.92 .524 .183 0.8"),
    ({"rule": "saddle", "tau": 0.1}, "4.59 .454 3.09 .327 .818 2.6"),
    ({"rule": "saddle", "tau": 0.5}, "2.12 .667 2.42 .416 .294 1.6"),
    ({"rule": "specdecpp", "h": 0.3}, "3.12 .572 2.78 .361 .481 1.6"),
    ({"rule": "specdecpp", "h": 0.5}, "3.96 .500 2.98 .338 .670 2.2"),
    ({"rule": "specdecpp", "h": 0.7}, "5.14 .425 3.19 .316 .935 2.6"),
    ({"rule": "banditspec", "longest": 4}, "3.06 .491 2.50 .402 .626 1.0"),
    ({"rule": "banditspec", "longest": 8}, "5.09 .373 2.90 .347 1.11 2.3"),
]

# Share of the anchors by how many leading drafts are right: 0, 1, ..., 11, and 12 or more.
RUNS = ".275 .185 .130 .094 .069 .052 .041 .027 .020 .017 .014 .008 .068"


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_a_rule_replays_to_the_published_row(table, row, shipped):
    result = replay(shipped, ANY.validate_python(table | {"k_max": 12}).build())
    measured = (
        result.mean_length,
        result.acceptance_rate,
        result.acceptance_length,
        result.verification_rate,
        result.discard_rate,
        result.sd_length,
    )
    for value, printed in zip(measured, row.split(), strict=True):
        digits = len(printed.partition(".")[2])
        assert f"{value:.{digits}f}".lstrip("0") == printed.lstrip("0")


def test_the_oracle_drafts_what_is_right_at_every_anchor(shipped):
    result = replay(shipped, ANY.validate_python({"rule": "oracle", "k_max": 12}).build())
    # A round ends at its first wrong draft, or at the cap; its anchors follow from that alone.
    expected = []
    for request in shipped.requests:
        row, end = request.first_row, request.first_row + request.length
        while row < end:
            expected.append(int(shipped.run[row]))
            row += expected[-1] + 1
    assert list(result.accepted_per_round) == expected
    assert list(result.drafted_per_round) == [max(1, run) for run in expected]


def test_the_oracle_s_lengths_are_the_published_ones(shipped):
    # From every anchor whose request goes on behind the rollout, so that none is cut short.
    table, found = DraftTable(shipped), []
    for request in shipped.requests:
        for row in range(request.first_row, request.first_row + request.length - 12):
            drafting = Drafting(Oracle(), k_max=12)
            length = 1
            while drafting.observe(table.entry(row, length - 1)) is Outcome.CONTINUE:
                length += 1
            found.append(min(length, int(shipped.run[row])))
    shares = [f"{found.count(length) / len(found):.3f}".lstrip("0") for length in range(13)]
    assert shares == RUNS.split()
