# SPDX-License-Identifier: Apache-2.0
"""What is proved of the GTSU. Each class holds a few properties that share their observers."""

from typing import Any

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value

from ahasd.rtl.gtsu.params import DRAIN_LIMIT_CYCLES, Command, Kind, State
from ahasd.rtl.gtsu.unit import GtsuUnit
from ahasd.rtl.lib.properties import Offers, Proof, Properties, Quiescence


class GtsuProperties(Properties):
    """A GTSU, and what happened at its ports."""

    unit: GtsuUnit

    def check(self, m: Module) -> None:
        """Add the observers."""
        unit = self.unit
        self.taken = Signal()
        self.flushed = Signal()
        self.ended = Signal()
        self.waiting = Signal()
        self.halted = Signal()
        self.offers = Signal()
        self.raised = Signal()
        command = unit.command
        m.d.comb += [
            self.taken.eq(self.transfer(unit.task)),
            self.flushed.eq(command.valid & (command.payload == Command.FLUSH)),
            self.ended.eq(
                unit.done.valid & unit.running & (unit.done.payload == unit.issue.payload.id)
            ),
            self.waiting.eq((unit.state == State.DRAINING) | (unit.state == State.SWITCHING)),
            self.halted.eq(unit.timeout | unit.bad_masks),
            self.offers.eq(unit.issue.valid & ~self.past(m, unit.issue.valid)),
            self.raised.eq(unit.mask.any() & ~self.past(m, unit.mask.any())),
        ]


class Gates(GtsuProperties):
    """Which ranks may compute, and for whom."""

    def check(self, m: Module) -> None:
        """Note the masks when one is raised, and follow the task on offer to its end."""
        super().check(m)
        unit = self.unit
        kind = unit.issue.payload.kind
        dlm, tlm = self.past(m, unit.dlm_mask), self.past(m, unit.tlm_mask)
        other, other_was = Signal.like(unit.mask), Signal.like(unit.mask)
        raised_for, raised_for_was = Signal(Kind), Signal(Kind)
        m.d.pim += [other_was.eq(other), raised_for_was.eq(raised_for)]
        m.d.comb += [other.eq(other_was), raised_for.eq(raised_for_was)]
        with m.If(self.raised):
            m.d.comb += [other.eq(Mux(kind, dlm, tlm)), raised_for.eq(kind)]

        lives = Signal()  # the task on offer, or the last one, was not flushed
        runs = Signal()
        issued = self.transfer(unit.issue)
        m.d.pim += [
            lives.eq(Mux(self.flushed, 0, self.offers | lives)),
            runs.eq((issued & (self.offers | lives) & ~self.flushed) | (runs & unit.running)),
        ]
        with m.If(self.ended | self.flushed):
            m.d.pim += runs.eq(issued & (self.offers | lives) & ~self.flushed)
        grants = unit.compute_grant.any()
        mask_was = self.past(m, unit.mask)
        m.d.comb += [
            Assert(
                ~(unit.mask & other).any(),
                "never are ranks of both kinds under the mask",
            ),
            Assert(
                ~unit.mask.any() | ~mask_was.any() | (unit.mask == mask_was),
                "a mask does not change while it is up",
            ),
            Assert(
                ~self.raised | self.past(m, unit.drained),
                "a mask is raised only in a cycle after one that found the ranks drained",
            ),
            Assert(
                ~self.raised | (self.offers & (unit.mask == Mux(kind, tlm, dlm))),
                "a mask is raised with a task of its kind on offer",
            ),
            Assert(
                ~(unit.compute_grant & ~unit.mask).any(),
                "no rank is granted that is not under the mask",
            ),
            Assert(
                ~grants | (unit.mask.any() & (kind == raised_for)),
                "no rank is granted to a task of the other kind",
            ),
            Assert(
                ~grants | runs,
                "no rank is granted but to a task that was issued, and is not done or flushed",
            ),
            Assert(
                ~(grants & self.waiting),
                "no rank is granted while the unit drains or switches",
            ),
            Assert(
                ~(unit.compute_grant & ~unit.compute_request).any(),
                "no rank is granted without a request",
            ),
            *(Cover(grants & (kind == each), f"a rank is granted to {each.name}") for each in Kind),
            Cover(self.raised & ~self.past(m, self.raised), "a mask is raised"),
        ]


