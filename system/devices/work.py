# SPDX-License-Identifier: Apache-2.0
"""What devices are given to do, and what of it costs energy."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from fractions import Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class Events:
    """Counts of what is charged energy for; they add and scale.

    Parameters
    ----------
    activates
        Rows opened, counted bank by bank: an ACTab counts every bank of the rank.
    read_bytes, write_bytes
        Bytes that cross a memory channel.
    pim_read_bytes
        Bytes that go from the cells into PIM units and stay in the memory.
    pim_macs, npu_macs
        INT8 multiply-accumulates; one of FP16 counts as two.
    refreshes
        REFab, each of one rank.
    scratchpad_bytes
        Bytes into and out of the NPU's scratchpad.
    vector_ops
        Elements that pass the NPU's vector unit.
    aau_cycles
        Cycles in which an attention algorithm unit works, those of all ranks together.
    control_steps
        Draft steps that the control units have to do with.
    host_bytes
        Bytes over the link to a slower memory, such as PCIe or flash.
    """

    activates: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    pim_read_bytes: int = 0
    pim_macs: int = 0
    npu_macs: int = 0
    refreshes: int = 0
    scratchpad_bytes: int = 0
    vector_ops: int = 0
    aau_cycles: int = 0
    control_steps: int = 0
    host_bytes: int = 0

    def __add__(self, other: "Events") -> "Events":
        return Events(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in COUNTS}
        )

    def __sub__(self, other: "Events") -> "Events":
        return self + other * -1

    def part(self, share: Fraction) -> "Events":
        """Return a share of the events, every count rounded down."""
        return Events(**{each.name: int(getattr(self, each.name) * share) for each in COUNTS})

    def __mul__(self, times: int) -> "Events":
        return Events(**{each.name: getattr(self, each.name) * times for each in COUNTS})


COUNTS = fields(Events)


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A stretch of a task of one kind.

    It ends when both its times have passed: that of the memory, which runs slower while others use
    the same channels or ranks, and that of the units, which does not.

    Parameters
    ----------
    name
        Kind of work, such as `weights`, `attention`, `nonlinear`.
    memory_ps
        Time on the memory while nobody else uses it, ps.
    compute_ps
        Time of the units that work meanwhile, ps.
    channel_bytes
        Bytes that cross the memory channels meanwhile.
    traffic
        What its commands look like, for whoever says how fast it is beside another; None uses no
        memory.
    """

    name: str
    memory_ps: int = 0
    compute_ps: int = 0
    channel_bytes: int = 0
    traffic: Hashable = None

    @property
    def alone_ps(self) -> int:
        """Time of the phase while nobody else uses the memory, ps."""
        return max(self.memory_ps, self.compute_ps)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One draft step, pass, pre-verification or prefill.

    Parameters
    ----------
    phases
        In their order.
    events
        What happens in it.
    commands
        Memory commands that it takes, refreshes aside; 0 where they are not modelled.
    npu_events
        Of the events, those of the NPU, where a task is spread over NPU and PIM; else None.
    """

    phases: tuple[Phase, ...]
    events: Events
    commands: int = 0
    npu_events: Events | None = None

    @property
    def alone_ps(self) -> int:
        """Time of the task while nobody else uses the memory, ps."""
        return sum(phase.alone_ps for phase in self.phases)


def joined(tasks: Iterable[Task]) -> Task:
    """Return tasks one after another as one."""
    parts = list(tasks)
    return Task(
        phases=tuple(phase for part in parts for phase in part.phases),
        events=sum((part.events for part in parts), Events()),
        commands=sum(part.commands for part in parts),
    )
