# SPDX-License-Identifier: Apache-2.0
"""NPU and PIM at work on one memory: tasks take longer while they share it.

Every task says how long its phases take alone. While both have a phase that uses the memory, each
gets on at the rate that the memory gives for the pair. Work is counted in units of 2**-20 ps, so
that nothing is rounded on the way.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from ahasd.sim.kernel import Event, Kernel
from ahasd.system.devices.dram.sharing import User
from ahasd.system.devices.work import Phase, Task

ONE = 1 << 20
"""Rate of what nobody delays: units of work done in a picosecond."""

Rates = dict[User, int]
"""Rate of each user, 0 to `ONE`."""

_PS_PER_S = 10**12


class Memory(Protocol):
    """What the machine must know of the memory."""

    @property
    def peak_bytes_s(self) -> float:
        """Bytes a second that all channels carry at most."""
        ...

    def rates(self, npu: Phase, pim: Phase) -> Rates:
        """Return how fast two phases that use the memory get on beside each other."""
        ...


class ConservationError(AssertionError):
    """More bytes crossed the channels than they carry: a fault of ours, never of the input."""


class _Part:
    """A phase, and what is left of it in units."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.memory = phase.memory_ps * ONE
        self.compute = phase.compute_ps * ONE

    @property
    def left(self) -> int:
        """Units until it is over, if nobody else uses the memory."""
        return max(self.memory, self.compute)


class Job:
    """A task under way; `Machine.begin` makes it."""

    def __init__(self, machine: "Machine", task: Task, done: Callable[[], None]) -> None:
        self.task = task
        self.done = done
        self.parts = [part for part in map(_Part, task.phases) if part.left]
        self._machine = machine
        self._began_ps = machine.now_ps
        self._dropped = 0  # units that a task given up does not do any more

    @property
    def elapsed_ps(self) -> int:
        """Time since it began, ps."""
        return self._machine.now_ps - self._began_ps

    @property
    def phase(self) -> Phase | None:
        """The present phase, if it still waits for the memory."""
        return self.parts[0].phase if self.parts and self.parts[0].memory else None

    @property
    def share_done(self) -> Fraction:
        """Share of its work that is done, 0 to 1; of a task given up, of all that it would be."""
        total = self.task.alone_ps * ONE
        return 1 - Fraction(self._dropped + sum(part.left for part in self.parts), total or 1)

    def cancel(self) -> None:
        """Give it up; its end is not told."""
        self._machine.leave(self)

    def stop_at_part(self, parts: int, done: Callable[[], None]) -> None:
        """Give it up at the next boundary of `parts` equal parts of its work; call this then."""
        self._machine.update()
        total = self.task.alone_ps * ONE
        left = sum(part.left for part in self.parts)
        reached = -(-(total - left) * parts // total)
        self._dropped = total - -(-total * reached // parts)
        keep = left - self._dropped
        for part in self.parts:
            part.memory, part.compute = min(part.memory, keep), min(part.compute, keep)
            keep -= part.left
        self.parts = [part for part in self.parts if part.left]
        self.done = done
        self._machine.plan()


class Machine:
    """Runs at most one task of each user.

    Parameters
    ----------
    kernel
        Of the simulation.
    memory
        Gives the rates of what runs side by side; None if nothing contends.
    """

    def __init__(self, kernel: Kernel, memory: Memory | None) -> None:
        self.delayed_ps: Rates = {"npu": 0, "pim": 0}
        """Time that each user has lost to the other, ps."""
        self.commands = 0
        """Memory commands of all tasks that were begun."""
        self._kernel = kernel
        self._memory = memory
        self._jobs: dict[User, Job] = {}
        self._rates: Rates = {}
        self._since_ps = 0
        self._event: Event | None = None

    @property
    def now_ps(self) -> int:
        """Time, ps."""
        return self._kernel.now_ps

    def begin(self, user: User, task: Task, done: Callable[[], None]) -> Job:
        """Begin a task; `done` is called at its end, never within this call.

        Raises
        ------
        ValueError
            The user has a task under way.
        """
        if user in self._jobs:
            raise ValueError(f"{user} has a task under way, and begins another")
        self.update()
        self.commands += task.commands
        job = self._jobs[user] = Job(self, task, done)
        self.plan()
        return job

    def leave(self, job: Job) -> None:
        """Give a task up, if it is still under way."""
        for user, other in list(self._jobs.items()):
            if other is job:
                self.update()
                del self._jobs[user]
                self.plan()

    def update(self) -> None:
        """Account for the time since the last change."""
        time_ps = self.now_ps - self._since_ps
        self._since_ps = self.now_ps
        moved = 0.0
        for user, job in self._jobs.items():
            if not job.parts or not time_ps:
                continue
            part, rate = job.parts[0], self._rates[user]
            done = min(part.memory, time_ps * rate)
            if part.memory:
                moved += done / (part.phase.memory_ps * ONE) * part.phase.channel_bytes
                if part.memory >= part.compute:
                    self.delayed_ps[user] += time_ps * (ONE - rate) // ONE
            part.memory -= done
            part.compute = max(0, part.compute - time_ps * ONE)
            if not part.left:
                job.parts.pop(0)
        if self._memory:
            carried = self._memory.peak_bytes_s * time_ps / _PS_PER_S
            # A phase that ends between two picoseconds ends at the later one.
            if moved > carried * (1 + 1e-9) + 1:
                raise ConservationError(
                    f"{moved:.0f} bytes crossed the channels in {time_ps} ps, which carry"
                    f" {carried:.0f}"
                )

    def plan(self) -> None:
        """Find the rates from now on, and when the next thing ends."""
        if self._event is not None:
            self._event.cancel()
            self._event = None
        self._rates = dict.fromkeys(self._jobs, ONE)
        npu, pim = (self._jobs[user].phase if user in self._jobs else None for user in _USERS)
        if self._memory and npu and pim:
            self._rates = self._memory.rates(npu, pim)
        times = [
            time_ps
            for user, job in self._jobs.items()
            for time_ps in self._next_ps(job, self._rates[user])
        ]
        if times:
            self._event = self._kernel.after(min(times), self._on_event)

    def _next_ps(self, job: Job, rate: int) -> list[int]:
        """Return the times until something of the task ends."""
        if not job.parts:
            return [0]
        part = job.parts[0]
        found = [-(-part.compute // ONE)] if part.compute else []
        if part.memory and rate:
            found.append(-(-part.memory // rate))
        return found

    def _on_event(self) -> None:
        self._event = None
        self.update()
        over = {user: job for user, job in self._jobs.items() if not job.parts}
        for user in over:
            del self._jobs[user]
        self.plan()
        for job in over.values():
            job.done()


_USERS: tuple[User, User] = ("npu", "pim")
