# SPDX-License-Identifier: Apache-2.0
"""The NPU: verifies drafted chains, or decodes alone. Only the NPU emits tokens."""

from collections import deque
from collections.abc import Callable
from typing import Literal, Protocol

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.workload.playback import TargetStream

Take = Literal["all", "one"]
Bonus = Literal["compare", "drop"]

NPU_STATES = {"verifying": "busy", "starved": "idle"}


class Drafter(Protocol):
    """What the NPU tells the PIM side."""

    def on_verdict(self, verdict: Verdict) -> None:
        """Take a verdict; they come oldest batch first.

        With a verdict the draft queue may have room again: the NPU takes batches when it is free.
        """
        ...


class Emitter:
    """The sequence that the NPU has emitted.

    Parameters
    ----------
    kernel
        Stopped when the last token is out.
    stream
        The target.
    progress
        Called with the number of tokens emitted so far.
    """

    def __init__(
        self, kernel: Kernel, stream: TargetStream, progress: Callable[[int], None]
    ) -> None:
        self.tokens: list[int] = []
        self._kernel = kernel
        self._stream = stream
        self._progress = progress

    @property
    def committed(self) -> int:
        """Next position to emit."""
        return len(self.tokens)

    @property
    def complete(self) -> bool:
        """Whether every token is out."""
        return len(self.tokens) == self._stream.length

    def flush(self) -> None:
        """Tell how far the run is, and stop it after the last token."""
        self._progress(len(self.tokens))
        if self.complete:
            self._kernel.after(0, self._kernel.stop)  # behind the last verdicts


class NpuDecoder:
    """Autoregressive decoding with the target model, one token a pass."""

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: AnalyticDevices,
        ledger: Ledger,
        emitter: Emitter,
    ) -> None:
        self.activity = Activity(NPU_STATES, "verifying")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._ledger = ledger
        self._emitter = emitter

    def start(self) -> None:
        """Begin the first pass."""
        context = self._stream.context(self._emitter.committed)
        self._kernel.after(self._devices.pass_ps(1, context), self._on_pass)

    def _on_pass(self) -> None:
        self._ledger.passes += 1
        self._ledger.rows += 1
        self._emitter.tokens.append(self._stream.target(self._emitter.committed))
        self._emitter.flush()
        if not self._emitter.complete:
            self.start()


class NpuVerifier:
    """Take queued batches of one chain, verify them in one pass, emit, give verdicts.

    The draft queue is ideal here: a batch is visible at once, and only its depth is real.

    Parameters
    ----------
    kernel, stream, devices, ledger, emitter
        What it works with.
    pass_tokens
        Cap on the tokens of the batches taken into one pass. It never splits a batch; the first
        may exceed it alone.
    take
        `all` takes what the cap allows, `one` a single batch.
    bonus
        `compare`: the target's token after a chain accepted in full is emitted at once; if the
        next batch was drafted from before it, its first token is compared with it. `drop`: it is
        not emitted, the next pass judges that position.
    """

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: AnalyticDevices,
        ledger: Ledger,
        emitter: Emitter,
        *,
        pass_tokens: int,
        take: Take,
        bonus: Bonus,
    ) -> None:
        self.activity = Activity(NPU_STATES, "starved")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._ledger = ledger
        self._emitter = emitter
        self._pass_tokens = pass_tokens
        self._take = take
        self._bonus = bonus
        self._queue: deque[Batch] = deque()
        self._busy = False
        self._epoch = 0

    def connect(self, drafter: Drafter) -> None:
        """Name the PIM side."""
        self._drafter = drafter

    @property
    def queued(self) -> int:
        """Occupied slots of the draft queue."""
        return len(self._queue)

    def push(self, batch: Batch) -> None:
        """Queue a batch."""
        self._queue.append(batch)
        self._begin()

    def _tell(self, verdict: Verdict) -> None:
        # Not within this event: the two sides run concurrently and see each other's past.
        self._kernel.after(0, self._drafter.on_verdict, verdict)

    def _begin(self) -> None:
        """Start a pass if free; settle first what needs none."""
        while not self._busy and self._queue:
            if self._queue[0].epoch < self._epoch:
                self._queue.popleft()
                continue
            first = self._queue[0]
            committed = self._emitter.committed
            known = committed - first.start
            if known not in ((0, 1) if self._bonus == "compare" else (0,)):
                raise AssertionError(
                    f"batch {first.number} starts at {first.start}, but {committed} tokens are out"
                )
            if known and first.tokens[0].token != self._emitter.tokens[-1]:
                self._queue.popleft()
                self._epoch += 1
                self._tell(Verdict(first, 0, committed))
                continue
            self._ledger.confirmed_bonuses += known
            if known == len(first.tokens):
                self._queue.popleft()
                self._tell(Verdict(first, known, committed))
                continue
            self._start_pass(known)

    def _start_pass(self, known: int) -> None:
        taken = [self._queue.popleft()]
        length = len(taken[0].tokens)
        while self._take == "all" and self._queue:
            length += len(self._queue[0].tokens)
            if length > self._pass_tokens or self._queue[0].epoch < self._epoch:
                break
            taken.append(self._queue.popleft())
        # The last emitted token goes in too: its key and value are not in the cache yet.
        rows = 1 + sum(len(batch.tokens) for batch in taken) - known
        self._ledger.passes += 1
        self._ledger.rows += rows
        self._busy = True
        self.activity.enter("verifying", self._kernel.now_ps)
        context = self._stream.context(self._emitter.committed)
        self._kernel.after(self._devices.pass_ps(rows, context), self._on_pass, taken, known)

    def _on_pass(self, taken: list[Batch], known: int) -> None:
        self._busy = False
        self.activity.enter("starved", self._kernel.now_ps)
        emitted = self._emitter.tokens
        segment_end = self._stream.segment_end(len(emitted))
        for batch in taken:
            accepted = known
            known = 0
            for token in batch.tokens[accepted:]:
                if token.token != self._stream.target(len(emitted)):
                    break
                emitted.append(token.token)
                accepted += 1
            if accepted < len(batch.tokens):
                emitted.append(self._stream.target(len(emitted)))
                self._ledger.corrections += 1
                self._epoch += 1
                self._tell(Verdict(batch, accepted, len(emitted)))
                break
            bonus = None
            if batch is taken[-1] and self._bonus == "compare" and len(emitted) < segment_end:
                bonus = self._stream.target(len(emitted))
                emitted.append(bonus)
                self._ledger.bonuses += 1
            self._tell(Verdict(batch, accepted, len(emitted), bonus))
        self._emitter.flush()
        if not self._emitter.complete:
            self._begin()