class Switches(GtsuProperties):
    """How long a switch takes, and how it ends, for all values of the registers.

    A cycle of a switch finds commands in flight, of which there are at most `drain_max_cycles`, or
    finds the ranks drained: once while it drains, and at most `switch_cycles` times without a mask.
    With the cycle of the transfer and the one that decides, these make the bound of the unit,
    drain_max_cycles + switch_cycles + 3.
    """

    def check(self, m: Module) -> None:
        """Count down what the registers allowed when draining began and the mask was dropped."""
        super().check(m)
        unit = self.unit
        draining = unit.state == State.DRAINING
        switching = unit.state == State.SWITCHING
        was_waiting = self.past(m, self.waiting)
        was_switching = self.past(m, switching)
        drain_max = self.past(m, unit.drain_max_cycles)
        limited = Mux(drain_max > DRAIN_LIMIT_CYCLES, DRAIN_LIMIT_CYCLES, drain_max)

        allowed, allowed_next = Signal.like(unit.budget), Signal.like(unit.budget)
        gap, gap_next = Signal.like(unit.switch_left), Signal.like(unit.switch_left)
        m.d.comb += [
            allowed.eq(Mux(was_waiting, allowed_next, limited)),
            gap.eq(Mux(was_switching, gap_next, self.past(m, unit.switch_cycles))),
        ]
        m.d.pim += [
            allowed_next.eq(allowed - ~unit.drained),
            gap_next.eq(gap - unit.drained),
        ]
        uses_all = self.past(m, self.waiting & ~unit.drained & ~allowed.any())
        gap_ends = self.past(m, switching & unit.drained & ~gap[1:].any())

        due = Signal()
        ended = Signal()
        failed = Signal()
        m.d.comb += [
            due.eq(
                unit.pending.any()
                & ~(unit.running | unit.issue.valid | self.halted | self.waiting)
                & ~(self.flushed | unit.done.valid)
            ),
            ended.eq(was_waiting & ~self.waiting),
            failed.eq(self.halted & ~self.past(m, self.halted)),
        ]
        timed_out = unit.timeout & ~self.past(m, unit.timeout)
        m.d.comb += [
            Assert(
                ~self.past(m, due) | unit.issue.valid | self.waiting,
                "a task that waits while none runs is offered, or a switch begins, one cycle later",
            ),
            Assert(
                ~(self.waiting & (uses_all | (allowed != unit.budget))),
                "a switch goes on for at most drain_max_cycles with commands in flight",
            ),
            Assert(
                ~self.past(m, draining & unit.drained) | ~draining,
                "draining ends when the ranks are found drained",
            ),
            Assert(
                ~(self.waiting & (gap_ends | (switching & (gap != unit.switch_left)))),
                "a switch goes on for at most switch_cycles with the ranks drained and no mask up",
            ),
            Assert(
                ~self.raised | gap_ends,
                "a mask is raised only after switch_cycles without one",
            ),
            Assert(
                (timed_out == uses_all) & ~(self.waiting & (allowed != unit.budget)),
                "a switch times out when, and only when, it has used up drain_max_cycles",
            ),
            Assert(
                ~ended | unit.issue.valid | failed | (unit.pending == self.past(m, self.taken)),
                "a switch ends in an offer, in an error, or with nothing to be offered",
            ),
            Assert(
                ~((switching | self.halted) & unit.mask.any()),
                "no mask is up while the ranks are switched, nor after an error",
            ),
            Cover(ended & unit.issue.valid & self.past(m, was_switching), "a switch is completed"),
            Cover(ended & failed & unit.timeout, "a switch ends in timeout"),
            Cover(ended & failed & unit.bad_masks, "a switch ends in bad_masks"),
            Cover(ended & ~unit.issue.valid & ~self.halted, "a switch ends at rest"),
            Cover(switching & ~unit.drained & allowed.any(), "a switch finds a late command"),
        ]


class Errors(GtsuProperties):
    """What an error stops, and how long it lasts."""

    def check(self, m: Module) -> None:
        """Add the properties."""
        super().check(m)
        unit = self.unit
        command = unit.command
        cleared = self.past(m, command.valid & (command.payload == Command.CLEAR_ERRORS))
        errors = {name: getattr(unit, name) for name in ("timeout", "bad_masks", "orphan_done")}
        quiet = ~(unit.issue.valid | unit.running | self.waiting | unit.compute_grant.any())
        m.d.comb += [
            Assert(
                ~self.halted | quiet,
                "after timeout or bad_masks nothing is issued, runs or is granted until the clear",
            ),
            *(
                Assert(
                    ~self.past(m, error) | error | cleared,
                    f"{name} stays until errors are cleared",
                )
                for name, error in errors.items()
            ),
            *(
                Cover(self.past(m, error) & ~error, f"{name} is cleared")
                for name, error in errors.items()
            ),
        ]


