# SPDX-License-Identifier: Apache-2.0
"""Jobs over processes."""

import operator
import os
from collections.abc import Hashable
from concurrent.futures.process import BrokenProcessPool

import pytest

from ahasd.system.parallel import _choose, run_grouped


# What processes call is of the standard library: they need not find this file.
def test_every_job_comes_back_once():
    jobs = [(value, 2) for value in range(12)]
    found = list(run_grouped(pow, jobs, "aabbccaabbcc", 2))
    assert sorted(found) == [(value, value**2) for value in range(12)]


def test_jobs_run_in_other_processes():
    found = dict(run_grouped(os.getpid, [(), (), (), ()], "aabb", 2))
    assert os.getpid() not in found.values()
    assert len(set(found.values())) <= 2


@pytest.mark.parametrize(
    ("own", "taken", "chosen"),
    [
        ({"a"}, {"a", "b"}, "a"),  # its own, though others have more left
        (set(), {"b"}, "c"),  # nobody's, though another has more left
        ({"x"}, {"a", "b", "c"}, "b"),  # its own is done and all are taken: where most is left
        ({"a", "c"}, {"a", "c"}, "c"),  # of its own, likewise
    ],
)
def test_a_process_keeps_to_its_groups(own: set[Hashable], taken: set[Hashable], chosen: str):
    assert _choose({"a": [0], "b": [1, 2, 3], "c": [4, 5]}, own, taken) == chosen


def test_what_a_job_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        list(run_grouped(operator.truediv, [(1, 2), (1, 0), (1, 4)], "aab", 2))


def test_a_process_that_dies_is_told():
    with pytest.raises(BrokenProcessPool):
        list(run_grouped(os._exit, [(3,)], "a", 1))
