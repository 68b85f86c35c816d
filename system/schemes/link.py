# SPDX-License-Identifier: Apache-2.0
"""What stands between PIM sequencer and NPU: hardware, or nothing but a queue."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from ahasd.sim.kernel import Kernel
from ahasd.system.schemes.batch import Batch, Verdict

ANSWERS = ("predicted", "explored")
"""Causes of decisions that answer an offer; others release a stop, at any time."""


class PimSide(Protocol):
    """What a link tells the PIM sequencer, never within a call of the sequencer's own."""

    def on_decision(self, go: bool, cause: str) -> None:
        """Learn the decision on the batch on offer, or a release; `proceed` follows."""
        ...

    def proceed(self) -> None:
        """Go on after a decision."""
        ...

    def on_room(self) -> None:
        """Learn that `has_room` has become true."""
        ...

    def on_taken(self, batch: Batch) -> None:
        """Learn that a pass began with the batches up to this one."""
        ...

    def on_verdict(self, verdict: Verdict) -> None:
        """Take a verdict."""
        ...

    def on_draft_issue(self) -> None:
        """Learn that the ranks of the draft model may compute."""
        ...

    def on_answer(self, length: int) -> None:
        """Learn how many tokens to pre-verify; 0 is none."""
        ...

    def on_preverify_issue(self) -> None:
        """Learn that the ranks of the target model may compute."""
        ...


class NpuSide(Protocol):
    """What a link tells the NPU while it is open."""

    def accepts(self, batch: Batch) -> bool:
        """Return whether a batch may come now."""
        ...

    def on_batch(self, batch: Batch) -> None:
        """Take a batch."""
        ...

    def on_cut(self, batch: Batch, keep: int, branch: int) -> None:
        """Take the advice to verify only the first tokens of a batch, and none behind it.

        A batch of the given branch would start there.
        """
        ...

    def on_quiet(self) -> None:
        """Learn that nothing more is there, or nothing more is accepted."""
        ...


class Link(Protocol):
    """The seam of both sides."""

    @property
    def has_room(self) -> bool:
        """Whether a complete batch would not have to wait for its decision."""
        ...

    def connect(self, pim: PimSide, npu: NpuSide) -> None:
        """Name the two sides."""
        ...

    def boot(self, ready: Callable[[], None]) -> None:
        """Set everything up, then call `ready`."""
        ...

    def start_sequence(self) -> None:
        """Forget the history of the previous sequence; nothing is outstanding."""
        ...

    def offer(self, batch: Batch) -> None:
        """Ask for a grant: the batch is granted and pushed, or neither."""
        ...

    def begin_draft(self) -> bool:
        """Ask for the ranks of the draft model; False if the PIM has to wait for the issue."""
        ...

    def end_draft(self) -> None:
        """Give them back."""
        ...

    def open(self) -> None:
        """Let batches come to the NPU."""
        ...

    def start_pass(self, batches: Sequence[Batch], context: int) -> None:
        """Close, and tell that a pass began with these batches and a KV length."""
        ...

    def tell(self, verdict: Verdict, *, pass_ps: int | None, context: int) -> None:
        """Give a verdict; `pass_ps` is the duration of the pass that it ends, if it ends one."""
        ...


class Advisor(Protocol):
    """The part of a link that serves pre-verification."""

    def ask(self, *, branch: int, epoch: int, position: int, overhead: int, available: int) -> None:
        """Ask how many of the available tokens to pre-verify, beyond those in flight."""
        ...

    def end_preverify(self, time_ps: int, tokens: int | None) -> None:
        """Give the ranks back; `tokens` is None if it was broken off."""
        ...

    def cut(self, batch: Batch, keep: int, branch: int) -> None:
        """Advise to verify only the first tokens of a batch; a new branch starts behind them."""
        ...

    def measure_draft(self, time_ps: int, tokens: int) -> None:
        """Tell how long a batch took to draft."""
        ...


