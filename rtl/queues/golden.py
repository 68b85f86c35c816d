# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the queue controllers in plain integers."""

from collections.abc import Mapping
from typing import NamedTuple

from ahasd.rtl.lib.crossing import AsyncFifoGolden, SynchronizerGolden, gray, ungray
from ahasd.rtl.queues.params import Event, Kind, QueuesParams

PIM, NPU = 1, 2
"""Bits of the clock mask."""


class Word(NamedTuple):
    """A word of the draft queue; `length` and its neighbours are the body of a header or cut."""

    kind: Kind
    epoch: int
    token: int = 0
    batch: int = 0
    branch: int = 0
    length: int = 0

    def pack(self, params: QueuesParams) -> int:
        """Return the payload as the integer on the wires."""
        body = self.token
        if self.kind is not Kind.TOKEN:
            body = self.batch
            body |= self.branch << params.batch_width
            body |= self.length << (params.batch_width + params.branch_width)
        return self.kind | self.epoch << 2 | body << (2 + params.epoch_width)

    @classmethod
    def unpack(cls, payload: int, params: QueuesParams) -> "Word":
        """Read a payload from the wires."""
        kind = Kind(payload & 3)
        epoch = payload >> 2 & ((1 << params.epoch_width) - 1)
        body = payload >> (2 + params.epoch_width)
        if kind is Kind.TOKEN:
            return cls(kind, epoch, token=body & ((1 << params.token_width) - 1))
        batch = body & ((1 << params.batch_width) - 1)
        branch = body >> params.batch_width & ((1 << params.branch_width) - 1)
        length = body >> (params.batch_width + params.branch_width)
        return cls(kind, epoch, 0, batch, branch, length & ((1 << params.length_width) - 1))


class Report(NamedTuple):
    """An entry of the feedback queue, without the epoch."""

    event: Event
    batch: int = 0
    accepted: int = 0
    full: bool = False
    void: bool = False
    last: bool = False
    next_valid: bool = False
    next_token: int = 0
    npu_cycles: int = 0
    kv_length: int = 0

    @property
    def rejects(self) -> bool:
        """Whether it is a verdict that ends the epoch."""
        return self.event is Event.VERDICT and not self.full and not self.void

    def pack(self, params: QueuesParams) -> int:
        """Return the payload as the integer on the wires."""
        payload = offset = 0
        for value, width in zip(self, _report_widths(params), strict=True):
            payload |= int(value) << offset
            offset += width
        return payload

    @classmethod
    def unpack(cls, payload: int, params: QueuesParams) -> "Report":
        """Read a payload from the wires."""
        values = []
        for width in _report_widths(params):
            values.append(payload & ((1 << width) - 1))
            payload >>= width
        event, batch, accepted, full, void, last, next_valid, *rest = values
        flags = (bool(full), bool(void), bool(last), bool(next_valid))
        return cls(Event(event), batch, accepted, *flags, *rest)


def _report_widths(params: QueuesParams) -> tuple[int, ...]:
    flags = (1, 1, 1, 1)
    rest = (params.token_width, params.npu_cycles_width, params.kv_width)
    return (1, params.batch_width, params.length_width, *flags, *rest)


