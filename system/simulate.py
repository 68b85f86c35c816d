# SPDX-License-Identifier: Apache-2.0
"""Run one scheme on one workload, and check what must hold at its end."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ahasd import UserError
from ahasd.rtl.configs import UNITS
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.registers import REGISTERS
from ahasd.sim.aau import AttentionUnit
from ahasd.sim.activity import Recorder
from ahasd.sim.ahasd import AhasdTop
from ahasd.sim.clocked import Clock, Cycles
from ahasd.sim.draftctl import DraftLengthControl
from ahasd.sim.kernel import Kernel
from ahasd.sim.registry import make_engine
from ahasd.system.config import RunConfig
from ahasd.system.devices.aau_check import Sampled, check
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import RankMap, plan_ranks, rank_map, shared_ranks
from ahasd.system.devices.command import CommandDevices, memory_timing
from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.machine import Machine, Rates
from ahasd.system.devices.mapping import search
from ahasd.system.devices.pool import DevicePool
from ahasd.system.drafting.base import Drafting
from ahasd.system.drafting.fixed import TokenByToken
from ahasd.system.drafting.hardware import HardwareDrafting, in_hardware
from ahasd.system.energy.table import load_energy
from ahasd.system.metrics.split import Split
from ahasd.system.numerics.drafts import through_aau
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.hardware import HardwareLink, Measurements
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import AlwaysGo, IdealLink
from ahasd.system.schemes.names import DECODERS, DRAFTING_AHEAD, HARDWARE_SCHEMES
from ahasd.system.schemes.npu import Emitter, NpuDecoder, NpuVerifier
from ahasd.system.schemes.pim import PimSequencer
from ahasd.system.schemes.prefill import Prefiller
from ahasd.system.schemes.preverify import Preverification
from ahasd.system.schemes.registers import registers
from ahasd.system.stopwatch import Stopwatch
from ahasd.system.workload.playback import TargetStream
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.trace import Trace


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
        Simulated time from the first prompt to the last token.
    first_token_ps
        When the first token was out.
    ledger
        Event counts.
    npu, pim
        How the devices spent the time; `pim` is None where nothing drafts.
    in_flight
        Drafted tokens that had no fate yet.
    in_flight_contexts
        KV lengths at which they were drafted.
    delayed_ps
        Time that NPU and PIM lost to each other on the memory.
    memory_commands
        Memory commands of all tasks.
    devices
        What the tasks' times and events are from.
    cycles
        Stepped and skipped cycles of the hardware by clock domain.
    measurements
        What the TVC was told.
    counters
        The hardware's own counters at the end, by register.
    split_ps
        Time by what both devices did at the same time.
    draft_control
        Decisions of the draft-length control, and those that software would have made otherwise;
        None without it.
    wall_s
        Wall time spent in `memory`, timing tasks and contention, and in `hardware`, stepping the
        control units; s.
    """

    config: RunConfig
    ranks: RankMap
    time_ps: int
    first_token_ps: int
    ledger: Ledger
    npu: Activity
    pim: Activity | None
    in_flight: int
    in_flight_contexts: Counter[int]
    delayed_ps: Rates
    memory_commands: int
    devices: Devices
    cycles: dict[str, Cycles]
    measurements: Measurements
    counters: dict[str, int]
    split_ps: dict[str, int]
    draft_control: tuple[int, int] | None = None
    aau_commands: tuple[Sampled, ...] = ()
    wall_s: dict[str, float] = field(default_factory=dict)


def _longest_context(stream: TargetStream) -> tuple[int, int]:
    """Return the KV length after the last token of the longest sequence, and that position."""
    longest = position = last = 0
    while position < stream.length:
        position = stream.segment_end(position)
        context = stream.context(position - 1) + 1
        if context > longest:
            longest, last = context, position - 1
    return longest, last


def _check_context(config: RunConfig, trace: Trace, stream: TargetStream) -> int:
    """Return the longest context of a run, or say which request is too long for a model."""
    context, last = _longest_context(stream)
    for shape in (config.dlm, config.tlm):
        if context > shape.max_context:
            if config.workload.playback == "stream":  # all follow the prompt of the first
                number, generated = 0, last + 1
            else:
                request = stream.request(last)
                number, generated = request.number, stream.row(last) - request.first_row + 1
            raise UserError(
                f"{trace.source}: request {number} begins with a prompt of"
                f" {context - generated:,} tokens (prompt_len) and the run adds {generated:,};"
                f" {shape.name} was made for {shape.max_context:,} in all: shorten the prompt,"
                " generate fewer tokens (--tokens), or choose another model"
            )
    return context


