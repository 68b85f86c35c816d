# SPDX-License-Identifier: Apache-2.0
"""Run one scheme on one workload, and check what must hold at its end."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ahasd.sim.clocked import Clock, Cycles
from ahasd.sim.edc import EdcControl
from ahasd.sim.kernel import Kernel
from ahasd.sim.registry import make_engine
from ahasd.system.config import RunConfig
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import RankMap, rank_map
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.control import AlwaysGo
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.npu import Emitter, NpuDecoder, NpuVerifier
from ahasd.system.schemes.pim import PimSequencer
from ahasd.system.workload.playback import TargetStream
from ahasd.system.workload.trace import Trace, load_trace


class InvariantError(AssertionError):
    """The simulation broke a rule of its own: a fault of ours, never of the input."""


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes
    ----------
    config
        What was run.
    ranks
        Where the models lie.
    time_ps
        Simulated time from the first draft to the last token.
    ledger
        Event counts.
    npu, pim
        How the devices spent the time; `pim` is None where nothing drafts.
    in_flight
        Drafted tokens that had no fate yet.
    cycles
        Stepped and skipped cycles by hardware unit.
    """

    config: RunConfig
    ranks: RankMap
    time_ps: int
    ledger: Ledger
    npu: Activity
    pim: Activity | None
    in_flight: int
    cycles: dict[str, Cycles]


def _longest_context(stream: TargetStream) -> int:
    """Return the KV length after the last token of the longest sequence."""
    longest = position = 0
    while position < stream.length:
        position = stream.segment_end(position)
        longest = max(longest, stream.context(position - 1) + 1)
    return longest


def prepare(config: RunConfig) -> tuple[Trace, RankMap]:
    """Read the trace and place the models; everything that a user can have got wrong shows here.

    Raises
    ------
    UserError
        The trace is broken, or the models do not fit.
    """
    trace = load_trace(config.workload.trace)
    stream = TargetStream(trace, config.workload.tokens, config.workload.playback)
    context = _longest_context(stream)
    return trace, rank_map(config.platform, config.dlm, config.tlm, context)


def simulate(
    config: RunConfig,
    trace: Trace,
    ranks: RankMap,
    *,
    progress: Callable[[int], None] = lambda emitted: None,
    lockstep_folder: Path = Path(),
) -> Outcome:
    """Simulate a run to its last token.

    Parameters
    ----------
    config
        What to run.
    trace, ranks
        From `prepare`.
    progress
        Called with the number of tokens emitted so far.
    lockstep_folder
        Where a lock-step difference leaves its waveform.

    Raises
    ------
    InvariantError
        The emitted tokens are not the target's, or an account does not balance.
    """
    kernel = Kernel()
    stream = TargetStream(trace, config.workload.tokens, config.workload.playback)
    devices = AnalyticDevices(config.platform, config.dlm, config.tlm, ranks.draft_ranks)
    ledger = Ledger()
    emitter = Emitter(kernel, stream, progress)
    if config.scheme == "npu-ar":
        decoder = NpuDecoder(kernel, stream, devices, ledger, emitter)
        decoder.start()
        kernel.run()
        outcome = _finish(config, ranks, kernel, ledger, decoder.activity, None, {})
    else:
        control = _control(config, kernel, lockstep_folder)
        verification = config.verification
        npu = NpuVerifier(
            kernel,
            stream,
            devices,
            ledger,
            emitter,
            pass_tokens=verification.pass_tokens,
            take=verification.take,
            bonus=verification.bonus,
        )
        has_edc = isinstance(control, EdcControl)
        pim = PimSequencer(
            kernel,
            stream,
            devices,
            ledger,
            config.draft.build(),
            control,
            npu,
            playback=config.workload.playback,
            queue_depth=verification.queue_batches,
            max_outstanding=config.edc.params.max_outstanding if has_edc else None,
            ahead=config.scheme != "sync",
            has_edc=has_edc,
        )
        pim.start()
        kernel.run()
        cycles = {"edc": control.finish()} if isinstance(control, EdcControl) else {}
        outcome = _finish(config, ranks, kernel, ledger, npu.activity, pim, cycles)
    _check(outcome, stream, emitter.tokens)
    return outcome


def _control(config: RunConfig, kernel: Kernel, lockstep_folder: Path) -> EdcControl | AlwaysGo:
    if config.scheme != "async-edc":
        return AlwaysGo(kernel)
    backend = config.backend
    params = config.edc.params
    pim = config.platform.pim
    return EdcControl(
        make_engine(
            "edc", params, backend.edc, lockstep=lockstep_folder if backend.lockstep else None
        ),
        params,
        kernel,
        Clock(pim.period_ps, pim.phase_ps),
        boundaries=config.edc.boundaries,
        recheck=config.edc.recheck,
        explore=config.edc.explore,
        skip=backend.skip,
    )


def _finish(
    config: RunConfig,
    ranks: RankMap,
    kernel: Kernel,
    ledger: Ledger,
    npu: Activity,
    pim: PimSequencer | None,
    cycles: dict[str, Cycles],
) -> Outcome:
    activities = [npu, *([pim.activity] if pim else [])]
    for activity in activities:
        activity.enter(activity.state, kernel.now_ps)
    return Outcome(
        config=config,
        ranks=ranks,
        time_ps=kernel.now_ps,
        ledger=ledger,
        npu=npu,
        pim=pim.activity if pim else None,
        in_flight=pim.in_flight if pim else 0,
        cycles=cycles,
    )


def _check(outcome: Outcome, stream: TargetStream, emitted: list[int]) -> None:
    """Check losslessness and conservation."""
    expected = [stream.target(pos) for pos in range(stream.length)]
    if emitted != expected:
        first = next(
            (
                i
                for i, pair in enumerate(zip(emitted, expected, strict=False))
                if len(set(pair)) > 1
            ),
            min(len(emitted), len(expected)),
        )
        raise InvariantError(
            f"not lossless: {len(emitted)} of {len(expected)} tokens are out and the first that"
            f" differs from the target's own is at position {first}"
        )
    ledger = outcome.ledger
    fates = ledger.accepted + ledger.rejected + ledger.flushed + outcome.in_flight
    if ledger.drafted != fates:
        raise InvariantError(f"{ledger.drafted} tokens were drafted, but {fates} have a fate")
    if outcome.pim is not None:
        sources = ledger.accepted + ledger.corrections + ledger.bonuses - ledger.confirmed_bonuses
        if sources != stream.length:
            raise InvariantError(
                f"{stream.length} tokens were emitted, but {sources} have a source"
            )
    for activity in (outcome.npu, outcome.pim):
        if activity is not None and sum(activity.state_ps.values()) != outcome.time_ps:
            raise InvariantError(f"times {activity.state_ps} do not add up to {outcome.time_ps} ps")
    for unit, cycles in outcome.cycles.items():
        pim = outcome.config.platform.pim
        simulated = Clock(pim.period_ps, pim.phase_ps).edges_until(outcome.time_ps)
        if cycles.stepped + cycles.skipped != simulated:
            raise InvariantError(f"{unit}: {cycles} do not add up to {simulated} cycles")