class Control(Protocol):
    """Drafting control beside an ideal queue.

    Answers come as calls of the function given to `listen`, never within the call that caused them.
    """

    def listen(self, decided: Callable[[bool, str], None]) -> None:
        """Register `decided(go, cause)`, called for every decision in order."""
        ...

    def draft(self, entropy_nats: float) -> None:
        """Offer a finished batch with its mean entropy [nat]."""
        ...

    def verdict(self, full: bool) -> None:
        """Give the verdict on the oldest outstanding batch."""
        ...

    def start_sequence(self) -> None:
        """Forget the history of the previous sequence."""
        ...


class AlwaysGo:
    """No control: every batch is granted and drafting goes on."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def listen(self, decided: Callable[[bool, str], None]) -> None:
        """See `Control`."""
        self._decided = decided

    def draft(self, entropy_nats: float) -> None:
        """See `Control`."""
        self._kernel.after(0, self._decided, True, "predicted")

    def verdict(self, full: bool) -> None:
        """See `Control`; nothing depends on it."""

    def start_sequence(self) -> None:
        """See `Control`; there is no history."""


class IdealLink:
    """A queue that costs no time, of a limited depth: a synchronous system needs no more.

    Parameters
    ----------
    kernel
        Of the simulation.
    control
        Grants batches.
    depth
        Batches that the queue holds.
    max_outstanding
        Batches that the control can have in flight; None for no limit.
    """

    def __init__(
        self,
        kernel: Kernel,
        control: Control,
        *,
        depth: int = 8,
        max_outstanding: int | None = None,
    ) -> None:
        self._kernel = kernel
        self._control = control
        self._depth = depth
        self._max_outstanding = max_outstanding
        self._queue: deque[Batch] = deque()
        self._offered: Batch | None = None
        self._outstanding = 0
        self._open = True
        # Verdicts wait while the control decides, so that a batch and the flush of its epoch
        # cannot cross on the way.
        self._inbox: deque[Verdict] = deque()
        control.listen(self._on_decision)

    def connect(self, pim: PimSide, npu: NpuSide) -> None:
        """See `Link`."""
        self._pim, self._npu = pim, npu

    def boot(self, ready: Callable[[], None]) -> None:
        """See `Link`."""
        ready()

    @property
    def has_room(self) -> bool:
        """See `Link`."""
        return len(self._queue) < self._depth and (
            self._max_outstanding is None or self._outstanding < self._max_outstanding
        )

    def start_sequence(self) -> None:
        """See `Link`."""
        self._control.start_sequence()

    def offer(self, batch: Batch) -> None:
        """See `Link`."""
        self._offered = batch
        self._control.draft(batch.mean_entropy_nats)

    def begin_draft(self) -> bool:
        """See `Link`."""
        return True

    def end_draft(self) -> None:
        """See `Link`."""

    def open(self) -> None:
        """See `Link`."""
        self._open = True
        self._drain()

    def start_pass(self, batches: Sequence[Batch], context: int) -> None:
        """See `Link`."""
        self._open = False

    def tell(self, verdict: Verdict, *, pass_ps: int | None, context: int) -> None:
        """See `Link`."""
        # Not within this event: the two sides run concurrently and see each other's past.
        self._kernel.after(0, self._deliver, verdict)

    def _drain(self) -> None:
        while self._open and self._queue and self._npu.accepts(self._queue[0]):
            self._npu.on_batch(self._queue.popleft())
        if self._open:
            self._npu.on_quiet()

    def _on_decision(self, go: bool, cause: str) -> None:
        batch = None
        if cause in ANSWERS:
            batch, self._offered = self._offered, None
        self._pim.on_decision(go, cause)
        if batch is not None:
            self._outstanding += 1
            self._queue.append(batch)
            self._drain()
            while self._inbox and self._offered is None:  # a verdict may bring the next offer
                self._deliver(self._inbox.popleft())
        self._pim.proceed()

    def _deliver(self, verdict: Verdict) -> None:
        if self._offered is not None:
            self._inbox.append(verdict)
            return
        self._outstanding = 0 if verdict.outcome == "rejected" else self._outstanding - 1
        if verdict.outcome == "rejected":
            self._queue = deque(b for b in self._queue if b.epoch > verdict.batch.epoch)
        self._control.verdict(verdict.outcome == "full")
        self._pim.on_verdict(verdict)