def prepare(
    config: RunConfig, progress: Callable[[int], None] = lambda rows: None
) -> tuple[Trace, RankMap]:
    """Read the trace and place the models; everything that a user can have got wrong shows here.

    Parameters
    ----------
    config
        What will be run.
    progress
        Called with the rows of the trace that went through the AAU, where they have to.

    Raises
    ------
    UserError
        The trace or a file of the drafting rule is broken, or the models do not fit.
    """
    trace = open_trace(config.workload.trace, seed=config.seed)
    stream = TargetStream(trace, config.workload.tokens, config.workload.playback)
    context = _check_context(config, trace, stream)
    platform = config.platform
    models = config.dlm, config.tlm
    if config.scheme.startswith("gpu"):
        ranks = plan_ranks(platform, *models, context)
        DevicePool().of(config, ranks)  # refuses what the GPU does not hold
    elif config.scheme.startswith("pim") or config.scheme == "specpim":
        ranks = shared_ranks(platform, *models, context)
    else:
        ranks = rank_map(platform, *models, context, platform.offload)
    if config.scheme == "ahasd" and ranks.target.spilled_bytes:
        raise UserError(
            "scheme ahasd pre-verifies with the whole target in its ranks, and platform.offload"
            " holds a part of it: choose another scheme, or a smaller pair"
        )
    if config.memory.fidelity == "command":
        memory_timing(platform)
    elif ranks.target.spilled_bytes:
        raise UserError(
            "platform.offload holds a part of the target, which rates know nothing of: choose"
            ' memory.fidelity = "command"'
        )
    timing = load_timing(platform.dram)
    load_energy(config.energy).check_memory(timing.name, timing.row_bytes)
    if config.scheme in HARDWARE_SCHEMES:
        _check_hardware(config, trace)
    _drafting(config, Path())
    operators = config.nonlinear
    if operators.statistics == "aau":
        form, params = operators.logits, operators.params()
        trace = through_aau(trace, operators.tail, form, params, progress=progress)
    return trace, ranks


def _check_hardware(config: RunConfig, trace: Trace) -> None:
    """Refuse what the hardware cannot carry."""
    width = config.hardware.params.queues.token_width
    vocabulary = trace.header["vocab_size"]
    if vocabulary > 1 << width:
        raise UserError(
            f"{trace.source}: vocab_size = {vocabulary} needs more than the {width} bits that a"
            f" token has in hardware.configuration = {config.hardware.configuration!r}; choose"
            " another"
        )
    if config.scheme == "ahasd" and config.platform.dlm_ranks == "all":
        raise UserError(
            'scheme ahasd switches between the ranks of the two models: platform.dlm_ranks = "all"'
            ' has none to switch; choose "map"'
        )