class Tasks(GtsuProperties):
    """Tasks counted, and any one of them followed from its transfer to its offer."""

    def check(self, m: Module) -> None:
        """Count the tasks of each kind that wait; follow a picked one and a suspended one."""
        super().check(m)
        unit = self.unit
        params = unit.params
        task, issue, done = unit.task.payload, unit.issue.payload, unit.done
        fresh = Signal()
        again = Signal()
        m.d.comb += [
            fresh.eq(self.offers & ~issue.resumed),
            again.eq(self.offers & issue.resumed),
        ]
        # Waiting in this cycle; what came with the last edge is counted.
        width = params.pending_width
        waits: dict[Kind, Signal] = {}
        before: dict[Kind, Value] = {}
        for kind in Kind:
            came = Signal(width, name=f"came_{kind.name}")
            waits[kind] = left = Signal(width, name=f"waits_{kind.name}")
            before[kind] = came
            m.d.comb += left.eq(came - (fresh & (issue.kind == kind)))
            m.d.pim += came.eq(Mux(self.flushed, 0, left + (self.taken & (task.kind == kind))))

        suspends = Signal()
        suspended, suspended_was, kept = Signal(), Signal(), Signal()
        suspended_id = Signal(params.id_width)
        drops = (done.valid & ~self.ended & (done.payload == suspended_id)) | self.flushed
        m.d.comb += [
            suspends.eq(self.past(m, unit.running & ~self.ended & ~self.flushed) & ~unit.running),
            kept.eq(suspended_was & ~self.past(m, suspended & drops)),
            suspended.eq(suspends | (kept & ~again)),
        ]
        m.d.pim += suspended_was.eq(suspended)
        number, number_was = Signal(params.id_width), Signal(params.id_width)
        m.d.comb += [
            number.eq(Mux(suspends, issue.id, number_was)),
            suspended_id.eq(number),
        ]
        m.d.pim += number_was.eq(number)

        pick = self.free("pick", 1)
        followed = Signal()
        followed_kind = Signal(Kind)
        followed_id = Signal(params.id_width)
        ahead = Signal(width)
        its_kind = Signal()
        due = Signal()
        picks = Signal()
        m.d.comb += [
            its_kind.eq(followed & fresh & (issue.kind == followed_kind)),
            due.eq(its_kind & ~ahead.any()),
            picks.eq(self.taken & pick & (~followed | due)),
        ]
        m.d.pim += ahead.eq(ahead - its_kind)
        with m.If(self.flushed | due):
            m.d.pim += followed.eq(0)
        with m.If(picks):
            m.d.pim += [
                followed.eq(1),
                followed_kind.eq(task.kind),
                followed_id.eq(task.id),
                ahead.eq(Mux(task.kind, waits[Kind.PREVERIFY], waits[Kind.DRAFT])),
            ]
        total = waits[Kind.DRAFT] + waits[Kind.PREVERIFY]
        yields = self.past(m, unit.preempt & unit.layer_boundary)
        m.d.comb += [
            Assert(
                unit.pending == total + suspended,
                "what waits is what was taken and suspended, less what was offered, ended and"
                " flushed",
            ),
            Assert(
                total <= params.task_entries,
                "no task is taken while task_entries are queued",
            ),
            Assert(
                ~due | (issue.id == followed_id),
                "a task is offered in its turn, as it was sent, and once",
            ),
            Assert(
                ~fresh | Mux(issue.kind, before[Kind.PREVERIFY], before[Kind.DRAFT]).any(),
                "nothing is offered that was not taken",
            ),
            Assert(
                ~(self.offers & (issue.kind == Kind.DRAFT))
                | (before[Kind.PREVERIFY] == self.past(m, self.taken & (task.kind == 1))),
                "no draft is offered while a pre-verification waits",
            ),
            Assert(
                ~again | (kept & (issue.id == number_was) & (issue.kind == Kind.DRAFT)),
                "what is resumed is the draft that was suspended",
            ),
            Assert(
                ~(fresh & kept & (issue.kind == Kind.DRAFT)),
                "a suspended draft goes before every other",
            ),
            Assert(
                ~suspends | (yields & (issue.kind == Kind.DRAFT)),
                "a task is suspended only at a layer boundary, with preempt set, and if it drafts",
            ),
            Assert(unit.done.ready & unit.command.ready, "done and command never stall"),
            Cover(its_kind & ahead.any(), "a followed task had others ahead of it"),
            Cover(total == params.task_entries, "the queues are full"),
            Cover(again, "a suspended draft is resumed"),
            Cover(self.past(m, suspended & drops & ~self.flushed), "a draft ends while suspended"),
        ]


class Idle(Quiescence):
    """Of the levels only a layer boundary can end `idle_pim`, and none lets an idle edge act."""

    def __init__(self, unit: Any) -> None:
        super().__init__(unit, inputs=("task", "done", "command", "layer_boundary"))

    def check(self, m: Module) -> None:
        """Add the property that leaves the levels free."""
        super().check(m)
        self.keep_still(
            m,
            "pim",
            self.unit.idle_pim & ~self.offered(),
            "idle_pim: whatever the levels, an edge without input changes no state",
        )


PROOFS = (
    Proof(properties=Gates, configuration="paper", cover_configuration="test", cover_depth=24),
    Proof(properties=Switches, configuration="paper", cover_configuration="test", cover_depth=24),
    Proof(properties=Errors, configuration="paper", cover_configuration="test", cover_depth=24),
    Proof(properties=Tasks, configuration="test", cover_depth=24),
    Proof(properties=Offers, configuration="paper", cover_configuration="test", cover_depth=24),
    Proof(properties=Idle, configuration="paper", cover_configuration="test", cover_depth=24),
)
