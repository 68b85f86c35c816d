# SPDX-License-Identifier: Apache-2.0
"""The NPU: verifies drafted chains, or decodes alone. Only the NPU emits tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.machine import Machine
from ahasd.system.schemes.activity import Activity, Kind
from ahasd.system.schemes.batch import Batch, Verdict, drafted
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import Link
from ahasd.system.schemes.prefill import Prefiller
from ahasd.system.workload.playback import Playback, TargetStream

Take = Literal["all", "one"]
Bonus = Literal["compare", "drop"]

NPU_STATES: dict[str, Kind] = {"verifying": "busy", "prefilling": "busy", "starved": "idle"}


class Emitter:
    """The sequence that the NPU has emitted.

    Parameters
    ----------
    kernel
        Of the simulation.
    stream
        The target.
    progress
        Called with the number of tokens emitted so far.
    """

    def __init__(
        self, kernel: Kernel, stream: TargetStream, progress: Callable[[int], None]
    ) -> None:
        self.tokens: list[int] = []
        self.first_ps: int | None = None
        """When the first token was out."""
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
        """Tell how far the run is."""
        if self.first_ps is None and self.tokens:
            self.first_ps = self._kernel.now_ps
        self._progress(len(self.tokens))


class NpuDecoder:
    """Autoregressive decoding with the target model, one token a pass."""

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: Devices,
        machine: Machine,
        ledger: Ledger,
        emitter: Emitter,
        *,
        playback: Playback,
    ) -> None:
        self.activity = Activity(NPU_STATES, "starved")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._machine = machine
        self._ledger = ledger
        self._emitter = emitter
        self._separate = playback == "requests"
        self._prefiller = Prefiller(
            kernel, stream, devices, machine, ledger, self.activity, drafts=False
        )

    def start(self) -> None:
        """Begin with the prompt."""
        self._prefiller.run(self._emitter.committed, self._decode)

    def _decode(self) -> None:
        self.activity.enter("verifying", self._kernel.now_ps)
        context = self._stream.context(self._emitter.committed)
        self._machine.begin("npu", self._devices.verify(1, context), lambda: self._on_pass(context))

    def _on_pass(self, context: int) -> None:
        self._ledger.count_pass(1, context, 1)
        position = self._emitter.committed
        self._ledger.log.count_pass(
            self._stream.instance(position),
            drafted=0,
            accepted=0,
            emitted=1,
            end_ps=self._kernel.now_ps,
        )
        self._emitter.tokens.append(self._stream.target(position))
        self._emitter.flush()
        if self._emitter.complete:
            return
        if self._separate and self._stream.instance(position + 1) != self._stream.instance(
            position
        ):
            self.start()
        else:
            self._decode()


@dataclass(slots=True)
class Staged:
    """A batch that the NPU took out of the queue.

    Attributes
    ----------
    batch
        The batch.
    usable
        Its leading tokens that are worth verifying.
    """

    batch: Batch
    usable: int


class NpuVerifier:
    """Take queued batches of one chain, verify them in one pass, emit, give verdicts.

    Parameters
    ----------
    kernel, stream, devices, machine, ledger, emitter, link
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
        devices: Devices,
        machine: Machine,
        ledger: Ledger,
        emitter: Emitter,
        link: Link,
        *,
        pass_tokens: int,
        take: Take,
        bonus: Bonus,
    ) -> None:
        self.activity = Activity(NPU_STATES, "starved")
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._machine = machine
        self._ledger = ledger
        self._emitter = emitter
        self._link = link
        self._pass_tokens = pass_tokens
        self._take = take
        self._bonus = bonus
        self._staged: list[Staged] = []
        self._known = 0  # leading tokens of the chain that are out already
        self._epoch = 0
        self._branch: int | None = None  # of the last batch that came
        self._next: int | None = None  # where the chain goes on; None behind what is out
        self._dead: int | None = None  # a branch that starts before what is out
        self._cut_branch: int | None = None  # the branch that the last cut announced
        self._cut_position = 0  # where it starts
        self._context = 0  # KV length of the last pass

    def accepts(self, batch: Batch) -> bool:
        """See `NpuSide`."""
        if batch.epoch != self._epoch or not self._staged:
            return True
        length = sum(staged.usable for staged in self._staged) + len(batch.tokens)
        return self._take == "all" and length <= self._pass_tokens

    def on_batch(self, batch: Batch) -> None:
        """See `NpuSide`."""
        if batch.epoch != self._epoch:
            return
        if batch.branch == self._cut_branch:
            self._next = self._cut_position
        elif batch.branch != self._branch:
            self._next = None
        self._cut_branch = None
        self._branch = batch.branch
        start = self._emitter.committed if self._next is None else self._next
        if start != batch.start:
            raise AssertionError(f"batch {batch.number} starts at {batch.start}, not at {start}")
        self._next = batch.end
        dead = batch.branch == self._dead
        self._staged.append(Staged(batch, 0 if dead else len(batch.tokens)))
        self._settle()

    def on_cut(self, batch: Batch, keep: int, branch: int) -> None:
        """See `NpuSide`."""
        if batch.epoch != self._epoch:
            return
        is_younger = False
        here = any(staged.batch is batch for staged in self._staged)
        for staged in self._staged:
            if staged.batch is batch:
                self._ledger.cut_tokens += max(0, staged.usable - keep)
                staged.usable = min(staged.usable, keep)
                is_younger = True
            elif is_younger or not here:
                self._ledger.cut_tokens += staged.usable
                staged.usable = 0
        self._cut_branch, self._cut_position = branch, batch.start + keep
        self._settle()

    def on_quiet(self) -> None:
        """See `NpuSide`."""
        if self._staged:
            self._start_pass()

    def _settle(self) -> None:
        """Give the verdicts that need no pass."""
        while self._staged:
            first = self._staged[0]
            committed = self._emitter.committed
            self._known = committed - first.batch.start
            if not first.batch.tokens:
                return
            if not first.usable:
                self._void(self._staged.pop(0).batch)
            elif self._known > 1:
                self._dead = first.batch.branch
                for staged in self._staged:
                    if staged.batch.branch == self._dead:
                        staged.usable = 0
            elif self._known and first.batch.tokens[0].token != self._emitter.tokens[-1]:
                self._reject(first.batch, 0, self._emitter.tokens[-1], None)
            elif self._known == first.usable:
                self._ledger.confirmed_bonuses += 1
                self._staged.pop(0)
                outcome = "full" if first.usable == len(first.batch.tokens) else "void"
                self._tell(Verdict(first.batch, outcome, first.usable), None)
            else:
                return

    def _void(self, batch: Batch) -> None:
        self._tell(Verdict(batch, "void", 0), None)

    def _reject(self, batch: Batch, accepted: int, token: int, pass_ps: int | None) -> None:
        """End the epoch."""
        self._epoch += 1
        self._staged = []
        self._branch = self._next = self._dead = self._cut_branch = None
        self._tell(Verdict(batch, "rejected", accepted, token), pass_ps)

    def _tell(self, verdict: Verdict, pass_ps: int | None) -> None:
        self._link.tell(verdict, pass_ps=pass_ps, context=self._context)

    def _start_pass(self) -> None:
        taken, self._staged = self._staged, []
        # The last emitted token goes in too: its key and value are not in the cache yet.
        rows = 1 + sum(staged.usable for staged in taken) - self._known
        self._ledger.confirmed_bonuses += self._known
        self.activity.enter("verifying", self._kernel.now_ps)
        self._context = self._stream.context(self._emitter.committed)
        task = self._devices.verify(rows, self._context)
        self._link.start_pass([staged.batch for staged in taken], self._context)
        began_ps = self._kernel.now_ps
        self._machine.begin(
            "npu", task, lambda: self._on_pass(taken, rows, self._kernel.now_ps - began_ps)
        )

    def _on_pass(self, taken: list[Staged], rows: int, pass_ps: int) -> None:
        self.activity.enter("starved", self._kernel.now_ps)
        emitted = self._emitter.tokens
        before = len(emitted)
        ledger = self._ledger
        own = ledger.corrections + ledger.bonuses
        judged = [
            token
            for i, staged in enumerate(taken)
            for token in staged.batch.tokens[0 if i else self._known : staged.usable]
        ]
        segment_end = self._stream.segment_end(len(emitted))
        last_usable = max((i for i, staged in enumerate(taken) if staged.usable), default=0)
        has_bonus = self._bonus == "compare" or not taken[0].batch.tokens
        known = self._known
        for i, staged in enumerate(taken):
            batch = staged.batch
            accepted = known
            known = 0
            for token in batch.tokens[accepted : staged.usable]:
                if token.token != self._stream.target(len(emitted)):
                    break
                emitted.append(token.token)
                accepted += 1
            if accepted < staged.usable:
                emitted.append(self._stream.target(len(emitted)))
                ledger.corrections += 1
                self._reject(batch, accepted, emitted[-1], pass_ps)
                break
            bonus = None
            if i == last_usable and has_bonus and len(emitted) < segment_end:
                bonus = self._stream.target(len(emitted))
                emitted.append(bonus)
                ledger.bonuses += 1
            outcome = "full" if staged.usable == len(batch.tokens) else "void"
            ends = pass_ps if i == len(taken) - 1 else None
            self._tell(Verdict(batch, outcome, accepted, bonus), ends)
        ledger.count_pass(rows, self._context, len(emitted) - before)
        right = len(emitted) - before - (ledger.corrections + ledger.bonuses - own)
        ledger.log.count_pass(
            self._stream.instance(before),
            drafted=drafted(judged),
            accepted=drafted(judged[:right]),
            emitted=len(emitted) - before,
            end_ps=self._kernel.now_ps,
        )
        self._emitter.flush()
        if not self._emitter.complete:
            self._link.open()