def simulate(
    config: RunConfig,
    trace: Trace,
    ranks: RankMap,
    *,
    pool: DevicePool | None = None,
    progress: Callable[[int], None] = lambda emitted: None,
    lockstep_folder: Path = Path(),
    recorder: Recorder | None = None,
) -> Outcome:
    """Simulate a run to its last token.

    Parameters
    ----------
    config
        What to run.
    trace, ranks
        From `prepare`.
    pool
        Has the devices of other runs, if there are any that need the same.
    progress
        Called with the number of tokens emitted so far.
    lockstep_folder
        Where a lock-step difference leaves its waveform.
    recorder
        Keeps the pins of the hardware units.

    Raises
    ------
    InvariantError
        The emitted tokens are not the target's, or an account does not balance.
    """
    kernel = Kernel()
    stream = TargetStream(trace, config.workload.tokens, config.workload.playback)
    stopwatch = Stopwatch()
    began = time.perf_counter()
    origin = _devices(config, ranks, pool or DevicePool())
    stopwatch.spent_s["memory"] += time.perf_counter() - began
    devices = stopwatch.on(origin, "memory", ("draft", "verify", "preverify", "prefill"))
    contends = isinstance(origin, CommandDevices) and config.memory.contention
    machine = Machine(kernel, stopwatch.on(origin, "memory", ("rates",)) if contends else None)
    ledger = Ledger()
    emitter = Emitter(kernel, stream, progress)
    playback = config.workload.playback
    top = link = pim = drafting = None
    if config.scheme in DECODERS:
        decoder = NpuDecoder(kernel, stream, devices, machine, ledger, emitter, playback=playback)
        npu_activity = decoder.activity
        split = Split(npu_activity, None)
        decoder.start()
        kernel.run()
    else:
        if config.scheme in HARDWARE_SCHEMES:
            top = _top(config, kernel, lockstep_folder, stopwatch, recorder)
            link = HardwareLink(top, kernel, *_clocks(config), registers(config, devices, ranks))
        elif config.scheme == "amusd":
            waiting = config.verification.pass_tokens
            link = IdealLink(kernel, AlwaysGo(kernel), depth=waiting)
        else:
            link = IdealLink(kernel, AlwaysGo(kernel))
        verification = config.verification
        npu = NpuVerifier(
            kernel,
            stream,
            devices,
            machine,
            ledger,
            emitter,
            link,
            pass_tokens=verification.pass_tokens,
            take=verification.take,
            bonus=verification.bonus,
        )
        npu_activity = npu.activity
        drafting = _drafting(config, lockstep_folder, recorder)
        preverification = None
        if config.scheme == "ahasd" and isinstance(link, HardwareLink):
            preverification = Preverification(
                kernel,
                stream,
                devices,
                machine,
                ledger,
                link,
                npu.activity,
                continues=config.tvc.otherwise == "continue",
                wrong_hints=config.tvc.wrong_hints,
                seed=config.seed,
            )
        pim = PimSequencer(
            kernel,
            stream,
            devices,
            machine,
            ledger,
            drafting,
            link,
            Prefiller(kernel, stream, devices, machine, ledger, npu.activity, drafts=True),
            playback=playback,
            ahead=config.scheme in DRAFTING_AHEAD,
            has_edc=config.scheme in ("async-edc", "ahasd"),
            preverification=preverification,
            max_batch=config.hardware.params.queues.batch_tokens
            if config.scheme in HARDWARE_SCHEMES
            else drafting.k_max,
        )
        split = Split(npu.activity, pim.activity)
        if preverification is not None:
            preverification.connect(pim)
        link.connect(pim, npu)
        link.boot(pim.start)
        kernel.run()
    time_ps = kernel.now_ps
    for activity in (npu_activity, *([pim.activity] if pim else [])):
        activity.enter(activity.state, time_ps)
    # A copy: reading the counters takes cycles too.
    cycles = {name: replace(each) for name, each in top.finish().items()} if top else {}
    counters = {}
    if pim:
        pim.halt()
    if top:
        counters = _read_counters(kernel, top)
    outcome = Outcome(
        config=config,
        ranks=ranks,
        time_ps=time_ps,
        first_token_ps=emitter.first_ps or time_ps,
        ledger=ledger,
        npu=npu_activity,
        pim=pim.activity if pim else None,
        in_flight=pim.in_flight if pim else 0,
        in_flight_contexts=pim.in_flight_contexts() if pim else Counter(),
        delayed_ps=machine.delayed_ps,
        memory_commands=machine.commands,
        devices=origin,
        cycles=cycles,
        measurements=link.measurements if isinstance(link, HardwareLink) else Measurements(),
        counters=counters,
        split_ps=split.parts_ps,
        draft_control=(drafting.decided, drafting.differing.total())
        if isinstance(drafting, HardwareDrafting)
        else None,
        aau_commands=_check_aau(config, stream, ranks, recorder),
        wall_s=dict(stopwatch.spent_s),
    )
    _check(outcome, stream, emitter.tokens)
    return outcome


def _devices(config: RunConfig, ranks: RankMap, pool: DevicePool) -> Devices:
    """Return the devices of a run, and for specpim what is where on them."""
    held = pool.of(config, ranks)
    if config.scheme == "specpim" and isinstance(held, CommandDevices | AnalyticDevices):
        return search(held, config.mapping.draft_tokens, ranks.context_tokens)
    return held


def _clocks(config: RunConfig) -> tuple[Clock, Clock]:
    """Return the clocks of PIM and NPU."""
    pim, npu = config.platform.pim, config.platform.npu
    return Clock(pim.period_ps, pim.phase_ps), Clock(npu.period_ps, npu.phase_ps)


def _drafting(
    config: RunConfig, lockstep_folder: Path, recorder: Recorder | None = None
) -> Drafting:
    """Return the drafting rule, in hardware if that is asked for."""
    if config.scheme == "amusd":
        return Drafting(TokenByToken(config.verification.first_tokens))
    drafting = config.draft.build(config.seed)
    if not config.hardware.draftctl:
        return drafting
    params = UNITS["draftctl"].configurations["paper"]
    backend = config.backend
    engine = make_engine(
        "draftctl",
        params,
        backend.draftctl,
        lockstep=lockstep_folder if backend.compares_draftctl else None,
        recorder=recorder,
    )
    return in_hardware(drafting, DraftLengthControl(engine, params))


def _top(
    config: RunConfig,
    kernel: Kernel,
    lockstep_folder: Path,
    stopwatch: Stopwatch,
    recorder: Recorder | None,
) -> AhasdTop:
    backend = config.backend
    params = config.hardware.params
    engine = make_engine(
        "ahasd",
        params,
        backend.ahasd,
        parts=backend.parts,
        lockstep=lockstep_folder if backend.compares_top else None,
        recorder=recorder,
    )
    engine = stopwatch.on(engine, "hardware", ("step", "run", "advance"))
    return AhasdTop(engine, params, kernel, *_clocks(config), skip=backend.skip)


