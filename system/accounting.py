# SPDX-License-Identifier: Apache-2.0
"""What the work of a run was for: its events by device and fate, and their energy.

Draft steps have the fate of their token, cancelled ones are flushed. The rows of a pass whose
tokens were emitted are committed, the others rejected.
"""

from collections import Counter
from fractions import Fraction
from typing import Any

from ahasd.rtl.configs import UNITS
from ahasd.system.config import RunConfig
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.work import Events, Task
from ahasd.system.energy.account import EnergyAccount, Fate
from ahasd.system.energy.hardware import COMPONENTS, CONTROL, Part, hardware_of
from ahasd.system.energy.report import check_floor, report
from ahasd.system.energy.table import load_energy
from ahasd.system.schemes.names import HARDWARE_SCHEMES, ONE_DEVICE, WITHOUT_RULE
from ahasd.system.simulate import Outcome


def energy(outcome: Outcome) -> dict[str, Any]:
    """Return the energy report of a run, as `ahasd.system.energy.report.report` gives it.

    Raises
    ------
    AssertionError
        Some energy is missing: a fault of ours, never of the input.
    """
    config = outcome.config
    timing = load_timing(config.platform.dram)
    is_gpu = config.scheme.startswith("gpu")
    account = EnergyAccount(
        ranks=0 if is_gpu else config.platform.pim.ranks, t_refi_ps=timing.time_ps(timing.t_refi)
    )
    _book(outcome, account)
    found = report(
        account,
        outcome.time_ps,
        config.workload.tokens,
        load_energy("gpu" if is_gpu else config.energy),
        _cell_bytes(outcome),
        hardware_of(parts(config)),
    )
    check_floor(found)
    return found


def parts(config: RunConfig) -> list[Part]:
    """Return the units of a run's hardware whose energy is counted."""
    scheme, found = config.scheme, []
    if scheme in HARDWARE_SCHEMES:
        found.append(Part("ahasd", config.hardware.params, 1))
    if config.hardware.draftctl and scheme not in WITHOUT_RULE:
        found.append(Part("draftctl", UNITS["draftctl"].configurations["paper"], 1))
    # Rates know nothing of what lies between the products.
    with_aaus = config.nonlinear.unit == "aau" and config.memory.fidelity == "command"
    if with_aaus and not scheme.startswith(("gpu", "npu")):
        found.append(Part("aau", config.nonlinear.params(), config.platform.pim.ranks))
    return found


def _book(outcome: Outcome, account: EnergyAccount) -> None:
    ledger, devices = outcome.ledger, outcome.devices
    has_draft = outcome.pim is not None
    scheme = outcome.config.scheme
    # Who drafts and who verifies; prompts are the NPU's wherever there is one.
    one = scheme[:3] if scheme in ONE_DEVICE else "pim" if scheme == "specpim" else None
    drafter, verifier, reader = one or "pim", one or "npu", "gpu" if one == "gpu" else "npu"
    for (rows, context, emitted), times in ledger.verified.items():
        for device, events in _split(devices.verify(rows, context), verifier):
            committed = events.part(Fraction(emitted, rows))
            account.add(device, "committed", committed, times)
            account.add(device, "rejected", events - committed, times)
    for rows, times in ledger.prefills.items():
        account.add(reader, "prefill", devices.prefill(rows, drafts=has_draft).events, times)
    judged = ledger.accepted_steps + ledger.rejected_steps + outcome.in_flight_contexts
    fates: dict[Fate, Counter[int]] = {
        "committed": ledger.accepted_steps,
        "rejected": ledger.rejected_steps,
        "flushed": ledger.draft_steps - judged,
        "in_flight": outcome.in_flight_contexts,
    }
    controlled = any(COMPONENTS[part.unit] == CONTROL for part in parts(outcome.config))
    for fate, steps in fates.items():
        if controlled and steps:
            account.add("control", fate, Events(control_steps=steps.total()))
        for context, times in steps.items():
            for device, events in _split(devices.draft(context), drafter):
                account.add(device, fate, events, times)
    for (rows, context), times in ledger.preverified.items():
        events = devices.preverify(rows, context).events
        account.add("pim", "preverification", events, times)
    for fate, events in ledger.abandoned.items():
        account.add("pim", fate, events)


def _split(task: Task, device: str) -> list[tuple[str, Events]]:
    """Return the events of a task by device: all of one, unless they are spread over two."""
    if task.npu_events is None:
        return [(device, task.events)]
    return [("npu", task.npu_events), ("pim", task.events - task.npu_events)]


def _cell_bytes(outcome: Outcome) -> int:
    """Return the bytes that finished passes and steps need out of the cells."""
    config, ledger = outcome.config, outcome.ledger
    kv_bytes = config.platform.kv_bytes
    found = 0
    for (_, context, _), times in ledger.verified.items():
        found += times * config.tlm.read_bytes(context, kv_bytes)
    for (_, context), times in ledger.preverified.items():
        found += times * config.tlm.read_bytes(context, kv_bytes)
    for context, times in ledger.draft_steps.items():
        found += times * config.dlm.read_bytes(context, kv_bytes)
    return found
