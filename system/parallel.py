# SPDX-License-Identifier: Apache-2.0
"""Jobs over processes, where jobs of a group are cheap for a process that had one of it."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from multiprocessing import get_context
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_grouped(
    function: Callable[..., Result],
    jobs: Sequence[tuple[Any, ...]],
    groups: Sequence[Hashable],
    workers: int,
) -> Iterator[tuple[int, Result]]:
    """Call a function with every job's arguments in one of several processes.

    Parameters
    ----------
    function
        Can be imported by its name, as everything that it is given and returns can be sent.
    jobs
        Arguments of each call.
    groups
        Group of each job.
    workers
        Processes, at least 1.

    Yields
    ------
    tuple
        Number of a job and what came of it, as they are done.

    Raises
    ------
    BrokenProcessPool
        A process died. What a job raises is raised here, too.
    """
    left: dict[Hashable, list[int]] = {}
    for job, group in enumerate(groups):
        left.setdefault(group, []).append(job)
    # Not forked: compiled code and open libraries do not take to it.
    context = get_context("spawn")
    with ExitStack() as stack:
        idle = [
            stack.enter_context(ProcessPoolExecutor(1, mp_context=context)) for _ in range(workers)
        ]
        seen: dict[ProcessPoolExecutor, set[Hashable]] = {each: set() for each in idle}
        running: dict[Future[Result], tuple[int, ProcessPoolExecutor]] = {}
        while left or running:
            while left and idle:
                worker = idle.pop()
                group = _choose(left, seen[worker], set().union(*seen.values()))
                seen[worker].add(group)
                job = left[group].pop(0)
                if not left[group]:
                    del left[group]
                running[worker.submit(function, *jobs[job])] = job, worker
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job, worker = running.pop(future)
                idle.append(worker)
                yield job, future.result()


def _choose(left: dict[Hashable, list[int]], own: set[Hashable], taken: set[Hashable]) -> Hashable:
    """Return the group to take from: one's own, else nobody's, else the one with most left."""
    mine = [group for group in left if group in own]
    free = [group for group in left if group not in taken]
    return max(mine or free or left, key=lambda group: len(left[group]))
