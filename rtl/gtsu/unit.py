# SPDX-License-Identifier: Apache-2.0
"""The GTSU in Amaranth."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ahasd.rtl.gtsu.params import DRAIN_LIMIT_CYCLES, Command, GtsuParams, Kind, State
from ahasd.rtl.lib.tree import sum_tree


class GtsuUnit(wiring.Component):
    """Issue drafting and pre-verification tasks, and let only the ranks of one kind compute.

    Timing: a task whose mask is up is offered on `issue` two cycles after its transfer, or one
    cycle after the `done` before it. If the mask of the other kind is up, or none, the unit
    switches: it grants nothing, waits for `drained`, drops the mask, waits `switch_cycles` with
    no mask up, raises the new mask and offers the task. `drained` low while it waits uses up a
    budget of `drain_max_cycles`; with the budget gone a switch ends in `timeout`. From the
    transfer on `task` a switch takes at most drain_max_cycles + switch_cycles + 3 cycles.

    `command` and `done` never stall. `task` stalls while task_entries tasks are queued, and in the
    cycle of a command. In one cycle a done takes effect first, then a command, then what the unit
    decides, then a task. The kind of the next task is decided at the last moment: when the ranks
    are drained, and again when a mask is raised.

    Reset clears everything but the contents of the queues' memories, which empty levels hide.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    task : stream of {kind, id}, in
        Task to be queued. Pre-verification goes before drafting; each kind keeps its order.
    done : stream of unsigned(id_width), in
        The running task has ended, by its id.
    command : stream of Command, in
        Clearing of the errors, or flush: every queued task is dropped and the running one stopped.
    issue : stream of {kind, resumed, id}, out
        The task runs from the cycle after the transfer; resumed if it ran before.
    drained : unsigned(1), in
        No PIM compute command is in flight; low in the cycle after a grant that was used.
    layer_boundary : unsigned(1), in
        The running task may be suspended: it has work left, and all of it can wait.
    compute_request : unsigned(ranks), in
        Ranks for which a PIM compute command is wanted in this cycle.
    dlm_mask, tlm_mask : unsigned(ranks), in
        CSRs: ranks of drafting and of pre-verification, read when a mask is raised.
    switch_cycles : unsigned(7), in
        CSR: cycles without a mask, read when a mask is dropped; 0 acts as 1.
    drain_max_cycles : unsigned(10), in
        CSR: budget for draining, read when draining begins; above 640 acts as 640.
    preempt : unsigned(1), in
        CSR: at a layer boundary a queued pre-verification suspends drafting.
    compute_grant : unsigned(ranks), out
        Requests that may go ahead in this cycle: those under the mask, while a task runs.
    mask : unsigned(ranks), out
        The mask that is up; 0 if none is.
    running : unsigned(1), out
        A task was issued, and is not done, suspended or flushed.
    state : State, out
        What the unit is doing.
    pending : unsigned, out
        Tasks that wait, a suspended one counted.
    timeout : unsigned(1), out
        Error, sticky: the ranks did not drain in time. Nothing is issued while it is high.
    bad_masks : unsigned(1), out
        Error, sticky: the masks overlapped, or the one to be raised was empty. Nothing is issued
        while it is high.
    orphan_done : unsigned(1), out
        Error, sticky: a done belonged to no task that could end; it was dropped.
    idle_pim : unsigned(1), out
        The next edge changes no state unless an input stream is valid. Of the levels only
        layer_boundary and preempt can end it.
    """

    latency = 2
    interval = 1

    task: stream.Interface
    done: stream.Interface
    command: stream.Interface
    issue: stream.Interface
    drained: Signal
    layer_boundary: Signal
    compute_request: Signal
    dlm_mask: Signal
    tlm_mask: Signal
    switch_cycles: Signal
    drain_max_cycles: Signal
    preempt: Signal
    compute_grant: Signal
    mask: Signal
    running: Signal
    state: Signal
    pending: Signal
    timeout: Signal
    bad_masks: Signal
    orphan_done: Signal
    idle_pim: Signal

    def __init__(self, params: GtsuParams) -> None:
        self.params = params
        number = unsigned(params.id_width)
        task = data.StructLayout({"kind": Kind, "id": number})
        issue = data.StructLayout({"kind": Kind, "resumed": 1, "id": number})
        super().__init__(
            {
                "task": In(stream.Signature(task)),
                "done": In(stream.Signature(number)),
                "command": In(stream.Signature(Command)),
                "issue": Out(stream.Signature(issue)),
                "drained": In(1),
                "layer_boundary": In(1),
                "compute_request": In(params.ranks),
                "dlm_mask": In(params.ranks),
                "tlm_mask": In(params.ranks),
                "switch_cycles": In(params.switch_width),
                "drain_max_cycles": In(params.drain_width),
                "preempt": In(1),
                "compute_grant": Out(params.ranks),
                "mask": Out(params.ranks),
                "running": Out(1),
                "state": Out(State),
                "pending": Out(params.pending_width),
                "timeout": Out(1),
                "bad_masks": Out(1),
                "orphan_done": Out(1),
                "idle_pim": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        entries = params.task_entries
        m = Module()

        # One queue a kind, each deep enough for all entries.
        queues = {}
        for kind in Kind:
            queue = Memory(shape=params.id_width, depth=entries, init=())
            m.submodules[f"{kind.name.lower()}_queue"] = queues[kind] = queue
        writes = {kind: queue.write_port(domain="pim") for kind, queue in queues.items()}
        reads = {kind: queue.read_port(domain="comb") for kind, queue in queues.items()}
        levels = {
            kind: Signal(range(entries + 1), name=f"{kind.name.lower()}_level") for kind in Kind
        }

        suspended = Signal()  # the front of the draft queue, when there is one
        suspended_id = Signal(params.id_width)
        doomed = Signal()  # the offered task was flushed before it was taken
        late = Signal()  # the last task was flushed, and its done may still come
        budget = Signal(params.drain_width)
        switch_left = Signal(params.switch_width)
        # Kept for proofs of the bound on a switch; no ports.
        self.budget, self.switch_left = budget, switch_left

        draining = Signal()
        switching = Signal()
        mask_is_up = Signal()
        halted = Signal()
        take_task = Signal()
        flush = Signal()
        queued = Signal(range(entries + 1))
        m.d.comb += [
            queued.eq(sum_tree(list(levels.values()))),
            mask_is_up.eq(self.mask.any()),
            halted.eq(self.timeout | self.bad_masks),
            self.task.ready.eq((queued != entries) & ~self.command.valid),
            self.done.ready.eq(1),
            self.command.ready.eq(1),
            take_task.eq(self.task.valid & self.task.ready),
            flush.eq(self.command.valid & (self.command.payload == Command.FLUSH)),
            self.pending.eq(queued + suspended),
            self.compute_grant.eq(
                self.compute_request & self.mask & self.running.replicate(params.ranks)
            ),
        ]

        with m.Switch(self.state):
            with m.Case(State.DRAINING):
                m.d.comb += draining.eq(1)
            with m.Case(State.SWITCHING):
                m.d.comb += switching.eq(1)
            with m.Default():
                m.d.comb += [draining.eq(0), switching.eq(0)]

        # An error that is found in the cycle of a CLEAR_ERRORS outlives it: its assignment follows.
        with m.If(self.command.valid & (self.command.payload == Command.CLEAR_ERRORS)):
            m.d.pim += [self.timeout.eq(0), self.bad_masks.eq(0), self.orphan_done.eq(0)]

        # A done, first.
        names_issued = Signal()
        ends_running = Signal()
        ends_suspended = Signal()
        m.d.comb += [
            names_issued.eq(self.done.payload == self.issue.payload.id),
            ends_running.eq(self.done.valid & self.running & names_issued),
            ends_suspended.eq(
                self.done.valid & ~ends_running & suspended & (self.done.payload == suspended_id)
            ),
        ]
        with m.If(ends_running):
            m.d.pim += self.running.eq(0)
        with m.Elif(ends_suspended):
            m.d.pim += suspended.eq(0)
        with m.Elif(self.done.valid & late & names_issued):
            m.d.pim += late.eq(0)
        with m.Elif(self.done.valid):
            m.d.pim += self.orphan_done.eq(1)

        # What would be issued next, a flush in this cycle considered, a task in this cycle not.
        any_preverify = Signal()
        resumes = Signal()
        any_task = Signal()
        next_is_up = Signal()
        m.d.comb += [
            any_preverify.eq(levels[Kind.PREVERIFY].any() & ~flush),
            resumes.eq(suspended & ~ends_suspended & ~flush),
            any_task.eq(any_preverify | resumes | (levels[Kind.DRAFT].any() & ~flush)),
            next_is_up.eq(mask_is_up & (self.issue.payload.kind == any_preverify)),
        ]
        preempts = Signal()
        m.d.comb += preempts.eq(
            (self.issue.payload.kind == Kind.DRAFT)
            & levels[Kind.PREVERIFY].any()
            & self.preempt
            & self.layer_boundary
        )

        chosen = Signal(params.ranks)
        chosen_is_legal = Signal()
        m.d.comb += [
            chosen.eq(Mux(any_preverify, self.tlm_mask, self.dlm_mask)),
            chosen_is_legal.eq(chosen.any() & ~(self.dlm_mask & self.tlm_mask).any()),
        ]

        # The steps of a switch, chosen below.
        offer = Signal()
        drain = Signal()
        rest = Signal()
        with m.If(self.issue.valid):
            with m.If(self.issue.ready):
                m.d.pim += [
                    self.issue.valid.eq(0),
                    doomed.eq(0),
                    self.running.eq(~(doomed | flush)),
                    late.eq(doomed | flush),
                ]
            with m.Elif(flush):
                m.d.pim += doomed.eq(1)
        with m.Elif((draining | switching) & ~self.drained):
            with m.If(budget.any()):
                m.d.pim += budget.eq(budget - 1)
            with m.Else():
                m.d.pim += [self.timeout.eq(1), self.mask.eq(0), self.state.eq(State.IDLE)]
        with m.Elif(draining):
            with m.If(~any_task):
                m.d.comb += rest.eq(1)
            with m.Elif(next_is_up):
                m.d.comb += offer.eq(1)
            with m.Else():
                m.d.pim += [
                    self.mask.eq(0),
                    self.state.eq(State.SWITCHING),
                    switch_left.eq(self.switch_cycles),
                ]
        with m.Elif(switching):
            with m.If(switch_left[1:].any()):
                m.d.pim += switch_left.eq(switch_left - 1)
            with m.Elif(~any_task):
                m.d.comb += rest.eq(1)
            with m.Elif(chosen_is_legal):
                m.d.pim += self.mask.eq(chosen)
                m.d.comb += offer.eq(1)
            with m.Else():
                m.d.pim += [self.bad_masks.eq(1), self.state.eq(State.IDLE)]
        with m.Elif(self.running & ~ends_running):
            with m.If(flush):
                m.d.pim += late.eq(1)
                m.d.comb += drain.eq(1)
            with m.Elif(preempts):
                m.d.pim += [suspended.eq(1), suspended_id.eq(self.issue.payload.id)]
                m.d.comb += drain.eq(1)
        with m.Elif(any_task & ~halted):
            m.d.comb += [offer.eq(next_is_up), drain.eq(~next_is_up)]

        with m.If(drain):
            m.d.pim += [
                self.running.eq(0),
                self.state.eq(State.DRAINING),
                budget.eq(
                    Mux(
                        self.drain_max_cycles > DRAIN_LIMIT_CYCLES,
                        DRAIN_LIMIT_CYCLES,
                        self.drain_max_cycles,
                    )
                ),
            ]
        with m.If(rest):
            with m.If(~mask_is_up):
                m.d.pim += self.state.eq(State.IDLE)
            with m.Elif(self.issue.payload.kind == Kind.PREVERIFY):
                m.d.pim += self.state.eq(State.PREVERIFY)
            with m.Else():
                m.d.pim += self.state.eq(State.DRAFT)
        with m.If(offer):
            m.d.pim += [
                self.issue.valid.eq(1),
                self.issue.payload.kind.eq(any_preverify),
                self.issue.payload.resumed.eq(~any_preverify & resumes),
                late.eq(0),
                self.state.eq(Mux(any_preverify, State.PREVERIFY, State.DRAFT)),
            ]
            with m.If(any_preverify):
                m.d.pim += self.issue.payload.id.eq(reads[Kind.PREVERIFY].data)
            with m.Elif(resumes):
                m.d.pim += [self.issue.payload.id.eq(suspended_id), suspended.eq(0)]
            with m.Else():
                m.d.pim += self.issue.payload.id.eq(reads[Kind.DRAFT].data)

        pops = {
            Kind.DRAFT: offer & ~any_preverify & ~resumes,
            Kind.PREVERIFY: offer & any_preverify,
        }
        for kind in Kind:
            name = kind.name.lower()
            oldest = Signal(params.pointer_width, name=f"{name}_oldest")
            push = Signal(name=f"{name}_push")
            pop = Signal(name=f"{name}_pop")
            m.d.comb += [
                push.eq(take_task & (self.task.payload.kind == kind)),
                pop.eq(pops[kind]),
                reads[kind].addr.eq(oldest),
                writes[kind].addr.eq(oldest + levels[kind][: params.pointer_width]),
                writes[kind].data.eq(self.task.payload.id),
                writes[kind].en.eq(push),
            ]
            m.d.pim += [
                oldest.eq(oldest + pop),
                levels[kind].eq(levels[kind] + push - pop),
            ]
        with m.If(flush):
            m.d.pim += [suspended.eq(0), *(level.eq(0) for level in levels.values())]

        m.d.comb += self.idle_pim.eq(
            ~(self.issue.valid | draining | switching)
            & Mux(self.running, ~preempts, halted | ~self.pending.any())
        )
        return m
