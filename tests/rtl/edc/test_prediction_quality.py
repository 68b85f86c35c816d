# SPDX-License-Identifier: Apache-2.0
"""The EDC foretells rejections on a stream whose law is known, better than what costs less.

The stream has two states, easy and hard. It stays in its state with probability `STAY`; the state
gives the law of the entropy bucket and the probability that a batch is accepted in full. Verdicts
come `depth` batches late, and a rejection flushes the younger ones, untrained. Predictions are
recorded and not obeyed, so that every predictor sees the same stream.
"""

from collections import Counter, deque
from random import Random

import pytest

from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.edc.params import EdcParams, Verdict

STAY = 0.8
BUCKETS = {"easy": (4, 3, 2, 1, 0, 0, 0, 0), "hard": (0, 0, 1, 1, 2, 3, 2, 1)}
ACCEPTED_IN_FULL = {"easy": 0.9, "hard": 0.15}
BATCHES = 20_000


def predict(depth: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return reject recall and false-stop rate of the EDC, a lone counter, and always-go."""
    params = EdcParams()
    boundaries = params.boundaries("sqrt4")
    edc = EdcGolden(params, boundaries)
    counter = 2  # one saturating two-bit counter, trained by every verdict
    rng = Random(seed)
    state = "easy"
    in_flight: deque[tuple[bool, dict[str, bool]]] = deque()
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for _ in range(BATCHES):
        if rng.random() >= STAY:
            state = "hard" if state == "easy" else "easy"
        bucket = rng.choices(range(8), BUCKETS[state])[0]
        full = rng.random() < ACCEPTED_IN_FULL[state]
        stops = {
            "edc": not edc.draft(boundaries[bucket - 1] if bucket else 0).go,
            "counter": counter < 2,
            "always go": False,
        }
        in_flight.append((full, stops))
        if len(in_flight) > depth:
            full, stops = in_flight.popleft()
            edc.verdict(Verdict.ACCEPTED if full else Verdict.REJECTED)
            counter = min(counter + 1, 3) if full else max(counter - 1, 0)
            for name, stop in stops.items():
                counts[name, full, stop] += 1
            if not full:
                in_flight.clear()
    return {
        name: (
            counts[name, False, True] / (counts[name, False, True] + counts[name, False, False]),
            counts[name, True, True] / (counts[name, True, True] + counts[name, True, False]),
        )
        for name in ("edc", "counter", "always go")
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_at_depth_one_the_edc_catches_more_rejections_with_fewer_false_stops_than_a_counter(
    seed, capsys
):
    found = predict(depth=1, seed=seed)
    with capsys.disabled():
        told = ", ".join(f"{name} {r:.3f}/{f:.3f}" for name, (r, f) in found.items())
        print(f"\n  seed {seed}, reject recall / false stops: {told}")
    recall, false_stops = found["edc"]
    counter_recall, counter_false_stops = found["counter"]
    assert recall > counter_recall
    assert false_stops < counter_false_stops - 0.1
    assert recall > 0.5, "always-go catches none"
    assert false_stops < 0.3


@pytest.mark.parametrize("depth", [1, 3, 5])
def test_deeper_in_flight_the_edc_keeps_the_larger_surplus_of_caught_over_false_stops(depth):
    found = predict(depth, seed=1)
    surplus = {name: recall - false_stops for name, (recall, false_stops) in found.items()}
    assert surplus["always go"] == 0
    assert surplus["edc"] > surplus["counter"] + 0.1
    assert surplus["edc"] > 0.25
