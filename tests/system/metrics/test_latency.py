# SPDX-License-Identifier: Apache-2.0
"""Two requests whose chunks come at round times."""

import pytest

from ahasd.system.metrics.latency import Arrivals, latencies
from ahasd.system.metrics.spread import mean_and_sd, percentiles

S = 10**12
# Begun at 1 s: two tokens at 3 s, one at 4 s, four at 8 s. Then begun at 8 s: one token at 9 s.
FIRST = Arrivals(1 * S, [2, 1, 4], [3 * S, 4 * S, 8 * S])
SECOND = Arrivals(8 * S, [1], [9 * S])


def test_times_of_a_request():
    assert (FIRST.ttft_s, FIRST.e2e_s) == (2, 7)
    assert FIRST.tpot_s == pytest.approx((7 - 2) / (7 - 1))
    assert FIRST.gaps_ps == [S, 4 * S]


def test_a_single_token_has_no_time_per_token():
    assert (SECOND.ttft_s, SECOND.e2e_s, SECOND.tpot_s, SECOND.gaps_ps) == (1, 1, None, [])


def test_percentiles_over_requests_chunks_and_tokens():
    found = latencies([FIRST, SECOND])
    assert found["ttft_s"] == {"p50": 1, "p90": 2, "p99": 2}
    assert found["e2e_s"] == {"p50": 1, "p90": 7, "p99": 7}
    assert found["tpot_s"] == dict.fromkeys(("p50", "p90", "p99"), pytest.approx(5 / 6))
    # Gaps of 1 and 4 s; the tokens behind the first chunk took 1, 1, 1, 1 and 1 s.
    assert found["itl_s"] == {"p50": 1, "p90": 4, "p99": 4}
    assert found["token_s"] == {"p50": 1, "p90": 1, "p99": 1}


def test_a_token_s_latency_is_its_share_of_the_gap_and_every_token_counts():
    bursty = Arrivals(0, [1, 9, 1], [S, 10 * S, 13 * S])
    assert latencies([bursty])["token_s"] == {"p50": 1, "p90": 1, "p99": 3}
    assert latencies([bursty])["itl_s"] == {"p50": 3, "p90": 9, "p99": 9}


def test_without_gaps_there_are_no_percentiles():
    assert latencies([SECOND])["itl_s"] == {"p50": None, "p90": None, "p99": None}


def test_percentiles_are_values_that_were_seen_at_the_nearest_rank():
    assert percentiles({float(i): 1 for i in range(1, 101)}) == {"p50": 50, "p90": 90, "p99": 99}
    assert percentiles({7.0: 9, 1.0: 1}) == {"p50": 7, "p90": 7, "p99": 7}
    assert percentiles({1.0: 9, 7.0: 1})["p90"] == 1


def test_mean_and_deviation_are_those_of_the_values_themselves():
    assert mean_and_sd([2, 4, 4, 4, 5, 5, 7, 9]) == (5, 2)
    assert mean_and_sd([]) == (None, None)
