# SPDX-License-Identifier: Apache-2.0
"""Jobs over processes."""

import os
from collections.abc import Hashable
from concurrent.futures.process import BrokenProcessPool

import pytest

from ahasd.system.parallel import _choose, run_grouped


def _square(value: int) -> tuple[int, int]:
    return os.getpid(), value * value


def _fail(value: int) -> int:
    if value == 1:
        raise ValueError(f"no {value}")
    return value


def _die(value: int) -> int:
    os._exit(value)


def test_every_job_comes_back_once_from_other_processes():
    jobs = [(value,) for value in range(12)]
    found = dict(run_grouped(_square, jobs, "aabbccaabbcc", 2))
    assert {job: square for job, (_, square) in found.items()} == {i: i * i for i in range(12)}
    assert os.getpid() not in {pid for pid, _ in found.values()}


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
    with pytest.raises(ValueError, match="no 1"):
        list(run_grouped(_fail, [(0,), (1,), (2,)], "aab", 2))


def test_a_process_that_dies_is_told():
    with pytest.raises(BrokenProcessPool):
        list(run_grouped(_die, [(3,)], "a", 1))
