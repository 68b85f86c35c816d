# SPDX-License-Identifier: Apache-2.0
"""The top in Amaranth: the units, and the registers and rules between them."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from ahasd.rtl.ahasd import layouts
from ahasd.rtl.ahasd.params import AhasdParams, State
from ahasd.rtl.edc.params import Cause, Verdict
from ahasd.rtl.edc.unit import EdcUnit
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.gtsu.params import State as GtsuState
from ahasd.rtl.gtsu.unit import GtsuUnit
from ahasd.rtl.host.unit import HostUnit
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.queues.unit import QueuesUnit
from ahasd.rtl.tvc.arithmetic import saturate
from ahasd.rtl.tvc.params import NpuKind
from ahasd.rtl.tvc.unit import TvcUnit


class AhasdUnit(wiring.Component):
    """All control units of AHASD between the rank sequencers, the NPU and the host.

    A batch is collected word by word; when it is complete, of the present epoch, and has room in
    the draft queue and in the EDC, the EDC is asked, and its decision is given to the sequencer as
    the batch enters the queue: both or neither. From the question to the decision no feedback is
    delivered, so that the verdict on a batch and the decision on the next cannot cross. A batch of
    an older epoch is dropped before the EDC. A word out of place is dropped with what was collected
    and raises `bad_word` of the queues. With `edc_enable` off every batch is granted, and the EDC
    hears of nothing.

    Feedback goes to the EDC (verdicts), to the TVC (start and end of a pass) and to the sequencer.
    A request goes to the TVC; a decision of at least one token becomes an entry of the
    pre-verification queue, and what leaves that queue becomes a task of the GTSU.

    Whatever goes from one unit to another passes a register.

    Reset: both domains together, for 8 cycles of the slower clock.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    draft : stream of {word, entropy}, in, pim
        Batches and cuts from the sequencer, in words of the draft queue; a header comes with the
        batch-mean entropy as the EDC takes it.
    decision : stream of {go, cause}, out, pim
        Decisions of the EDC: one a batch, and releases of a held stop.
    feedback : stream of {report, epoch}, out, pim
        Feedback of the NPU.
    request : stream of {epoch, branch, position, task, overhead_tokens, available_tokens}, in, pim
        Question to the TVC; one at a time.
    answer : stream of {length, reason, npu_cycles, slack}, out, pim
        Its decision.
    preverify : stream of preverify, out, pim
        Entry of the pre-verification queue whose task goes to the GTSU in this cycle.
    task, done : streams of unsigned(id_width), in, pim
        Draft tasks, and ends of tasks of both kinds.
    issue : stream of {kind, resumed, id}, out, pim
        The task runs from the next cycle on.
    measure : stream of {table, cycles, length}, in, pim
        Measurements for the TVC.
    now : unsigned(time_width), in, pim
        Cycle counter of the PIM clock.
    drained, layer_boundary, compute_request, compute_grant, mask, running
        As of the GTSU.
    room : unsigned(1), out, pim
        A batch that is complete would not have to wait for a credit or for the EDC.
    batch_out : stream of word, out, npu
        Draft queue: AXI4-Stream `m_axis_draft`.
    feedback_in : stream of report, in, npu
        Feedback queue: AXI4-Stream `s_axis_feedback`.
    aw, w, b, ar, r : streams, npu
        AXI4-Lite port of the registers.
    irq : unsigned(1), out, npu
        An enabled interrupt is pending.
    epoch_npu, flushing : out, npu
        As of the queues.
    idle_pim, idle_npu : unsigned(1), out
        With no transfer on a stream and synchronisers settled, an edge changes no state.
    """

    latency = 7
    interval = 1

    draft: stream.Interface
    decision: stream.Interface
    feedback: stream.Interface
    request: stream.Interface
    answer: stream.Interface
    preverify: stream.Interface
    task: stream.Interface
    done: stream.Interface
    issue: stream.Interface
    measure: stream.Interface
    now: Signal
    drained: Signal
    layer_boundary: Signal
    compute_request: Signal
    compute_grant: Signal
    mask: Signal
    running: Signal
    room: Signal
    batch_out: stream.Interface
    feedback_in: stream.Interface
    aw: stream.Interface
    w: stream.Interface
    b: stream.Interface
    ar: stream.Interface
    r: stream.Interface
    irq: Signal
    epoch_npu: Signal
    flushing: Signal
    idle_pim: Signal
    idle_npu: Signal

    def __init__(self, params: AhasdParams) -> None:
        self.params = params
        self.host = host = HostUnit(params.host)
        self.edc = edc = EdcUnit(params.edc)
        self.tvc = tvc = TvcUnit(params.tvc)
        self.queues = queues = QueuesUnit(params.queues)
        self.gtsu = gtsu = GtsuUnit(params.gtsu)
        number = params.gtsu.id_width

        def like(port: stream.Interface) -> stream.Signature:
            return stream.Signature(port.payload.shape())

        super().__init__(
            {
                "draft": In(stream.Signature(layouts.draft(params))),
                "decision": Out(like(edc.decision)),
                "feedback": Out(like(queues.feedback_out)),
                "request": In(stream.Signature(layouts.request(params))),
                "answer": Out(like(tvc.decision)),
                "preverify": Out(like(queues.preverify_out)),
                "task": In(stream.Signature(number)),
                "done": In(stream.Signature(number)),
                "issue": Out(like(gtsu.issue)),
                "measure": In(like(tvc.record)),
                "now": In(params.tvc.time_width),
                "drained": In(1),
                "layer_boundary": In(1),
                "compute_request": In(params.gtsu.ranks),
                "compute_grant": Out(params.gtsu.ranks),
                "mask": Out(params.gtsu.ranks),
                "running": Out(1),
                "room": Out(1),
                "batch_out": Out(like(queues.batch_out)),
                "feedback_in": In(like(queues.feedback_in)),
                "aw": In(like(host.aw)),
                "w": In(like(host.w)),
                "b": Out(like(host.b)),
                "ar": In(like(host.ar)),
                "r": Out(like(host.r)),
                "irq": Out(1),
                "epoch_npu": Out(params.queues.epoch_width),
                "flushing": Out(1),
                "idle_pim": Out(1),
                "idle_npu": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.host = self.host
        m.submodules.edc = self.edc
        m.submodules.tvc = self.tvc
        m.submodules.queues = self.queues
        m.submodules.gtsu = self.gtsu

        self._pim_events = Signal.like(self.host.pim_events)
        self._events = Signal.like(self.host.pim_events)  # of this cycle
        m.d.pim += self._pim_events.eq(self._events)
        m.d.comb += self.host.pim_events.eq(self._pim_events)

        self._connect_levels(m)
        self._connect_npu(m)
        held = self._hold_commands(m)
        verdict, npu_event = self._deliver_feedback(m)
        # Kept for the proofs (properties.py); no ports.
        self.state, self.verdict, self.npu_event = self._state, verdict, npu_event
        self._carry_batches(m, verdict)
        asking, entry = self._ask(m)
        task = self._issue(m)

        queues = self.queues
        waits = queues.batch_out.valid & ~self.batch_out.ready
        units = (self.host, self.edc, self.tvc, queues, self.gtsu)
        full = Cat(held, verdict.valid, npu_event.valid, asking, entry.valid, task.valid)
        m.d.comb += [
            self.idle_pim.eq(
                Cat(unit.idle_pim for unit in units).all()
                & (self._state == State.COLLECT)
                & ~full.any()
                & ~self._pim_events.as_value().any()
            ),
            self.idle_npu.eq(
                self.host.idle_npu
                & (queues.idle_npu | waits)
                & ~self.host.npu_events.as_value().any()
            ),
        ]
        return m

    def _connect_levels(self, m: Module) -> None:
        """Connect control registers, status and the levels that pass through."""
        params = self.params
        host, edc, tvc, queues, gtsu = self.host, self.edc, self.tvc, self.queues, self.gtsu
        control = host.control
        boundaries = (control[f"edc_boundary_{i}"] for i in range(params.edc.boundary_count))
        m.d.comb += [
            *(
                pin.eq(boundary[: params.edc.entropy_width])
                for pin, boundary in zip(edc.boundaries, boundaries, strict=True)
            ),
            edc.recheck.eq(control.edc_recheck),
            edc.explore.eq(control.edc_explore),
            tvc.now.eq(self.now),
            tvc.npu_ratio.eq(control.tvc_npu_ratio),
            tvc.switch_cycles.eq(saturate(control.tvc_switch_cycles, params.tvc.cycles_width)),
            tvc.slowdown_cycles.eq(saturate(control.tvc_slowdown_cycles, params.tvc.cycles_width)),
            tvc.max_length.eq(saturate(control.tvc_max_length, params.tvc.tokens_width)),
            tvc.affine_npu.eq(control.tvc_affine_npu),
            tvc.affine_preverify.eq(control.tvc_affine_preverify),
            tvc.cold_preverify_cycles.eq(
                saturate(control.tvc_cold_cycles, params.tvc.cycles_width)
            ),
            gtsu.dlm_mask.eq(control.gtsu_dlm_mask[: params.gtsu.ranks]),
            gtsu.tlm_mask.eq(control.gtsu_tlm_mask[: params.gtsu.ranks]),
            gtsu.switch_cycles.eq(control.gtsu_switch_cycles),
            gtsu.drain_max_cycles.eq(control.gtsu_drain_max),
            gtsu.preempt.eq(control.gtsu_preempt),
            gtsu.drained.eq(self.drained),
            gtsu.layer_boundary.eq(self.layer_boundary),
            gtsu.compute_request.eq(self.compute_request),
            self.compute_grant.eq(gtsu.compute_grant),
            self.mask.eq(gtsu.mask),
            self.running.eq(gtsu.running),
            self.irq.eq(host.irq),
            self.epoch_npu.eq(queues.epoch_npu),
            self.flushing.eq(queues.flushing),
        ]
        status = Signal.like(host.pim_status)
        m.d.pim += [
            status.outstanding.eq(edc.outstanding),
            status.epoch.eq(queues.epoch_pim),
            status.gtsu_state.eq(gtsu.state),
            status.pending.eq(gtsu.pending),
            status.credits.eq(queues.credits),
            status.waiting_tokens.eq(queues.waiting_tokens),
            status.mask.eq(gtsu.mask),
            status.edc_orphan.eq(edc.orphan),
            status.tvc_bad_record.eq(tvc.bad_record),
            status.queues_bad_word.eq(queues.bad_word),
            status.gtsu_timeout.eq(gtsu.timeout),
            status.gtsu_bad_masks.eq(gtsu.bad_masks),
            status.gtsu_orphan_done.eq(gtsu.orphan_done),
        ]
        m.d.comb += [
            host.pim_status.eq(status),
            self._events.switches.eq(
                (gtsu.state == GtsuState.SWITCHING) & (status.gtsu_state != GtsuState.SWITCHING)
            ),
        ]

    def _connect_npu(self, m: Module) -> None:
        """Connect the NPU side's streams, and note its events and state."""
        host, queues = self.host, self.queues
        for name in ("aw", "w", "ar"):
            connect(m, flipped(getattr(self, name)), getattr(host, name))
        for name in ("b", "r"):
            connect(m, getattr(host, name), flipped(getattr(self, name)))
        connect(m, queues.batch_out, flipped(self.batch_out))
        connect(m, flipped(self.feedback_in), queues.feedback_in)

        events = Signal.like(host.npu_events)
        status = Signal.like(host.npu_status)
        offered = Signal()
        taken = Signal()
        fed = Signal()
        kind = queues.batch_out.payload.kind
        report = self.feedback_in.payload
        m.d.comb += [
            taken.eq(queues.batch_out.valid & self.batch_out.ready),
            fed.eq(self.feedback_in.valid & queues.feedback_in.ready),
            host.npu_events.eq(events),
            host.npu_status.eq(status),
        ]
        m.d.npu += [
            offered.eq(queues.batch_out.valid),
            events.draft_ready.eq(queues.batch_out.valid & ~offered),
            events.batches_delivered.eq(taken & (kind == Kind.HEADER)),
            events.tokens_delivered.eq(taken & (kind == Kind.TOKEN)),
            events.cuts_delivered.eq(taken & (kind == Kind.CUT)),
            events.feedback_accepted.eq(fed),
            events.rejections.eq(
                fed & (report.event == Event.VERDICT) & ~report.full & ~report.void
            ),
            status.epoch.eq(queues.epoch_npu),
            status.flushing.eq(queues.flushing),
        ]

    def _hold_commands(self, m: Module) -> Value:
        """Give the host's commands to the units; return which of the registers are full."""
        params = self.params.tvc
        host, tvc = self.host, self.tvc
        full = []
        for name, target in (
            ("edc_command", self.edc.command),
            ("tvc_command", tvc.command),
            ("gtsu_command", self.gtsu.command),
        ):
            held = self._hold(m, name, getattr(host, name))
            connect(m, held, target)
            full.append(held.valid)
        # A preload goes before the sequencer's measurements.
        preload = self._hold(m, "tvc_record", host.tvc_record)
        record = tvc.record.payload
        m.d.comb += [
            tvc.record.valid.eq(preload.valid | self.measure.valid),
            preload.ready.eq(tvc.record.ready),
            self.measure.ready.eq(tvc.record.ready & ~preload.valid),
            record.eq(self.measure.payload),
        ]
        with m.If(preload.valid):
            m.d.comb += [
                record.table.eq(preload.payload.table),
                record.cycles.eq(saturate(preload.payload.cycles, params.cycles_width)),
                record.length.eq(saturate(preload.payload.length, params.length_width)),
            ]
        return Cat(*full, preload.valid)

    def _hold(self, m: Module, name: str, source: stream.Interface) -> stream.Interface:
        """Return what a register holds of a stream; it takes the next when it is empty."""
        held = stream.Signature(source.payload.shape()).create(path=(f"{name}_held",))
        m.d.comb += source.ready.eq(~held.valid)
        with m.If(held.valid):
            m.d.pim += held.valid.eq(~held.ready)
        with m.Else():
            m.d.pim += [held.valid.eq(source.valid), held.payload.eq(source.payload)]
        return held

    def _deliver_feedback(self, m: Module) -> tuple[stream.Interface, stream.Interface]:
        """Deliver feedback; return the registers of the EDC's verdict and the TVC's event."""
        queues = self.queues
        verdict = stream.Signature(Verdict).create(path=("verdict_held",))
        npu_event = stream.Signature(self.tvc.npu.payload.shape()).create(path=("npu_held",))
        connect(m, verdict, self.edc.verdict)
        connect(m, npu_event, self.tvc.npu)

        self._state = Signal(State)
        takes = Signal()
        self._delivered = delivered = Signal()
        report = queues.feedback_out.payload.report
        judged = Signal()
        starts = Signal()
        m.d.comb += [
            takes.eq(
                (self._state != State.OFFER)
                & (self._state != State.AWAIT)
                & (self._state != State.GRANT)
                & ~verdict.valid
                & ~npu_event.valid
            ),
            self.feedback.valid.eq(queues.feedback_out.valid & takes),
            self.feedback.payload.eq(queues.feedback_out.payload),
            queues.feedback_out.ready.eq(self.feedback.ready & takes),
            delivered.eq(self.feedback.valid & self.feedback.ready),
            judged.eq(delivered & (report.event == Event.VERDICT)),
            starts.eq(delivered & (report.event == Event.START)),
            self._events.feedback_delivered.eq(delivered),
            self._events.verdicts_void.eq(judged & report.void),
            self._events.verdicts_accepted.eq(judged & ~report.void & report.full),
            self._events.verdicts_rejected.eq(judged & ~report.void & ~report.full),
        ]
        with m.If(verdict.ready):
            m.d.pim += verdict.valid.eq(0)
        with m.If(npu_event.ready):
            m.d.pim += npu_event.valid.eq(0)
        with m.If(judged & self.host.control.edc_enable):
            m.d.pim += [
                verdict.valid.eq(1),
                verdict.payload.eq(Mux(report.void, Verdict.VOID, report.full)),
            ]
        with m.If(starts | (judged & report.last)):
            m.d.pim += [
                npu_event.valid.eq(1),
                npu_event.payload.kind.eq(Mux(starts, NpuKind.START, NpuKind.END)),
                npu_event.payload.kv_length.eq(report.kv_length),
                npu_event.payload.npu_cycles.eq(report.npu_cycles),
            ]
        return verdict, npu_event

    def _carry_batches(self, m: Module, verdict: stream.Interface) -> None:
        """Bring a batch from the sequencer through the EDC into the draft queue."""
        params = self.params.queues
        edc, queues, state = self.edc, self.queues, self._state
        enabled = self.host.control.edc_enable

        m.submodules.tokens = tokens = Memory(
            shape=params.token_width, depth=1 << self.params.index_width, init=()
        )
        write = tokens.write_port(domain="pim")
        read = tokens.read_port(domain="comb")
        word = Signal.like(self.draft.payload.word)
        entropy = Signal.like(self.draft.payload.entropy)
        left = Signal(params.length_width)
        index = Signal(self.params.index_width)
        passed = Signal()  # the header was of the present epoch

        given = self.draft.payload.word
        is_token = given.kind == Kind.TOKEN
        legal_length = given.body.info.length.any() & (
            given.body.info.length <= params.batch_tokens
        )
        fresh = Signal()
        decided = Signal()
        grants = Signal()
        answers = Signal()
        m.d.comb += [
            fresh.eq(word.epoch == queues.epoch_pim),
            self.room.eq(
                queues.credits.any()
                & (~enabled | (edc.outstanding != self.params.edc.max_outstanding))
            ),
            edc.draft.payload.eq(entropy),
            edc.decision.ready.eq(self.decision.ready),
            grants.eq((state == State.GRANT) & ~edc.decision.valid),
            self.decision.valid.eq(edc.decision.valid | grants),
            self.decision.payload.eq(edc.decision.payload),
            decided.eq(self.decision.valid & self.decision.ready),
            answers.eq(
                (self.decision.payload.cause == Cause.PREDICTED)
                | (self.decision.payload.cause == Cause.EXPLORED)
            ),
            self._events.decisions_go.eq(decided & answers & self.decision.payload.go),
            self._events.decisions_stop.eq(decided & answers & ~self.decision.payload.go),
            self._events.releases.eq(decided & ~answers),
            queues.batch_in.payload.eq(word),
            write.addr.eq(index),
            write.data.eq(given.body.token),
            read.addr.eq(index),
        ]
        with m.If(grants):
            m.d.comb += [
                self.decision.payload.go.eq(1),
                self.decision.payload.cause.eq(Cause.PREDICTED),
            ]

        with m.Switch(state):
            with m.Case(State.COLLECT):
                m.d.comb += self.draft.ready.eq(1)
                with m.If(self.draft.valid):
                    with m.If(is_token & left.any()):
                        m.d.comb += write.en.eq(1)
                        m.d.pim += [index.eq(index + 1), left.eq(left - 1)]
                        with m.If(left == 1):
                            m.d.pim += state.eq(State.READY)
                    with m.Else():
                        m.d.pim += [word.eq(given), left.eq(0)]
                        with m.If((given.kind == Kind.HEADER) & ~left.any() & legal_length):
                            m.d.pim += [
                                entropy.eq(self.draft.payload.entropy),
                                left.eq(given.body.info.length),
                                index.eq(0),
                            ]
                        with m.Else():
                            m.d.pim += state.eq(State.HEAD)
                            with m.If((given.kind != Kind.CUT) | left.any()):
                                m.d.pim += word.kind.eq(Kind.ACK)  # which the queues refuse
            with m.Case(State.READY):
                with m.If(~self._delivered & ~fresh):
                    m.d.comb += self._events.batches_dropped.eq(1)
                    m.d.pim += state.eq(State.COLLECT)
                # Feedback that is on offer must not be withdrawn.
                with m.Elif(~self.feedback.valid & ~verdict.valid & self.room):
                    m.d.comb += self._events.batches_offered.eq(1)
                    m.d.pim += state.eq(Mux(enabled, State.OFFER, State.GRANT))
            with m.Case(State.OFFER):
                m.d.comb += edc.draft.valid.eq(1)
                with m.If(edc.draft.ready):
                    m.d.pim += state.eq(State.AWAIT)
            with m.Case(State.AWAIT):
                with m.If(decided):
                    m.d.pim += state.eq(State.HEAD)
            with m.Case(State.GRANT):
                with m.If(decided & grants):
                    m.d.pim += state.eq(State.HEAD)
            with m.Case(State.HEAD):
                m.d.comb += queues.batch_in.valid.eq(1)
                with m.If(queues.batch_in.ready):
                    m.d.pim += [
                        passed.eq(fresh),
                        index.eq(0),
                        state.eq(State.COLLECT),
                    ]
                    with m.If(word.kind == Kind.HEADER):
                        m.d.comb += [
                            self._events.batches_pushed.eq(fresh),
                            self._events.batches_dropped.eq(~fresh),
                        ]
                        m.d.pim += [left.eq(word.body.info.length), state.eq(State.TOKENS)]
                    with m.Else():
                        m.d.comb += self._events.cuts_pushed.eq(fresh & (word.kind == Kind.CUT))
            with m.Case(State.TOKENS):
                m.d.comb += [
                    queues.batch_in.valid.eq(1),
                    queues.batch_in.payload.kind.eq(Kind.TOKEN),
                    queues.batch_in.payload.body.as_value().eq(read.data),
                ]
                with m.If(queues.batch_in.ready):
                    m.d.comb += self._events.tokens_pushed.eq(passed)
                    m.d.pim += [index.eq(index + 1), left.eq(left - 1)]
                    with m.If(left == 1):
                        m.d.pim += state.eq(State.COLLECT)

    def _ask(self, m: Module) -> tuple[Signal, stream.Interface]:
        """Bring a request to the TVC and its decision into the pre-verification queue.

        Returns whether a request is under way, and the register before the queue.
        """
        tvc, queues = self.tvc, self.queues
        asking = Signal()
        asked = Signal()
        request = Signal.like(self.request.payload)
        entry = stream.Signature(queues.preverify_in.payload.shape()).create(path=("entry_held",))
        connect(m, entry, queues.preverify_in)
        answered = Signal()
        inserts = Signal()
        length = tvc.decision.payload.length
        m.d.comb += [
            self.request.ready.eq(~asking),
            tvc.request.valid.eq(asking & ~asked),
            tvc.request.payload.overhead_tokens.eq(request.overhead_tokens),
            tvc.request.payload.available_tokens.eq(request.available_tokens),
            self.answer.payload.eq(tvc.decision.payload),
            self.answer.valid.eq(tvc.decision.valid & ~entry.valid),
            tvc.decision.ready.eq(self.answer.ready & ~entry.valid),
            answered.eq(self.answer.valid & self.answer.ready),
            inserts.eq(answered & length.any()),
            self._events.preverify_requests.eq(self.request.valid & self.request.ready),
            self._events.preverify_inserts.eq(inserts),
            self._events.preverify_tokens.eq(Mux(answered, length, 0)),
        ]
        with m.If(self.request.valid & self.request.ready):
            m.d.pim += [asking.eq(1), request.eq(self.request.payload)]
        with m.If(tvc.request.valid & tvc.request.ready):
            m.d.pim += asked.eq(1)
        with m.If(answered):
            m.d.pim += [asking.eq(0), asked.eq(0)]
        with m.If(entry.ready):
            m.d.pim += entry.valid.eq(0)
        with m.If(inserts):
            m.d.pim += [
                entry.valid.eq(1),
                entry.payload.epoch.eq(request.epoch),
                entry.payload.branch.eq(request.branch),
                entry.payload.position.eq(request.position),
                entry.payload.length.eq(length),
                entry.payload.task.eq(request.task),
            ]
        return asking, entry

    def _issue(self, m: Module) -> stream.Interface:
        """Give tasks to the GTSU, pre-verifications first; return the register before it."""
        queues, gtsu = self.queues, self.gtsu
        task = stream.Signature(self.params.gtsu.id_width).create(path=("task_held",))
        issued = Signal()
        taken = Signal()
        m.d.comb += [
            self.preverify.valid.eq(queues.preverify_out.valid & ~task.valid),
            self.preverify.payload.eq(queues.preverify_out.payload),
            queues.preverify_out.ready.eq(self.preverify.ready & ~task.valid),
            taken.eq(self.preverify.valid & self.preverify.ready),
            gtsu.task.valid.eq(task.valid | self.task.valid),
            gtsu.task.payload.kind.eq(Mux(task.valid, TaskKind.PREVERIFY, TaskKind.DRAFT)),
            gtsu.task.payload.id.eq(Mux(task.valid, task.payload, self.task.payload)),
            task.ready.eq(gtsu.task.ready),
            self.task.ready.eq(gtsu.task.ready & ~task.valid),
            issued.eq(self.issue.valid & self.issue.ready),
            self._events.tasks_draft.eq(issued & (gtsu.issue.payload.kind == TaskKind.DRAFT)),
            self._events.tasks_preverify.eq(
                issued & (gtsu.issue.payload.kind == TaskKind.PREVERIFY)
            ),
        ]
        connect(m, flipped(self.done), gtsu.done)
        connect(m, gtsu.issue, flipped(self.issue))
        with m.If(task.ready):
            m.d.pim += task.valid.eq(0)
        with m.If(taken):
            m.d.pim += [task.valid.eq(1), task.payload.eq(queues.preverify_out.payload.task)]
        return task