class QueuesGolden:
    """What the queue controllers do, edge by edge.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.

    Attributes
    ----------
    changed
        Whether the last edge changed any flip-flop or memory word.
    """

    latency = 4
    interval = 1

    def __init__(self, params: QueuesParams) -> None:
        self.params = params
        self.changed = False
        self._draft = AsyncFifoGolden(params.draft_words)
        self._feedback = AsyncFifoGolden(params.feedback_entries)
        # The memory of the task queue outlives its entries, and shows when the queue is empty.
        self._tasks = [0] * params.preverify_entries
        self._task_first = self._task_count = 0
        # PIM side
        self.epoch_pim = 0
        self._ack_pending = False
        self._push_left = 0
        self._push_dropping = False
        self._pushed = self._pushed_tokens = 0
        self._bad_word = False
        self._freed_seen = SynchronizerGolden()
        self._popped_seen = SynchronizerGolden()
        # NPU side
        self.epoch_npu = 0
        self._flushing = False
        self._pop_left = 0
        self._pop_dropping = False
        self._held = False
        self._freed = self._popped = 0
        self._freed_gray = self._popped_gray = 0

    @property
    def credits(self) -> int:
        """Batches that may be pushed."""
        occupied = (self._pushed - ungray(self._freed_seen.value)) % (1 << self.params.credit_width)
        return self.params.draft_batches - occupied

    def step(self, pins: Mapping[str, int], clocks: int) -> dict[str, int]:
        """Take one edge of one domain or both.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            Bit 0 the PIM's edge, bit 1 the NPU's.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        before = self._state()
        pim, npu = bool(clocks & PIM), bool(clocks & NPU)
        outputs: dict[str, int] = {}
        word, entry_read = self._pim(pins, outputs, pim)
        entry, word_read = self._npu(pins, outputs, npu)
        self._draft.step(write_edge=pim, read_edge=npu, write=word, read=word_read)
        self._feedback.step(write_edge=npu, read_edge=pim, write=entry, read=entry_read)
        self.changed = self._state() != before
        return outputs

    def _pim(
        self, pins: Mapping[str, int], outputs: dict[str, int], edge: bool
    ) -> tuple[int | None, bool]:
        """Take the PIM side's edge; return the word that enters and whether an entry leaves."""
        params = self.params
        epoch = self.epoch_pim
        epochs = 1 << params.epoch_width

        # Feedback
        payload = self._feedback.data
        there = self._feedback.read_ready
        report_bits = sum(_report_widths(params))
        current = payload >> report_bits == epoch
        delivered = there and current and bool(pins["feedback_out__ready"])
        entry_read = there and (bool(pins["feedback_out__ready"]) or not current)

        # Words
        word = Word.unpack(pins["batch_in__payload"], params)
        good, passes = self._check(word)
        acknowledges = self._ack_pending and self._push_left == 0
        has_credit = self.credits != 0 or word.kind is not Kind.HEADER
        room = self._draft.write_ready
        ready = not passes or (not acknowledges and has_credit and room)
        taken = ready and bool(pins["batch_in__valid"])

        # Tasks
        task = self._tasks[self._task_first]
        task_current = task & (epochs - 1) == epoch
        has_task = self._task_count > 0
        task_room = self._task_count < params.preverify_entries

        tokens = 1 << params.waiting_width
        outputs |= {
            "batch_in__ready": int(ready),
            "feedback_out__valid": int(there and current),
            "feedback_out__payload": payload,
            "preverify_in__ready": int(task_room),
            "preverify_out__valid": int(has_task and task_current),
            "preverify_out__payload": task,
            "credits": self.credits,
            "waiting_tokens": (self._pushed_tokens - ungray(self._popped_seen.value)) % tokens,
            "epoch_pim": epoch,
            "bad_word": int(self._bad_word),
            "idle_pim": int(not (there or self._ack_pending or has_task)),
        }
        if not edge:
            return None, False

        entering = None
        if acknowledges and room:
            entering = Word(Kind.ACK, epoch).pack(params)
            self._ack_pending = False
        elif taken and passes:
            entering = pins["batch_in__payload"]
        if taken:
            self._count(word, good, passes)
        if delivered and Report.unpack(payload, params).rejects:
            self.epoch_pim = (epoch + 1) % epochs
            self._ack_pending = True
        if has_task and (pins["preverify_out__ready"] or not task_current):
            self._task_first = (self._task_first + 1) % params.preverify_entries
            self._task_count -= 1
        if task_room and pins["preverify_in__valid"]:
            # The count is the old one less what leaves now; the place is the same either way.
            last = self._task_first + self._task_count
            self._tasks[last % params.preverify_entries] = pins["preverify_in__payload"]
            self._task_count += 1
        self._freed_seen.step(self._freed_gray)
        self._popped_seen.step(self._popped_gray)
        return entering, entry_read

    def _check(self, word: Word) -> tuple[bool, bool]:
        """Tell whether a word is part of a batch or a cut, and whether it passes."""
        fresh = word.epoch == self.epoch_pim
        if word.kind is Kind.TOKEN:
            good = self._push_left > 0
            return good, good and not self._push_dropping
        good = self._push_left == 0 and word.kind is not Kind.ACK
        if word.kind is Kind.HEADER:
            good = good and 1 <= word.length <= self.params.batch_tokens
        return good, good and fresh

    def _count(self, word: Word, good: bool, passes: bool) -> None:
        """Follow the batch that a taken word belongs to."""
        if not good:
            self._bad_word = True
        elif word.kind is Kind.HEADER:
            self._push_left = word.length
            self._push_dropping = not passes
            self._pushed = (self._pushed + passes) % (1 << self.params.credit_width)
        elif word.kind is Kind.TOKEN:
            self._push_left -= 1
            tokens = 1 << self.params.waiting_width
            self._pushed_tokens = (self._pushed_tokens + passes) % tokens

    def _npu(
        self, pins: Mapping[str, int], outputs: dict[str, int], edge: bool
    ) -> tuple[int | None, bool]:
        """Take the NPU side's edge; return the entry that enters and whether a word leaves."""
        params = self.params

        # Words
        there = self._draft.read_ready
        word = Word.unpack(self._draft.data, params)
        fresh = self._held or word.epoch == self.epoch_npu
        if word.kind is Kind.TOKEN:
            delivers = not self._pop_dropping
        else:
            delivers = fresh and word.kind is not Kind.ACK
        valid = there and delivers
        word_read = there and (bool(pins["batch_out__ready"]) or not delivers)

        # Feedback
        report = Report.unpack(pins["feedback_in__payload"], params)
        ready = self._feedback.write_ready and not (report.rejects and self._flushing)

        outputs |= {
            "batch_out__valid": int(valid),
            "batch_out__payload": self._draft.data,
            "feedback_in__ready": int(ready),
            "epoch_npu": self.epoch_npu,
            "flushing": int(self._flushing),
            "idle_npu": int(not there),
        }
        if not edge:
            return None, False

        self._freed_gray = gray(self._freed)
        self._popped_gray = gray(self._popped)
        self._held = valid and not pins["batch_out__ready"]
        if word_read:
            if word.kind is Kind.HEADER:
                self._pop_left = word.length
                self._pop_dropping = not fresh
            elif word.kind is Kind.TOKEN:
                if self._pop_left <= 1:
                    self._freed = (self._freed + 1) % (1 << params.credit_width)
                self._pop_left = (self._pop_left - 1) % (1 << params.length_width)
                self._popped = (self._popped + 1) % (1 << params.waiting_width)
            elif word.kind is Kind.ACK:
                self._flushing = False
        entry = None
        if ready and pins["feedback_in__valid"]:
            report_bits = sum(_report_widths(params))
            entry = pins["feedback_in__payload"] | self.epoch_npu << report_bits
            if report.rejects:
                self.epoch_npu = (self.epoch_npu + 1) % (1 << params.epoch_width)
                self._flushing = True
        return entry, word_read

    def _state(self) -> tuple[object, ...]:
        """Every flip-flop; memories change only together with one of them."""
        return (
            self._draft.state,
            self._feedback.state,
            self._task_first,
            self._task_count,
            self.epoch_pim,
            self._ack_pending,
            self._push_left,
            self._push_dropping,
            self._pushed,
            self._pushed_tokens,
            self._bad_word,
            self._freed_seen.state,
            self._popped_seen.state,
            self.epoch_npu,
            self._flushing,
            self._pop_left,
            self._pop_dropping,
            self._held,
            self._freed,
            self._popped,
            self._freed_gray,
            self._popped_gray,
        )
