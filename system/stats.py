# SPDX-License-Identifier: Apache-2.0
"""Metrics of a run, by the definitions that the field uses.

Acceptance length counts the bonus or correction token, acceptance rate does not; docs/metrics.md
gives every formula.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ahasd.sim.clocked import Cycles
from ahasd.system.accounting import energy
from ahasd.system.devices.mapping import MappedDevices
from ahasd.system.energy.report import STYLES
from ahasd.system.energy.table import LEVELS
from ahasd.system.metrics.drafting import drafting
from ahasd.system.metrics.latency import latencies
from ahasd.system.metrics.records import arrivals
from ahasd.system.metrics.speculation import by_position, speculation
from ahasd.system.metrics.spread import ratio
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.simulate import Outcome
from ahasd.system.tvc_report import prediction_errors

PS_PER_S = 10**12

FATES = ("full", "rejected", "void", "flushed")
"""What becomes of a batch."""


def _utilisation(activity: Activity, time_ps: int) -> dict[str, Any]:
    shares: dict[str, Any] = {
        kind: activity.kind_ps(kind) / time_ps for kind in ("busy", "blocked", "idle")
    }
    return shares | {"states_s": {k: ps / PS_PER_S for k, ps in activity.state_ps.items()}}


def _edc(ledger: Ledger) -> dict[str, Any]:
    """Return the confusion matrix of the batches with a fate, and what it says."""
    matrix = {
        predicted: {fate: ledger.edc[predicted, fate] for fate in FATES}
        for predicted in ("go", "stop")
    }
    go, stop = matrix["go"], matrix["stop"]
    full, rejected = go["full"] + stop["full"], go["rejected"] + stop["rejected"]
    return {
        "confusion_batches": matrix,
        "reject_recall": ratio(stop["rejected"], rejected),
        "false_stop_rate": ratio(stop["full"], full),
        "accuracy": ratio(go["full"] + stop["rejected"], full + rejected),
        "decisions": dict(sorted(ledger.decisions.items())),
    }


def metrics(outcome: Outcome) -> dict[str, Any]:
    """Return the metrics of a run, nested, with units in the names; shares are of the run's time.

    A ratio without a denominator is None.
    """
    ledger = outcome.ledger
    log = ledger.log
    tokens = outcome.config.workload.tokens
    decoding_s = (outcome.time_ps - ledger.prefill_ps) / PS_PER_S
    spent = energy(outcome)
    requests = arrivals(log)
    found: dict[str, Any] = {
        "scheme": outcome.config.scheme,
        "tokens": tokens,
        "time_s": outcome.time_ps / PS_PER_S,
        "prefill_s": ledger.prefill_ps / PS_PER_S,
        "ttft_s": outcome.first_token_ps / PS_PER_S,
        "throughput_tokens_s": tokens / decoding_s,
        "end_to_end_tokens_s": tokens * PS_PER_S / outcome.time_ps,
        "passes": ledger.passes,
        "rows_per_pass": ledger.rows / ledger.passes,
        "mean_acceptance_length_tokens": tokens / ledger.passes,
        "verification_rate": ledger.passes / tokens,
        "requests": len(requests),
        "requests_per_s": len(requests) * PS_PER_S / outcome.time_ps,
        "latency": latencies(requests),
        "split": {part: ps / outcome.time_ps for part, ps in outcome.split_ps.items()},
        "npu": _utilisation(outcome.npu, outcome.time_ps),
        "delayed_s": {user: ps / PS_PER_S for user, ps in outcome.delayed_ps.items()},
        "energy": spent,
        "tokens_per_j": {
            level: {style: ratio(1000, spent[level][style]["mj_per_token"]) for style in STYLES}
            for level in LEVELS
        },
    }
    if outcome.pim is not None:
        judged = ledger.accepted + ledger.rejected
        found |= {
            "acceptance_rate": ratio(ledger.accepted, ledger.drafted),
            "judged_acceptance_rate": ratio(ledger.accepted, judged),
            "drafted_per_token": ledger.drafted / tokens,
            "rejected_per_token": ledger.rejected / tokens,
            "flushed_per_token": ledger.flushed / tokens,
            "discard_rate": (ledger.rejected + ledger.flushed) / tokens,
            "accepted_tokens_s": ledger.accepted / decoding_s,
            "drafted_tokens_s": ledger.drafted / decoding_s,
            "speculation": speculation(log.drafted, log.accepted, log.emitted),
            "acceptance_by_position": by_position(log.drafted, log.accepted),
            "drafting": drafting(log, outcome.config.draft.k_max),
            "counts": {
                "drafted_tokens": ledger.drafted,
                "accepted_tokens": ledger.accepted,
                "rejected_tokens": ledger.rejected,
                "flushed_tokens": ledger.flushed,
                "in_flight_tokens": outcome.in_flight,
                "off_trace_tokens": ledger.off_trace,
                "correction_tokens": ledger.corrections,
                "bonus_tokens": ledger.bonuses,
                "confirmed_bonus_tokens": ledger.confirmed_bonuses,
                "full_batches": ledger.judged_full,
                "rejected_batches": ledger.judged_rejected,
                "void_batches": ledger.judged_void,
                "accepted_hint_tokens": ledger.accepted_hints,
                "cut_tokens": ledger.cut_tokens,
            },
            "pim": _utilisation(outcome.pim, outcome.time_ps),
        }
    if outcome.config.scheme in ("async-edc", "ahasd"):
        found["edc"] = _edc(ledger)
    if isinstance(outcome.devices, MappedDevices):
        found["mapping"] = outcome.devices.mapping.told()
    if outcome.config.scheme == "ahasd":
        found["tvc"] = _tvc(outcome)
    if outcome.draft_control:
        decided, differing = outcome.draft_control
        found["draft_control"] = {"decisions": decided, "differing_from_software": differing}
    if outcome.aau_commands:
        found["aau_commands"] = [
            asdict(each) | {"operation": each.operation.value} for each in outcome.aau_commands
        ]
    if outcome.counters:
        found["counters"] = dict(outcome.counters)
    return found


def _tvc(outcome: Outcome) -> dict[str, Any]:
    """Return what pre-verification did, and how good the TVC's predictions were."""
    account = asdict(outcome.ledger.preverify)
    seconds = {f"{name}_s": account.pop(f"{name}_ps") / PS_PER_S for name in ("harmful", "time")}
    entries = outcome.config.hardware.params.tvc.table_entries
    errors = prediction_errors(outcome.measurements.records, entries)
    return {**account, **seconds, "prediction_error": errors}


def memory_commands(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return the memory commands of runs, and how many were simulated for all of them.

    The others repeat some that were, exactly; what two tasks do to each other is simulated beside.
    """
    # Runs from one pool share devices.
    simulated = {id(each.devices.origin): each.devices.simulated_commands for each in outcomes}
    return {
        "all": sum(outcome.memory_commands for outcome in outcomes),
        "simulated": sum(simulated.values()),
    }


def cycle_account(cycles: dict[str, Cycles]) -> dict[str, dict[str, int]]:
    """Return stepped, skipped and simulated cycles by clock domain."""
    return {
        domain: {
            "stepped": account.stepped,
            "skipped": account.skipped,
            "simulated": account.stepped + account.skipped,
        }
        for domain, account in cycles.items()
    }


def flat(nested: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested metrics with dotted names, one level deep."""
    result: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[prefix + key] = value
    return result
