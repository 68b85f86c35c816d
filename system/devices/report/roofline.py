# SPDX-License-Identifier: Apache-2.0
"""Rooflines of the NPU and of one PIM rank, and where the models' tasks lie below them.

Operations count a multiply and an add each, of INT8; a multiply-accumulate of FP16 is two of INT8.
"""

from dataclasses import dataclass

from ahasd.system.devices.report.rates import PathRates
from ahasd.system.devices.work import Task
from ahasd.system.platform import Platform


@dataclass(frozen=True, kw_only=True)
class Roof:
    """What a device does at most.

    Parameters
    ----------
    device
        `NPU` or `PIM rank`.
    peak_ops_s
        Its arithmetic, operations a second.
    bytes_s
        Its memory, the lower one of commands and file, bytes a second.
    """

    device: str
    peak_ops_s: float
    bytes_s: float

    @property
    def ridge(self) -> float:
        """Operations a byte from which on arithmetic limits."""
        return self.peak_ops_s / self.bytes_s

    def attainable(self, intensity: float) -> float:
        """Return the operations a second at so many operations a byte."""
        return min(self.peak_ops_s, intensity * self.bytes_s)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A task on a device.

    Parameters
    ----------
    device
        As of its roof.
    task
        Name.
    intensity
        Operations for each byte that the device reads or writes.
    ops_s
        Operations a second that it reaches, alone on the memory.
    attainable_ops_s
        Those of the roof.
    time_ms
        Time of the whole task, ms.
    """

    device: str
    task: str
    intensity: float
    ops_s: float
    attainable_ops_s: float
    time_ms: float

    @property
    def share(self) -> float:
        """Share of the roof, 0 to 1."""
        return self.ops_s / self.attainable_ops_s


def npu_roof(platform: Platform, rates: PathRates) -> Roof:
    """Return the roof of the NPU; `rates` are its own."""
    return Roof(
        device="NPU",
        peak_ops_s=float(2 * platform.npu.mac_s),
        bytes_s=float(rates.ceiling * rates.count),
    )


def pim_roof(platform: Platform, rates: PathRates) -> Roof:
    """Return the roof of one PIM rank; `rates` are its own."""
    return Roof(
        device="PIM rank",
        peak_ops_s=float(2 * platform.pim.rank_mac_s),
        bytes_s=float(rates.ceiling),
    )


def npu_point(roof: Roof, name: str, task: Task) -> Point:
    """Return where an NPU task lies."""
    moved = task.events.read_bytes + task.events.write_bytes
    return _point(roof, name, task, 2 * task.events.npu_macs, moved)


def pim_point(roof: Roof, name: str, task: Task, ranks: int) -> Point:
    """Return where one of so many ranks lies that share a PIM task."""
    events = task.events
    return _point(roof, name, task, 2 * events.pim_macs / ranks, events.pim_read_bytes / ranks)


def _point(roof: Roof, name: str, task: Task, operations: float, moved_bytes: float) -> Point:
    intensity = operations / moved_bytes
    return Point(
        device=roof.device,
        task=name,
        intensity=intensity,
        ops_s=operations * 1e12 / task.alone_ps,
        attainable_ops_s=roof.attainable(intensity),
        time_ms=task.alone_ps / 1e9,
    )
