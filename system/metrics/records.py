# SPDX-License-Identifier: Apache-2.0
"""One record a request, with the keys of AIPerf's records of speculative decoding."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from ahasd.system.drafting.fixed import FixedOptions
from ahasd.system.metrics.latency import Arrivals, latencies
from ahasd.system.metrics.log import RunLog
from ahasd.system.metrics.speculation import speculation
from ahasd.system.schemes.names import WITHOUT_RULE
from ahasd.system.simulate import Outcome
from ahasd.system.workload.trace import Trace

ENGINE = "ahasd"


def arrivals(log: RunLog) -> list[Arrivals]:
    """Return the tokens of every request in the order of time; each begins where one ended."""
    found = []
    begin_ps = 0
    for _, passes in _requests(log):
        chunks, end_ps = log.emitted[passes], log.end_ps[passes]
        found.append(Arrivals(begin_ps, chunks, end_ps))
        begin_ps = end_ps[-1]
    return found


def records(outcome: Outcome, trace: Trace) -> list[dict[str, Any]]:
    """Return a record of every request of a run, JSON-ready, in the order of time.

    Parameters
    ----------
    outcome
        The run.
    trace
        What it played.
    """
    config, log = outcome.config, outcome.ledger.log
    length = None
    if outcome.pim is None:
        length = 0
    elif isinstance(config.draft, FixedOptions) and config.scheme not in WITHOUT_RULE:
        length = config.draft.k
    policy = _policy(log)
    found = []
    for (request, passes), tokens in zip(_requests(log), arrivals(log), strict=True):
        number = request % len(trace.requests)
        drafted, accepted = log.drafted[passes], log.accepted[passes]
        found.append(
            {
                "engine": ENGINE,
                "scheme": config.scheme,
                "request": request,
                "trace_request": number,
                "category": trace.requests[number].category,
                **speculation(drafted, accepted, tokens.chunks),
                "num_spec_tokens": length,
                "num_generated_draft_tokens": log.generated[request],
                "completion_tokens": sum(tokens.chunks),
                "begin_s": tokens.begin_ps / 10**12,
                **latencies([tokens]),
                "ttft_s": tokens.ttft_s,
                "tpot_s": tokens.tpot_s,
                "e2e_s": tokens.e2e_s,
                "per_step_accepted": accepted,
                "per_step_drafted": drafted,
                "per_step_emitted": list(tokens.chunks),
                "per_step_end_ps": list(tokens.end_ps),
                "policy": policy.get(request, {}),
            }
        )
    return found


def _requests(log: RunLog) -> Iterator[tuple[int, slice]]:
    """Return every request and its passes, which follow each other."""
    first = 0
    for request, passes in groupby(log.request):
        end = first + sum(1 for _ in passes)
        yield request, slice(first, end)
        first = end


def _policy(log: RunLog) -> dict[int, dict[str, list[float]]]:
    """Return what the rule adapted by request."""
    found: dict[int, dict[str, list[float]]] = {}
    for name, values in log.policy.items():
        for request, value in zip(log.policy_request[name], values, strict=True):
            found.setdefault(request, {}).setdefault(name, []).append(value)
    return found
