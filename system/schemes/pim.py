# SPDX-License-Identifier: Apache-2.0
"""The PIM sequencer: drafts batches, follows decisions and verdicts, and pre-verifies."""

from collections import Counter, deque

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.machine import Job, Machine
from ahasd.system.drafting.base import Drafting, DraftToken, Judged, Outcome
from ahasd.system.energy.account import Fate
from ahasd.system.metrics.log import End
from ahasd.system.schemes.activity import Activity, Kind
from ahasd.system.schemes.batch import Batch, Verdict, drafted
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import ANSWERS, Link
from ahasd.system.schemes.prefill import Prefiller
from ahasd.system.schemes.preverify import Preverification
from ahasd.system.workload.playback import DraftChain, Playback, TargetStream

PIM_STATES: dict[str, Kind] = {
    "drafting": "busy",
    "preverifying": "busy",
    "deciding": "blocked",  # a finished batch waits for its grant
    "asking": "blocked",  # the TVC decides whether to pre-verify
    "switching": "blocked",  # a task waits for its ranks
    "full": "blocked",  # a finished batch waits for room in the queue or in the EDC
    "stopped": "idle",  # by the EDC
    "waiting": "idle",  # for verdicts: on the last batch, or on a chain that was given up
    "seam": "idle",  # the request is drafted to its end
    "prefilling": "idle",  # the NPU reads the prompt
}


