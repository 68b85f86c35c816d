# SPDX-License-Identifier: Apache-2.0
"""The PIM sequencer: drafts batches, asks the drafting control, and follows the verdicts."""

from collections import deque

from ahasd.sim.kernel import Event, Kernel
from ahasd.sim.ports import Control
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.drafting.base import Drafting, DraftToken, Outcome
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.npu import NpuVerifier
from ahasd.system.workload.playback import DraftChain, Playback, TargetStream

PIM_STATES = {
    "drafting": "busy",
    "deciding": "blocked",  # a finished batch waits for its grant
    "full": "blocked",  # a finished batch waits for room in the queue or in the EDC
    "stopped": "idle",  # by the EDC
    "waiting": "idle",  # a synchronous scheme waits for the verdict
    "seam": "idle",  # the request is drafted to its end
}


class PimSequencer:
    """Draft along one chain, batch by batch, ahead of the NPU as far as the scheme allows.

    Parameters
    ----------
    kernel, stream, devices, ledger
        What it works with.
    drafting
        Ends the batches.
    control
        Grants each batch and says whether to draft ahead of it.
    npu
        Takes the granted batches.
    playback
        With `requests` every request is a sequence of its own, for rule and control.
    queue_depth
        Batches that the draft queue holds.
    max_outstanding
        Batches that the control can have in flight; None for no limit.
    ahead
        False waits for the verdict on every batch before it drafts the next: synchronous.
    has_edc
        Whether decisions are predictions that go into the confusion matrix.
    """

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: AnalyticDevices,
        ledger: Ledger,
        drafting: Drafting,
        control: Control,
        npu: NpuVerifier,
        *,
        playback: Playback,
        queue_depth: int,
        max_outstanding: int | None,
        ahead: bool,
        has_edc: bool,
    ) -> None:
        self.activity = Activity(PIM_STATES, "waiting")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._ledger = ledger
        self._drafting = drafting
        self._control = control
        self._npu = npu
        self._separate = playback == "requests"
        self._queue_depth = queue_depth
        self._max_outstanding = max_outstanding
        self._ahead = ahead
        self._has_edc = has_edc

        self._chain = DraftChain(stream, 0)
        self._instance = 0
        self._committed = 0
        self._epoch = 0
        self._batches = 0
        self._step: Event | None = None
        self._tokens: list[DraftToken] = []  # of the unfinished batch
        self._finished: Batch | None = None  # complete, not granted yet
        self._offered = False  # the control is thinking about it
        self._stopped = False
        self._outstanding: deque[Batch] = deque()
        self._bonus: tuple[int, int] | None = None  # position and token
        # Verdicts wait while the control decides, so that a batch and the flush of its epoch
        # cannot cross on the way.
        self._inbox: deque[Verdict] = deque()
        control.listen(self._on_decision)
        npu.connect(self)

    @property
    def in_flight(self) -> int:
        """Drafted tokens without a fate."""
        batches = [*self._outstanding, *([self._finished] if self._finished else [])]
        return sum(len(batch.tokens) for batch in batches) + len(self._tokens)

    def start(self) -> None:
        """Begin to draft."""
        self._drafting.begin_request()
        self._advance()

    def on_verdict(self, verdict: Verdict) -> None:
        """Take a verdict from the NPU."""
        if self._offered:
            self._inbox.append(verdict)
        else:
            self._judge(verdict)
            self._advance()

    def _rest(self, state: str) -> None:
        self.activity.enter(state, self._kernel.now_ps)

    def _advance(self) -> None:
        """Do the next thing that can be done, if nothing is being done."""
        if self._step is not None or self._offered:
            return
        if self._finished is None and self._tokens and self._chain.at_end:
            self._finish(len(self._tokens))  # a held-back token, the request's last
        if self._finished is not None:
            self._offer(self._finished)
        elif self._stopped:
            self._rest("stopped")
        elif self._outstanding and not self._ahead:
            self._rest("waiting")
        elif self._chain.at_end and self._committed < self._chain.position:
            self._rest("seam")
        elif self._committed < self._stream.length:
            if self._chain.at_end:
                self._restart(self._committed)
            self._draft()

    def _draft(self) -> None:
        """Start a draft step."""
        position = self._chain.position
        instance = self._stream.instance(position)
        if instance != self._instance:
            self._instance = instance
            if self._separate:
                self._drafting.begin_request()
                self._control.start_sequence()
        self._rest("drafting")
        duration_ps = self._devices.draft_step_ps(self._stream.context(position))
        self._step = self._kernel.after(duration_ps, self._on_step)

    def _on_step(self) -> None:
        self._step = None
        position = self._chain.position
        token = self._chain.next()
        self._ledger.drafted += 1
        self._ledger.off_trace += token.off_trace
        if self._bonus == (position, token.token) or position >= self._committed:
            self._tokens.append(token)
            outcome = self._drafting.observe(token)
            if outcome is Outcome.STOP_DROP:
                # The token that tripped the rule opens the next batch: it is drafted already.
                self._finish(len(self._tokens) - 1)
                self._drafting.observe(token)
            elif outcome is Outcome.STOP_KEEP or self._chain.at_end:
                self._finish(len(self._tokens))
        else:  # the bonus token, which came meanwhile, is another one
            self._ledger.flushed += 1
            self._restart(self._committed)
        self._advance()

    def _finish(self, length: int) -> None:
        """Make a batch of the first tokens."""
        self._drafting.begin_batch()
        start = self._chain.position - len(self._tokens)
        self._finished = Batch(self._batches, self._epoch, start, self._tokens[:length])
        self._tokens = self._tokens[length:]
        self._batches += 1

    def _offer(self, batch: Batch) -> None:
        """Ask for a grant, if there is room for the batch: it is granted and pushed, or neither."""
        has_room = self._npu.queued < self._queue_depth and (
            self._max_outstanding is None or len(self._outstanding) < self._max_outstanding
        )
        if has_room:
            self._offered = True
            self._control.draft(batch.mean_entropy_nats)
        self._rest("deciding" if has_room else "full")

    def _on_decision(self, go: bool, cause: str) -> None:
        self._ledger.decisions[cause if cause != "predicted" else "go" if go else "stop"] += 1
        self._stopped = not go
        if self._offered:
            batch = self._finished
            assert batch is not None
            self._finished = None
            self._offered = False
            if self._has_edc:
                batch.predicted_go = go and cause == "predicted"
            self._outstanding.append(batch)
            self._npu.push(batch)
            while self._inbox:
                self._judge(self._inbox.popleft())
        self._advance()

    def _judge(self, verdict: Verdict) -> None:
        batch = self._outstanding.popleft()
        assert batch is verdict.batch, "verdicts must come oldest first"
        self._drafting.feedback(len(batch.tokens), verdict.accepted)
        self._control.verdict(verdict.full)
        self._committed = verdict.committed
        self._ledger.accepted += verdict.accepted
        if verdict.full:
            self._ledger.judged_full += 1
            self._record(batch, "full")
            if verdict.bonus is not None:
                self._compare(verdict.committed - 1, verdict.bonus)
        else:
            self._ledger.judged_rejected += 1
            self._ledger.rejected += len(batch.tokens) - verdict.accepted
            self._record(batch, "rejected")
            self._flush()
            self._epoch += 1
            self._restart(verdict.committed)

    def _compare(self, position: int, bonus: int) -> None:
        """Compare the bonus token with what was drafted at its position."""
        self._bonus = position, bonus
        if self._outstanding:
            return  # the NPU has that batch and compares it itself
        drafted = self._finished.tokens if self._finished else self._tokens
        if drafted:
            if drafted[0].token != bonus:
                self._flush()
                self._restart(position + 1)
        elif self._step is None:
            self._restart(position + 1)
        # Else the step that is under way drafts this very position, and is compared at its end.

    def _flush(self) -> None:
        """Throw away everything drafted that was not judged."""
        self._ledger.flushed += self.in_flight
        for batch in self._outstanding:
            self._record(batch, "flushed")
        self._outstanding.clear()

    def _record(self, batch: Batch, fate: str) -> None:
        if batch.predicted_go is not None:
            self._ledger.edc["go" if batch.predicted_go else "stop", fate] += 1

    def _restart(self, position: int) -> None:
        """Draft from a position on, with nothing drafted beyond it."""
        if self._step is not None:
            self._step.cancel()
            self._step = None
        self._tokens = []
        self._finished = None
        self._bonus = None
        self._drafting.begin_batch()
        self._chain = DraftChain(self._stream, position)
