# SPDX-License-Identifier: Apache-2.0
"""Runs with the machine of the closed forms: steps and passes take one time at any context."""

from collections.abc import Mapping
from typing import Any

from ahasd.system.config import RunConfig, load_config
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.pool import DevicePool
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import ModelShape
from ahasd.system.simulate import Outcome, prepare, simulate
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.synthetic import Size

PASS_PS = 10**11
"""Time of a pass."""


class ConstantDevices:
    """Two devices that never wait for the memory, and a prompt that takes no time to speak of.

    Parameters
    ----------
    target_shape
        Shape of the target model.
    draft_ps, pass_ps
        Time of a draft step and of a pass, ps.
    """

    simulated_commands = 0
    origin = None

    def __init__(self, target_shape: ModelShape, draft_ps: int, pass_ps: int) -> None:
        self.target_shape = target_shape
        self._draft = _task(draft_ps)
        self._pass = _task(pass_ps)
        self._prompt = _task(1)

    def draft(self, context: int) -> Task:
        """Return a draft step."""
        return self._draft

    def verify(self, rows: int, context: int) -> Task:
        """Return a pass."""
        return self._pass

    def preverify(self, rows: int, context: int) -> Task:
        """Return a pass on the other device."""
        return self._pass

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return the prompt, a picosecond."""
        return self._prompt


class ConstantPool(DevicePool):
    """Gives every run devices of one draft step's and one pass's time; parameters are these, ps."""

    def __init__(self, draft_ps: int, pass_ps: int) -> None:
        super().__init__()
        self._times_ps = draft_ps, pass_ps

    def of(self, config: RunConfig, ranks: RankMap) -> Devices:
        """Return the devices of a run."""
        return ConstantDevices(config.tlm, *self._times_ps)


def _task(time_ps: int) -> Task:
    return Task(phases=(Phase(name="all", compute_ps=time_ps),), events=Events())


def constant_run(
    trace: str, draft_passes: float, tokens: int, settings: Mapping[str, Any], *, seed: int = 0
) -> Outcome:
    """Run one long request: where requests end, batches are cut short.

    Parameters
    ----------
    trace
        Name of a trace that is made, as `open_trace` takes it.
    draft_passes
        Time of a draft step in passes, above 0.
    tokens
        Output tokens.
    settings
        Configuration keys of scheme, rule and verification.
    seed
        Of the trace.

    Raises
    ------
    UserError
        Something of it is wrong.
    """
    fixed = {
        "workload.trace": trace,
        "workload.tokens": tokens,
        # Room for as long a context as the run needs; its length changes nothing here.
        "dlm.max_context": 10**6,
        "tlm.max_context": 10**6,
        "memory.fidelity": "analytic",
        "seed": seed,
    }
    config = load_config("default", {**fixed, **settings})
    _, ranks = prepare(config)
    made = open_trace(trace, seed=seed, size=Size(requests=1, tokens=tokens, k_max=2))
    pool = ConstantPool(round(draft_passes * PASS_PS), PASS_PS)
    return simulate(config, made, ranks, pool=pool)


def tokens_per_pass_time(outcome: Outcome) -> float:
    """Return the tokens that a run emits in the time of a pass."""
    return outcome.config.workload.tokens * PASS_PS / outcome.time_ps
