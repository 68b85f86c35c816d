# SPDX-License-Identifier: Apache-2.0
"""Devices of a run, made once for all runs that need the same."""

import json

from ahasd.system.config import RunConfig
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.dram.sharing import Arbiter
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.placement import on_gpu, on_npu, on_pim
from ahasd.system.schemes.names import ONE_DEVICE

_DETERMINED_BY = ("memory", "nonlinear", "platform", "dlm", "tlm")


class DevicePool:
    """Makes devices, and gives the same ones to runs that differ in nothing they depend on.

    They remember what they have timed, so that a comparison of schemes times it once.
    """

    def __init__(self) -> None:
        # By all that they depend on, and by where non-linear operators run.
        self._memories: dict[str, dict[str, AnalyticDevices | CommandDevices]] = {}

    def of(self, config: RunConfig, ranks: RankMap) -> Devices:
        """Return the devices of a run.

        Parameters
        ----------
        config
            The run.
        ranks
            Where its models lie.

        Raises
        ------
        UserError
            A GPU does not hold the models.
        """
        if config.scheme.startswith("gpu"):
            return on_gpu(
                config.gpu,
                config.platform,
                config.dlm,
                config.tlm,
                ranks.context_tokens,
                drafts=config.scheme == "gpu-sd",
            )
        held = self._memory(config, ranks)
        if config.scheme in ONE_DEVICE:
            return {"npu": on_npu, "pim": on_pim}[config.scheme[:3]](held)
        return held

    def _memory(self, config: RunConfig, ranks: RankMap) -> AnalyticDevices | CommandDevices:
        told = config.model_dump(mode="json", include={*_DETERMINED_BY})
        masks = ranks.dlm_mask, ranks.tlm_mask
        del told["memory"]["contention"]  # that is the machine's, not the devices'
        unit = told["nonlinear"].pop("unit")
        key = json.dumps([told, masks], sort_keys=True)
        held = self._memories.setdefault(key, {})
        if unit not in held:
            others = [each for each in held.values() if isinstance(each, CommandDevices)]
            made = others[0].with_unit(config.nonlinear.unit) if others else _made(config, ranks)
            held[unit] = made
        return held[unit]


def _made(config: RunConfig, ranks: RankMap) -> AnalyticDevices | CommandDevices:
    memory, platform = config.memory, config.platform
    if memory.fidelity == "analytic":
        drafts_on, verifies_on = ranks.draft_ranks, ranks.target.ranks
        return AnalyticDevices(platform, config.dlm, config.tlm, drafts_on, verifies_on)
    return CommandDevices(
        platform,
        config.dlm,
        config.tlm,
        ranks,
        unit=config.nonlinear.unit,
        aau=config.nonlinear.params(),
        arbiter=Arbiter(
            policy=memory.arbiter,
            slot_cycles=memory.slot_cycles,
            patience_cycles=memory.patience_cycles,
        ),
        refresh=memory.refresh,
    )
