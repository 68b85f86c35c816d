# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import numpy as np
import pytest

from ahasd.system.workload.counter import bits, normal, spread, uniform


def test_mixing_is_splitmix64():
    from ahasd.system.workload.counter import _mix

    # First outputs of the published generator from state 0, which adds its constant each time.
    states = np.array([0, 0x9E3779B97F4A7C15, 0x3C6EF372FE94F82A], np.uint64)
    assert [hex(each) for each in _mix(states).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_a_draw_depends_on_its_place_alone():
    table = bits(3, "a", *np.ogrid[:5, :7])
    assert table[4, 6] == bits(3, "a", 4, 6)
    assert (table[:2, :3] == bits(3, "a", *np.ogrid[:2, :3])).all()


def test_seeds_labels_and_indices_give_other_draws():
    draws = [bits(0, "a", 1, 2), bits(1, "a", 1, 2), bits(0, "b", 1, 2), bits(0, "a", 2, 1)]
    draws += [bits(0, "a", 1), bits(0, "a"), bits(2**64, "a", 1, 2), bits(1, "0 a", 1, 2)]
    assert len({int(each) for each in draws}) == len(draws)


def test_draws_are_the_same_in_every_process():
    code = (
        "from ahasd.system.workload.counter import bits, uniform;"
        "print(int(bits(7, 'x', 1)), float(uniform(7, 'x', 1)).hex())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert told == {f"{int(bits(7, 'x', 1))} {float(uniform(7, 'x', 1)).hex()}\n"}


def test_uniform_draws_fill_the_open_interval_evenly():
    draws = uniform(1, "u", np.arange(100_000))
    assert 0 < draws.min() < 1e-4
    assert 1 - 1e-4 < draws.max() < 1
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is passed by chance once in a thousand seeds
    off = np.abs(np.sort(draws) - (np.arange(100_000) + 0.5) / 100_000).max()
    assert off < 1.95 / np.sqrt(100_000)


@pytest.mark.parametrize("lag", [(0, 1), (1, 0)])
def test_neighbours_are_independent(lag):
    draws = uniform(2, "u", *np.ogrid[:300, :300]) - 0.5
    moved = np.roll(draws, lag, axis=(0, 1))
    assert abs((draws * moved).mean() * 12) < 4 / 300


def test_normal_draws_have_the_moments_of_the_normal_law():
    draws = normal(4, "n", np.arange(200_000))
    error = 4 / np.sqrt(200_000)
    assert abs(draws.mean()) < error
    assert abs(draws.var() - 1) < error * np.sqrt(2)
    assert abs((draws**3).mean()) < error * np.sqrt(15)
    assert abs((draws**4).mean() - 3) < error * np.sqrt(96)


@pytest.mark.parametrize("count", [1, 8, 13, 100])
@pytest.mark.parametrize("seed", range(5))
def test_spread_draws_cover_the_interval_with_every_prefix(seed, count):
    draws = spread(seed, "s", count)
    assert (draws == spread(seed, "s", 200)[:count]).all()
    assert ((draws > 0) & (draws < 1)).all()
    gaps = np.diff(np.sort(draws), append=np.sort(draws)[0] + 1)
    # Gaps of golden-ratio points are at most phi^2 = 2.6 times the mean gap.
    assert gaps.max() * count < 2.62


def test_spread_draws_are_uniform_over_seeds():
    third = np.array([spread(seed, "s", 3)[2] for seed in range(2000)])
    off = np.abs(np.sort(third) - (np.arange(2000) + 0.5) / 2000).max()
    assert off < 1.95 / np.sqrt(2000)
