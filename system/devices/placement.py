# SPDX-License-Identifier: Apache-2.0
"""Both models on one device that drafts and verifies by turns: NPU, PIM or GPU."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.gpu import Gpu
from ahasd.system.devices.npu.passes import pass_events
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform


class OneDevice:
    """Draft steps and passes of one device; see `ahasd.system.devices.interface.Devices`.

    Parameters
    ----------
    target_shape
        The model that emits.
    draft
        Task of one draft step by KV length.
    verify
        Task of one pass by rows and KV length.
    prefill
        Task of a prompt by its rows and whether there is a draft model.
    memory
        Devices of which this is one; None for a device with a memory of its own.
    """

    def __init__(
        self,
        target_shape: ModelShape,
        draft: Callable[[int], Task],
        verify: Callable[[int, int], Task],
        prefill: Callable[[int, bool], Task],
        memory: CommandDevices | AnalyticDevices | None = None,
    ) -> None:
        self.target_shape = target_shape
        self.draft = cache(draft)
        self.verify = cache(verify)
        self._prefill = prefill
        self._memory = memory

    @property
    def origin(self) -> object:
        """Who counts the simulated commands."""
        return self._memory or self

    @property
    def simulated_commands(self) -> int:
        """Memory commands that an engine was given so far."""
        return self._memory.simulated_commands if self._memory else 0

    def preverify(self, rows: int, context: int) -> Task:
        """Raise `ValueError`: who verifies by turns has nothing to verify before."""
        raise ValueError(f"no pre-verification of {rows} rows: one device takes turns")

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return a prompt's way through the models."""
        return self._prefill(rows, drafts)


def on_npu(devices: CommandDevices | AnalyticDevices) -> OneDevice:
    """Return the NPU with both models; the draft's ranks are read as the target's are."""
    return OneDevice(
        devices.target_shape,
        lambda context: devices.pass_of(devices.draft_shape, 1, context),
        devices.verify,
        lambda rows, drafts: devices.prefill(rows, drafts=drafts),
        devices,
    )


def on_pim(devices: CommandDevices | AnalyticDevices) -> OneDevice:
    """Return the PIM with both models; prompts, which need many multipliers, stay with the NPU."""
    return OneDevice(
        devices.target_shape,
        devices.draft,
        devices.preverify,
        lambda rows, drafts: devices.prefill(rows, drafts=drafts),
        devices,
    )


def on_gpu(
    gpu: Gpu,
    platform: Platform,
    draft_shape: ModelShape,
    target_shape: ModelShape,
    context: int,
    *,
    drafts: bool,
) -> OneDevice:
    """Return a GPU with both models, or with the target alone.

    Parameters
    ----------
    gpu
        The GPU.
    platform
        For the bytes of keys and values.
    draft_shape, target_shape
        The models.
    context
        Longest of the run.
    drafts
        Whether the draft model has to fit, too.

    Raises
    ------
    UserError
        The models do not fit, and the GPU has no `offload`.
    """
    shapes = (target_shape, draft_shape) if drafts else (target_shape,)
    kv_bytes = platform.kv_bytes
    spilled = gpu.spilled_bytes(gpu.fit(shapes, context, kv_bytes=kv_bytes))

    def task(shape: ModelShape, rows: int, cached: int) -> Task:
        # What does not fit is the target's: the draft model runs more often.
        over = spilled if shape is target_shape else 0
        timed = gpu.forward(shape, rows, cached, kv_bytes=kv_bytes, spilled_bytes=over)
        events = pass_events(platform, shape, rows, cached)
        events = replace(events, read_bytes=events.read_bytes - over, host_bytes=over)
        return Task(phases=(Phase(name="kernels", compute_ps=timed.total_ps),), events=events)

    def prefill(rows: int, drafts: bool) -> Task:
        tasks = [task(shape, rows, 0) for shape in (shapes if drafts else shapes[:1])]
        return Task(
            phases=tuple(phase for each in tasks for phase in each.phases),
            events=sum((each.events for each in tasks), Events()),
        )

    return OneDevice(
        target_shape,
        lambda cached: task(draft_shape, 1, cached),
        lambda rows, cached: task(target_shape, rows, cached),
        prefill,
    )