def _read_counters(kernel: Kernel, top: AhasdTop) -> dict[str, int]:
    """Let what is under way arrive, and read the hardware's counters, as a host would."""
    kernel.run()
    found: dict[str, int] = {}
    for register in REGISTERS:
        if register.kind is Kind.COUNTER:
            name = register.name
            top.read(name, lambda values, name=name: found.update({name: values["value"]}))
    kernel.run()
    return found


def _check_aau(
    config: RunConfig, stream: TargetStream, ranks: RankMap, recorder: Recorder | None
) -> tuple[Sampled, ...]:
    """Run the operators that the PIM has in this run on the AAU's RTL, at the longest context."""
    on_pim = config.nonlinear.unit == "aau" and not config.scheme.startswith(("gpu", "npu"))
    if config.backend.aau == "contract" or not on_pim:
        return ()
    params = config.nonlinear.params()
    unit = AttentionUnit(make_engine("aau", params, config.backend.aau, recorder=recorder), params)
    shapes = {"draft": config.dlm, "target": config.tlm}
    counts = {"draft": ranks.draft_ranks, "target": ranks.target.ranks}
    return tuple(check(unit, shapes, _longest_context(stream)[0], counts, config.seed))


def asserted(trace: Trace) -> Literal["tokens", "positions"]:
    """Return what the losslessness of a run is about: its `tokens`, or `positions` alone.

    A bernoulli trace has no tokens, only whether each position was accepted: that every position
    came out once and in order is all that a run of it can assert.
    """
    return "positions" if trace.coupling == "bernoulli" else "tokens"


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
        accepted = ledger.accepted + ledger.accepted_hints
        sources = accepted + ledger.corrections + ledger.bonuses - ledger.confirmed_bonuses
        if sources != stream.length:
            raise InvariantError(
                f"{stream.length} tokens were emitted, but {sources} have a source"
            )
    steps = ledger.accepted_steps + ledger.rejected_steps + outcome.in_flight_contexts
    if steps - ledger.draft_steps or steps.total() + ledger.flushed != ledger.drafted:
        raise InvariantError(
            f"of {ledger.draft_steps.total()} draft steps {steps.total()} have a fate that is not"
            f" flushed, and {ledger.flushed} tokens were"
        )
    for activity in (outcome.npu, outcome.pim):
        if activity is not None and sum(activity.state_ps.values()) != outcome.time_ps:
            raise InvariantError(f"times {activity.state_ps} do not add up to {outcome.time_ps} ps")
    if sum(outcome.split_ps.values()) != outcome.time_ps:
        raise InvariantError(f"times {outcome.split_ps} do not add up to {outcome.time_ps} ps")
    _check_log(outcome)
    for clock, (domain, cycles) in zip(
        _clocks(outcome.config), outcome.cycles.items(), strict=False
    ):
        simulated = clock.edges_until(outcome.time_ps)
        if cycles.stepped + cycles.skipped != simulated:
            raise InvariantError(f"{domain}: {cycles} do not add up to {simulated} cycles")
    _check_counters(outcome)


def _check_log(outcome: Outcome) -> None:
    """Check what was kept of passes and batches against the counts."""
    ledger = outcome.ledger
    log = ledger.log
    if (
        len(log.end_ps) != ledger.passes
        or sum(log.emitted) != outcome.config.workload.tokens
        or log.generated.total() != ledger.drafted
    ):
        raise InvariantError(f"the log of passes does not agree with the counts: {log}, {ledger}")
    if outcome.pim is not None:
        # What else was right and emitted by a pass is the target model's own, from the PIM.
        hints = ledger.accepted + ledger.accepted_hints - ledger.confirmed_bonuses
        hints -= sum(log.accepted)
        if not 0 <= hints <= ledger.accepted_hints:
            raise InvariantError(
                f"passes accepted {sum(log.accepted)} drafts, and {hints} hints of"
                f" {ledger.accepted_hints}"
            )


def _check_counters(outcome: Outcome) -> None:
    """Check what the hardware counted against what the models did."""
    if not outcome.counters:
        return
    ledger = outcome.ledger
    expected = {
        "pim.DECISIONS_GO": ledger.decisions["go"] + ledger.decisions["explored"],
        "pim.DECISIONS_STOP": ledger.decisions["stop"],
        "pim.RELEASES": sum(ledger.decisions[each] for each in ("empty", "rejected", "rechecked")),
        "pim.VERDICTS_ACCEPTED": ledger.judged_full,
        "pim.VERDICTS_REJECTED": ledger.judged_rejected,
        "pim.VERDICTS_VOID": ledger.judged_void,
        "npu.REJECTIONS": ledger.judged_rejected,
        "pim.PREVERIFY_REQUESTS": ledger.preverify.asked,
    }
    for name, count in expected.items():
        if outcome.counters[name] != count:
            raise InvariantError(f"{name} is {outcome.counters[name]}, but {count} were seen")
