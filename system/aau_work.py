# SPDX-License-Identifier: Apache-2.0
"""What the AAUs of a run had to do: how often each command that was tried on the RTL stands for."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from ahasd.rtl.aau.params import Operation
from ahasd.system.devices.nonlinear import aau_cycles
from ahasd.system.schemes.names import ONE_DEVICE
from ahasd.system.simulate import Outcome


def worked(outcome: Outcome) -> Counter[tuple[str, Operation]]:
    """Return the cycles in which AAUs worked, of all ranks, by model and operation.

    They are those of finished draft steps and of finished passes in the ranks. Of scheme `specpim`
    they are those that the ranks have if the search puts the operators there.
    """
    config, ledger, ranks = outcome.config, outcome.ledger, outcome.ranks
    params = config.nonlinear.params()
    steps = Counter({(1, context): times for context, times in ledger.draft_steps.items()})
    passes: Counter[tuple[int, int]] = Counter(ledger.preverified)
    if config.scheme in ONE_DEVICE or config.scheme == "specpim":
        for (rows, context, _), times in ledger.verified.items():
            passes[rows, context] += times
    found: Counter[tuple[str, Operation]] = Counter()
    for model, shape, count, work in (
        ("draft", config.dlm, ranks.draft_ranks, steps),
        ("target", config.tlm, ranks.target.ranks, passes),
    ):
        for (rows, context), times in work.items():
            taken = aau_cycles(shape, rows, context, params=params, ranks=count)
            for operation, cycles in taken.items():
                found[model, operation] += times * cycles
    return found


def told(outcome: Outcome) -> dict[str, Any]:
    """Return what a record of the AAU's pins says of the commands in it and of the run's.

    Returns
    -------
    dict
        - commands: those that were tried, in their order, with the cycles of each and the share of
          the run's work, by cycles, that it stands for: of its model and operation
        - instances: AAUs that the run has
        - busy_ps: time that one of them works in the run, their mean
    """
    pim = outcome.config.platform.pim
    found = worked(outcome)
    whole = found.total()
    if not whole:
        raise ValueError(f"no AAU works in a run of scheme {outcome.config.scheme}")
    commands = []
    for each in outcome.aau_commands:
        share = found[each.model, each.operation] / whole
        commands.append(asdict(each) | {"operation": each.operation.value, "share": share})
    return {
        "commands": commands,
        "instances": pim.ranks,
        "busy_ps": whole * pim.period_ps // pim.ranks,
    }
