# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the GTSU in plain integers."""

from collections import deque
from collections.abc import Mapping

from ahasd.rtl.gtsu.params import (
    DRAIN_LIMIT_CYCLES,
    Command,
    GtsuParams,
    Issue,
    Kind,
    State,
    Task,
)


class GtsuGolden:
    """What the GTSU does, first per transaction, then per clock edge.

    `task`, `done` and `command` are the effect of one accepted transfer on the stream of that
    name; `step` is one edge of the PIM clock with the handshakes around them.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    """

    latency = 2
    interval = 1

    def __init__(self, params: GtsuParams) -> None:
        self.params = params
        self.state = State.IDLE
        self.mask = 0
        self.running = False
        self.queues: dict[Kind, deque[int]] = {kind: deque() for kind in Kind}
        self.suspended: int | None = None  # the front of the draft queue, when there is one
        self.timeout = False
        self.bad_masks = False
        self.orphan_done = False
        self._issue = Issue(Kind.DRAFT, False, 0)  # keeps its value after it was taken
        self._offered = False
        self._doomed = False  # the offered task was flushed before it was taken
        self._late = False  # the last task was flushed, and its done may still come
        self._budget = 0
        self._switch_left = 0

    @property
    def queued(self) -> int:
        """Tasks in the queues, a suspended one not counted."""
        return sum(map(len, self.queues.values()))

    @property
    def pending(self) -> int:
        """Tasks that wait, a suspended one counted."""
        return self.queued + (self.suspended is not None)

    @property
    def halted(self) -> bool:
        """Whether an error keeps tasks from being issued."""
        return self.timeout or self.bad_masks

    def next_kind(self) -> Kind | None:
        """Return the kind of the task that is issued next; None if nothing waits."""
        if self.queues[Kind.PREVERIFY]:
            return Kind.PREVERIFY
        return Kind.DRAFT if self.pending else None

    def task(self, kind: Kind, number: int) -> None:
        """Queue a task behind those of its kind."""
        self.queues[kind].append(number)

    def done(self, number: int) -> None:
        """Take the end of the running task, or of a task that was stopped as it ended."""
        if self.running and number == self._issue.id:
            self.running = False
        elif self.suspended == number:
            self.suspended = None
        elif self._late and number == self._issue.id:
            self._late = False
        else:
            self.orphan_done = True

    def command(self, command: Command) -> None:
        """Take a command; what a flush does to an issued task is up to `step`."""
        if command is Command.CLEAR_ERRORS:
            self.timeout = self.bad_masks = self.orphan_done = False
        else:
            for queue in self.queues.values():
                queue.clear()
            self.suspended = None

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take one edge of the PIM clock.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            1, or 0 to look at the outputs without an edge.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        task_ready = self.queued < self.params.task_entries and not pins["command__valid"]
        outputs = {
            "task__ready": int(task_ready),
            "done__ready": 1,
            "command__ready": 1,
            "issue__valid": int(self._offered),
            "issue__payload": self._issue.pack(),
            "compute_grant": pins["compute_request"] & self.mask if self.running else 0,
            "mask": self.mask,
            "running": int(self.running),
            "state": int(self.state),
            "pending": self.pending,
            "timeout": int(self.timeout),
            "bad_masks": int(self.bad_masks),
            "orphan_done": int(self.orphan_done),
            "idle_pim": int(self._idle(pins)),
        }
        if not clocks:
            return outputs

        halted = self.halted
        command = Command(pins["command__payload"]) if pins["command__valid"] else None
        # An error of this edge outlives a CLEAR_ERRORS of this edge.
        if command is Command.CLEAR_ERRORS:
            self.command(command)
        if pins["done__valid"]:
            self.done(pins["done__payload"])
        if command is Command.FLUSH:
            self.command(command)
        self._schedule(pins, halted, command is Command.FLUSH)
        if pins["task__valid"] and task_ready:
            self.task(*Task.unpack(pins["task__payload"]))
        return outputs

    def _preempts(self, pins: Mapping[str, int]) -> bool:
        return bool(
            self._issue.kind is Kind.DRAFT
            and self.queues[Kind.PREVERIFY]
            and pins["preempt"]
            and pins["layer_boundary"]
        )

    def _idle(self, pins: Mapping[str, int]) -> bool:
        if self._offered or self.state in (State.DRAINING, State.SWITCHING):
            return False
        if self.running:
            return not self._preempts(pins)
        return self.halted or not self.pending

    def _schedule(self, pins: Mapping[str, int], halted: bool, flush: bool) -> None:
        """Do what the unit does of its own accord, after a done and a command of this edge."""
        if self._offered:
            dead = self._doomed or flush
            if pins["issue__ready"]:
                self._offered = self._doomed = False
                self.running = not dead
                self._late = dead
            else:
                self._doomed = dead
        elif self.state in (State.DRAINING, State.SWITCHING):
            self._switch(pins)
        elif self.running:
            if flush:
                self._late = True
                self._drain(pins)
            elif self._preempts(pins):
                self.suspended = self._issue.id
                self._drain(pins)
        elif self.next_kind() is not None and not halted:
            if self._is_up(self.next_kind()):
                self._offer()
            else:
                self._drain(pins)

    def _is_up(self, kind: Kind | None) -> bool:
        return bool(self.mask) and kind is self._issue.kind

    def _drain(self, pins: Mapping[str, int]) -> None:
        self.running = False
        self.state = State.DRAINING
        self._budget = min(pins["drain_max_cycles"], DRAIN_LIMIT_CYCLES)

    def _switch(self, pins: Mapping[str, int]) -> None:
        kind = self.next_kind()
        if not pins["drained"]:
            if self._budget:
                self._budget -= 1
            else:
                self.timeout = True
                self._drop_mask(State.IDLE)
        elif self.state is State.DRAINING:
            if kind is None:
                self._rest()
            elif self._is_up(kind):
                self._offer()
            else:
                self._drop_mask(State.SWITCHING)
                self._switch_left = pins["switch_cycles"]
        elif self._switch_left > 1:
            self._switch_left -= 1
        elif kind is None:
            self._rest()
        else:
            mask = pins["tlm_mask" if kind is Kind.PREVERIFY else "dlm_mask"]
            if mask and not pins["dlm_mask"] & pins["tlm_mask"]:
                self.mask = mask
                self._offer()
            else:
                self.bad_masks = True
                self._drop_mask(State.IDLE)

    def _drop_mask(self, state: State) -> None:
        self.mask = 0
        self.state = state

    def _rest(self) -> None:
        """Return to the state of the mask that is up."""
        if not self.mask:
            self.state = State.IDLE
        else:
            self.state = State.PREVERIFY if self._issue.kind is Kind.PREVERIFY else State.DRAFT

    def _offer(self) -> None:
        """Offer the next task; its mask is up."""
        if self.queues[Kind.PREVERIFY]:
            self._issue = Issue(Kind.PREVERIFY, False, self.queues[Kind.PREVERIFY].popleft())
        elif self.suspended is not None:
            self._issue = Issue(Kind.DRAFT, True, self.suspended)
            self.suspended = None
        else:
            self._issue = Issue(Kind.DRAFT, False, self.queues[Kind.DRAFT].popleft())
        self._offered = True
        self._late = False
        self._rest()