class PimSequencer:
    """Draft along one chain, batch by batch, ahead of the NPU as far as the scheme allows.

    Parameters
    ----------
    kernel, stream, devices, machine, ledger
        What it works with.
    drafting
        Ends the batches.
    link
        The way to the NPU: grants each batch, says whether to draft ahead of it, brings verdicts.
    prefiller
        Reads the prompts.
    playback
        With `requests` every request is a sequence of its own, for rule and control.
    ahead
        False waits for the verdict on every batch before it drafts the next: synchronous.
    has_edc
        Whether decisions are predictions that go into the confusion matrix.
    preverification
        Asks and runs pre-verifications; None without.
    max_batch
        Longest batch that the link carries.
    """

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: Devices,
        machine: Machine,
        ledger: Ledger,
        drafting: Drafting,
        link: Link,
        prefiller: Prefiller,
        *,
        playback: Playback,
        ahead: bool,
        has_edc: bool,
        preverification: Preverification | None = None,
        max_batch: int = 16,
    ) -> None:
        self.activity = Activity(PIM_STATES, "waiting")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._machine = machine
        self._ledger = ledger
        self._drafting = drafting
        self._link = link
        self._prefiller = prefiller
        self._separate = playback == "requests"
        self._ahead = ahead
        self._has_edc = has_edc
        self._max_batch = max_batch
        self._pre = preverification

        self._chain = DraftChain(stream, 0)
        self._instance = 0
        self._committed = 0
        self._epoch = 0
        self._branch = 0
        self._batches = 0
        self._step: Job | None = None
        self._prefilling = False
        self._may_draft = False  # the ranks of the draft model are ours
        self._asked_ranks = False
        self._batch_ps = self._batch_steps = 0  # of the batch that is being drafted
        self._begun_ps = 0  # likewise
        self._tokens: list[DraftToken] = []  # of the unfinished batch
        self._finished: Batch | None = None  # complete, not granted yet
        self._survivors: deque[list[DraftToken]] = deque()  # to be batches after it
        self._offered = False  # the control is thinking about it
        self._stopped = False
        self._outstanding: deque[Batch] = deque()
        self._bonus: tuple[int, int] | None = None  # position and token
        self._giving_up = False  # the chain is dead, and what was sent has no verdict yet
        self._halted = False

    def start(self) -> None:
        """Begin to draft, behind the prompt."""
        self._drafting.begin_request()
        self._prefill(0)

    def _prefill(self, position: int) -> None:
        self._prefilling = True
        self._rest("prefilling")
        self._prefiller.run(position, self._on_prefilled)

    def _on_prefilled(self) -> None:
        self._prefilling = False
        self._advance()

    def halt(self) -> None:
        """Begin nothing any more; what is under way in the link still arrives and is counted."""
        self._halted = True
        self._cancel_step("in_flight")
        if self._pre:
            self._pre.halt()

    def _cancel_step(self, fate: Fate = "flushed") -> None:
        if self._step is not None:
            self._step.cancel()
            self._ledger.count_abandoned(fate, self._step)
            self._step = None

    @property
    def in_flight(self) -> int:
        """Drafted tokens without a fate."""
        sent = sum(drafted(batch.tokens) for batch in self._outstanding)
        return sent + self._unsent_count()

    def in_flight_contexts(self) -> Counter[int]:
        """Return the KV lengths at which the tokens in flight were drafted."""
        chunks = [(batch.start, batch.tokens) for batch in self._outstanding]
        chunks += self._chunks()[len(self._outstanding) :]
        return Counter(
            self._stream.context(start + i)
            for start, tokens in chunks
            for i, token in enumerate(tokens)
            if not token.hint
        )

    def _unsent_count(self) -> int:
        """Drafted tokens without a fate that have not been pushed."""
        unsent = [*self._survivors, self._tokens]
        if self._finished:
            unsent.append(self._finished.tokens)
        return sum(map(drafted, unsent))

    @property
    def epoch(self) -> int:
        """Rejections so far."""
        return self._epoch

    @property
    def branch(self) -> int:
        """Number of the present chain."""
        return self._branch

    @property
    def committed(self) -> int:
        """Positions that are out, as far as is known here."""
        return self._committed

    def _chunks(self) -> list[tuple[int, list[DraftToken]]]:
        """Return the present chain as far as it has no verdict: starts, and tokens from there on.

        A chunk is what was, or would be, a batch; some may be empty.
        """
        batches = [*self._outstanding, *([self._finished] if self._finished else [])]
        found = [(batch.start, batch.tokens[: batch.kept]) for batch in batches]
        position = self._chain.position - len(self._tokens) - sum(map(len, self._survivors))
        for tokens in (*self._survivors, self._tokens):
            found.append((position, tokens))
            position += len(tokens)
        return found

    def chain(self) -> list[tuple[int, DraftToken]]:
        """Return the same, position by position."""
        return [
            (start + i, token) for start, tokens in self._chunks() for i, token in enumerate(tokens)
        ]

    # What the link tells.

    def on_decision(self, go: bool, cause: str) -> None:
        """See `PimSide`."""
        self._ledger.decisions[cause if cause != "predicted" else "go" if go else "stop"] += 1
        self._stopped = not go
        if self._stopped and self._pre:
            self._pre.may_ask = True
        if self._offered and cause in ANSWERS:
            batch = self._finished
            assert batch is not None
            self._finished = None
            self._offered = False
            if self._has_edc:
                batch.predicted_go = go and cause == "predicted"
            self._outstanding.append(batch)

    def proceed(self) -> None:
        """See `PimSide`."""
        self._advance()

    def on_room(self) -> None:
        """See `PimSide`."""
        self._advance()

    def on_taken(self, batch: Batch) -> None:
        """See `PimSide`."""
        if self._pre:
            self._pre.on_taken(batch)
            self._advance()

    def on_verdict(self, verdict: Verdict) -> None:
        """See `PimSide`."""
        self._judge(verdict)
        if self._committed == self._stream.length:
            self._kernel.stop()
        else:
            self._advance()

    def on_draft_issue(self) -> None:
        """See `PimSide`."""
        self._asked_ranks = False
        self._may_draft = True
        if self._offered or (self._pre and self._pre.active):
            self._may_draft = False  # there is no use for them any more
            self._link.end_draft()
        else:
            self._advance()

    def on_answer(self, length: int) -> None:
        """See `PimSide`."""
        assert self._pre is not None
        if self._pre.on_answer(length):
            self._rest("switching")
            return
        if self._stopped and self._pre.continues:
            self._stopped = False
        self._advance()

    def on_preverify_issue(self) -> None:
        """See `PimSide`."""
        assert self._pre is not None
        if self._pre.on_issue():
            self._rest("preverifying")

    def on_preverified(self, wrong: tuple[int, int] | None) -> None:
        """Learn the end of a pre-verification, and the first position it found wrong and its token.

        A token found wrong is replaced by the target model's own, and drafting goes on from there.
        """
        if wrong is not None:
            self._branch_off(*wrong)
        self._advance()

    def _rest(self, state: str) -> None:
        if state != "drafting" and self._may_draft:
            self._may_draft = False
            self._link.end_draft()
        self.activity.enter(state, self._kernel.now_ps)

    def _advance(self) -> None:
        """Do the next thing that can be done, if nothing is being done."""
        if self._halted or self._prefilling or self._offered or (self._pre and self._pre.active):
            return
        if self._giving_up:
            if self._outstanding:
                self._rest("waiting")
                return
            self._restart(self._committed)
        if self._finished is None and self._survivors:
            tokens = self._survivors.popleft()
            rest = sum(map(len, self._survivors)) + len(self._tokens)
            self._make_batch(tokens, self._chain.position - rest - len(tokens))
        if self._finished is None and self._tokens and self._chain.at_end:
            self._finish(len(self._tokens), "request_end")  # a held-back token, the last
        if self._finished is not None:
            self._offer(self._finished)
        elif self._step is not None:
            return
        elif self._stopped:
            if not self._asks():
                self._rest("stopped")
        elif self._outstanding and not self._ahead:
            self._rest("waiting")
        elif self._chain.at_end and self._committed < self._chain.position:
            self._rest("seam")
        elif self._committed < self._stream.length:
            if self._chain.at_end:
                self._restart(self._committed)
            self._draft()

    def _asks(self) -> bool:
        """Ask for a pre-verification, if that may change anything."""
        if self._pre is None or not self._pre.may_ask:
            return False
        self._pre.ask()
        self._rest("asking")
        return True

    def _draft(self) -> None:
        """Start a draft step, once the ranks are there."""
        if not self._may_draft:
            self._may_draft = not self._asked_ranks and self._link.begin_draft()
            if not self._may_draft:
                self._asked_ranks = True
                self.activity.enter("switching", self._kernel.now_ps)
                return
        position = self._chain.position
        instance = self._stream.instance(position)
        if instance != self._instance:
            self._instance = instance
            if self._separate:
                self._drafting.begin_request()
                self._link.start_sequence()
                self._prefill(position)
                return
        if not (self._ahead or self._tokens) and self._drafting.skips(self._chain.next_right):
            self._ledger.log.batches["rule", 0] += 1
            self._make_batch([], position)
            self._advance()
            return
        self._rest("drafting")
        if not self._batch_steps:
            self._begun_ps = self._kernel.now_ps
        task = self._devices.draft(self._stream.context(position))
        self._step = self._machine.begin("pim", task, self._on_step)

    def _on_step(self) -> None:
        assert self._step is not None
        step_ps = self._step.elapsed_ps
        self._step = None
        position = self._chain.position
        token = self._chain.next()
        self._ledger.drafted += 1
        self._ledger.log.generated[self._instance] += 1
        self._ledger.draft_steps[self._stream.context(position)] += 1
        self._ledger.off_trace += token.off_trace
        self._batch_ps += step_ps
        self._batch_steps += 1
        if self._bonus == (position, token.token) or position >= self._committed:
            self._tokens.append(token)
            place = self._drafting.index + 1
            outcome = self._drafting.observe(token)
            if outcome is Outcome.STOP_DROP:
                # The token that tripped the rule opens the next batch: it is drafted already.
                self._finish(len(self._tokens) - 1, "rule")
                self._drafting.observe(token)
            elif outcome is Outcome.STOP_KEEP:
                self._finish(len(self._tokens), "rule" if place < self._drafting.k_max else "cap")
            elif self._chain.at_end:
                self._finish(len(self._tokens), "request_end")
            elif len(self._tokens) == self._max_batch:
                self._finish(len(self._tokens), "link")
        else:  # the bonus token, which came meanwhile, is another one
            self._ledger.flushed += 1
            self._give_up()
        self._advance()

    def _finish(self, length: int, end: End) -> None:
        """Make a batch of the first tokens."""
        self._drafting.begin_batch()
        tokens, self._tokens = self._tokens[:length], self._tokens[length:]
        self._ledger.log.batches[end, drafted(tokens)] += 1
        if self._pre and self._batch_steps:
            self._pre.measure_draft(self._batch_ps, self._batch_steps)
            self._pre.may_ask = True
        self._batch_ps = self._batch_steps = 0
        if self._finished is None and not self._survivors:
            self._make_batch(tokens, self._chain.position - len(self._tokens) - length)
        else:
            self._survivors.append(tokens)  # those before it go first

    def _make_batch(self, tokens: list[DraftToken], start: int) -> None:
        self._finished = Batch(
            self._batches,
            self._epoch,
            self._branch,
            start,
            tokens,
            begun_ps=self._begun_ps,
        )
        self._batches += 1

    def _offer(self, batch: Batch) -> None:
        """Ask for a grant, if there is room for the batch: it is granted and pushed, or neither.

        Only survivors of a rejection are offered while a draft step is under way.
        """
        if self._link.has_room:
            self._offered = True
            if self._step is None:
                self._rest("deciding")
            self._link.offer(batch)
        elif self._step is None and not self._asks():
            self._rest("full")

    def _judge(self, verdict: Verdict) -> None:
        batch = self._outstanding.popleft()
        assert batch is verdict.batch, "verdicts must come oldest first"
        ledger = self._ledger
        right, wrong = batch.tokens[: verdict.accepted], batch.tokens[verdict.accepted :]
        own = tuple(token for token in batch.tokens if not token.hint)
        if verdict.outcome != "void" and own:
            round_ps = self._kernel.now_ps - batch.begun_ps
            self._drafting.feedback(Judged(own, drafted(right), round_ps))
            ledger.log.note_policy(
                self._stream.instance(batch.start), self._drafting.rule.adapted()
            )
        ledger.accepted += drafted(right)
        for i, token in enumerate(batch.tokens):
            steps = ledger.accepted_steps if i < len(right) else ledger.rejected_steps
            if not token.hint and (i < len(right) or verdict.outcome == "rejected"):
                steps[self._stream.context(batch.start + i)] += 1
        ledger.accepted_hints += len(right) - drafted(right)
        self._record(batch, verdict.outcome)
        if self._pre:
            self._pre.on_judged(batch, bool(right))
        if verdict.outcome == "rejected":
            ledger.judged_rejected += 1
            ledger.rejected += drafted(wrong)
            self._reject(verdict)
            return
        if verdict.outcome == "full":
            ledger.judged_full += 1
        else:
            ledger.judged_void += 1
            ledger.flushed += drafted(wrong)
            if len(right) < batch.kept:  # no cut of ours: the NPU holds its branch to be dead
                self._give_up()
            if not right:
                return
        self._committed = verdict.committed
        if self._giving_up:
            return
        overlap = sum(position < self._committed for position, _ in self.chain())
        if overlap > 1:  # a branch that starts at a wrong prediction: the NPU went past it
            self._give_up()
        elif overlap or verdict.next_token is not None:
            last = right[-1].token if verdict.next_token is None else verdict.next_token
            self._compare(last)

    def _reject(self, verdict: Verdict) -> None:
        """Begin an epoch: with what the branch that foresaw the rejection holds, or with nothing.

        Such a branch starts at the rejected position with the token that the NPU put there.
        """
        self._epoch += 1
        self._committed = verdict.committed
        self._stopped = False
        for batch in self._outstanding:
            self._record(batch, "flushed")
        place = self._committed - 1
        if self._pre:
            self._pre.cancel()
        if (place, verdict.next_token) in ((at, token.token) for at, token in self.chain()):
            kept = [tokens[max(0, self._committed - start) :] for start, tokens in self._chunks()]
            in_flight = self.in_flight
            self._tokens = kept.pop()
            self._survivors = deque(tokens for tokens in kept if tokens)
            self._finished = None
            self._offered = False
            self._outstanding.clear()
            self._ledger.flushed += in_flight - self.in_flight
            self._branch += 1
            if self._pre:
                self._pre.on_survival()
        else:
            self._ledger.flushed += self.in_flight
            self._outstanding.clear()
            self._finished = None
            self._offered = False
            self._restart(self._committed)

    def _compare(self, token: int) -> None:
        """Compare the last token that is out with what was drafted at its position."""
        position = self._committed - 1
        self._bonus = position, token
        coming = [
            *self._outstanding,
            *([self._finished] if self._finished and self._offered else []),
        ]
        if any(batch.kept for batch in coming):
            return  # the NPU has that batch, or will have it, and compares it itself
        found = dict(self.chain())
        if position in found:
            if found[position].token != token:
                self._give_up()
        elif self._step is None:
            self._give_up()
        # Else the step that is under way drafts this very position, and is compared at its end.

    def _branch_off(self, position: int, token: int) -> None:
        """Go on with the target model's own token at a position of the chain."""
        assert self._pre is not None
        hint = DraftToken(token, 0.0, 1.0, 1.0, 0.0, hint=True)
        cut = None
        for batch in self._outstanding:
            if batch.start <= position < batch.start + batch.kept:
                cut = batch
            if cut is not None:
                batch.kept = min(batch.kept, max(0, position - batch.start))
        if cut is not None:
            self._forget_unsent()
            self._restart(position + 1, self._stream.segment_end(position))
            self._pre.cut(cut, position - cut.start, self._branch)
        else:
            # Nothing of it was sent: the chain goes on without a new branch.
            sent = len(self._outstanding)
            kept = [tokens[: max(0, position - at)] for at, tokens in self._chunks()[sent:]]
            branch, in_flight = self._branch, self.in_flight
            self._restart(position + 1, self._stream.segment_end(position))
            self._finished = None
            self._branch = branch
            self._survivors = deque(tokens for tokens in kept if tokens)
            self._ledger.flushed += in_flight - self.in_flight
        self._tokens = [hint]
        self._stopped = False

    def _give_up(self) -> None:
        """Leave the present chain, and draft from what is out once all that was sent is judged.

        Of what was withdrawn, the NPU may take some before it reads the cut.
        """
        self._forget_unsent()
        for batch in self._outstanding:
            batch.kept = 0
        self._giving_up = True

    def _forget_unsent(self) -> None:
        """Throw away what has not been pushed; a batch on offer cannot be called back."""
        gone = self._unsent_count()
        if self._offered:
            assert self._finished is not None
            gone -= drafted(self._finished.tokens)
            self._finished.kept = 0
        else:
            self._finished = None
        self._ledger.flushed += gone
        self._tokens = []
        self._survivors.clear()
        self._cancel_step()

    def _record(self, batch: Batch, fate: str) -> None:
        if batch.predicted_go is not None:
            self._ledger.edc["go" if batch.predicted_go else "stop", fate] += 1

    def _restart(self, position: int, end: int | None = None) -> None:
        """Draft from a position on, as a new branch, with nothing drafted beyond it.

        A chain that goes on behind a hint ends with the hint's request, which may be right there.
        """
        self._cancel_step()
        self._tokens = []
        self._survivors.clear()
        self._bonus = None
        self._giving_up = False
        self._branch += 1
        self._batch_ps = self._batch_steps = 0
        self._drafting.begin_chain()
        self._chain = DraftChain(self._stream, position, end)
