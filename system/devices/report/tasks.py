# SPDX-License-Identifier: Apache-2.0
"""How the time of the models' tasks splits, and what NPU and PIM do to each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.machine import ONE
from ahasd.system.devices.pim.attention import Attention
from ahasd.system.devices.pim.unit import pace
from ahasd.system.devices.work import Phase, Task
from ahasd.system.model import ModelShape

STEP = "whole"
"""Phase of what holds for all phases of a task together."""


@dataclass(frozen=True, kw_only=True)
class PhaseTime:
    """A phase of a task that is alone on the memory.

    Parameters
    ----------
    device
        `NPU` or `PIM`.
    task, phase
        Names.
    memory_ms, compute_ms
        Times of the memory and of the units meanwhile, ms; the phase takes the longer.
    share
        Its share of the task's time, 0 to 1.
    bound
        `memory` or `compute`; for MACs of the PIM what spaces them: `t_mac`, `bandwidth` (printed)
        or `compute`.
    """

    device: str
    task: str
    phase: str
    memory_ms: float
    compute_ms: float
    share: float
    bound: str


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A phase of a PIM task beside a pass of the NPU.

    Parameters
    ----------
    task, phase
        Of the PIM; `whole` is the task from begin to end.
    npu_rate, pim_rate
        How fast either gets on, 1 as alone; of a whole task on the average.
    """

    task: str
    phase: str
    npu_rate: float
    pim_rate: float


def npu_phases(name: str, task: Task) -> Iterator[PhaseTime]:
    """Yield the phases of an NPU task that take time."""
    return _phases("NPU", name, task, {})


def pim_phases(
    devices: CommandDevices, name: str, task: Task, shape: ModelShape, rows: int, context: int
) -> Iterator[PhaseTime]:
    """Yield the phases of a PIM task that take time.

    Parameters
    ----------
    devices
        Whose task it is.
    name, task
        The task.
    shape, rows, context
        Its model, token positions and tokens in the cache.
    """
    pim = devices.platform.pim
    head = Attention(
        context=context,
        head_dim=shape.head_dim,
        queries=shape.heads // shape.kv_heads,
        tokens=rows,
        kv_bytes=devices.platform.kv_bytes,
        buffer_bytes=pim.input_buffer_bytes,
    )
    slots = {"weights": rows, "attention": head.rows_a_turn}
    limits = {phase: pace(pim, devices.timing, each).limit for phase, each in slots.items()}
    return _phases("PIM", name, task, limits)


def _phases(device: str, name: str, task: Task, limits: dict[str, str]) -> Iterator[PhaseTime]:
    for phase in task.phases:
        if phase.alone_ps:
            side = "memory" if phase.memory_ps >= phase.compute_ps else "compute"
            yield PhaseTime(
                device=device,
                task=name,
                phase=phase.name,
                memory_ms=phase.memory_ps / 1e9,
                compute_ms=phase.compute_ps / 1e9,
                share=phase.alone_ps / task.alone_ps,
                bound=limits.get(phase.name, side),
            )


def beside(devices: CommandDevices, name: str, task: Task, npu: Task) -> Iterator[Beside]:
    """Yield the rates of a PIM task's phases, then those of the whole, beside reads of the NPU.

    Parameters
    ----------
    devices
        Whose tasks they are.
    name, task
        The PIM task.
    npu
        The other one; what it does to the memory is the same in all its phases.
    """
    reads = next(phase for phase in npu.phases if phase.traffic)
    taken: list[tuple[Phase, float, float]] = []
    for phase in task.phases:
        rates = devices.rates(reads, phase) if phase.traffic else {"npu": ONE, "pim": ONE}
        npu_rate, pim_rate = rates["npu"] / ONE, rates["pim"] / ONE
        taken.append((phase, npu_rate, pim_rate))
        if phase.traffic:
            yield Beside(task=name, phase=phase.name, npu_rate=npu_rate, pim_rate=pim_rate)
    yield whole(name, taken)


def whole(name: str, taken: Sequence[tuple[Phase, float, float]]) -> Beside:
    """Return the mean rates of a task whose phases get on at the given rates of NPU and PIM."""
    alone_ps = sum(phase.alone_ps for phase, _, _ in taken)
    if any(phase.memory_ps and not pim_rate for phase, _, pim_rate in taken):
        # It never gets past that phase.
        npu_rate = next(npu for phase, npu, pim in taken if phase.memory_ps and not pim)
        return Beside(task=name, phase=STEP, npu_rate=npu_rate, pim_rate=0.0)
    lasts_ps = [
        max(phase.memory_ps / pim_rate, phase.compute_ps) if phase.memory_ps else phase.compute_ps
        for phase, _, pim_rate in taken
    ]
    npu_ps = sum(time_ps * npu for time_ps, (_, npu, _) in zip(lasts_ps, taken, strict=True))
    return Beside(
        task=name,
        phase=STEP,
        npu_rate=npu_ps / sum(lasts_ps),
        pim_rate=alone_ps / sum(lasts_ps),
    )
