# SPDX-License-Identifier: Apache-2.0
"""The link through the control hardware: queues, EDC, TVC and GTSU of the top."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ahasd.rtl.ahasd.params import Request
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.params import Decision as Answer
from ahasd.rtl.tvc.params import Record, Table
from ahasd.sim.ahasd import AhasdTop
from ahasd.sim.clocked import Clock
from ahasd.sim.kernel import Kernel
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.link import NpuSide, PimSide


@dataclass
class Measurements:
    """What the TVC was told, in order.

    Attributes
    ----------
    records
        Table, duration [PIM cycles] and length; that is the KV length for NVCT, tokens else.
    """

    records: list[tuple[Table, int, int]] = field(default_factory=list)


class HardwareLink:
    """Implements `Link` and `Advisor` by the top.

    A batch that the NPU does not accept shows its header only: it stays in the queue with its slot.
    The NPU takes batches one after the other; after the last word it waits a cycle for more.

    Parameters
    ----------
    top
        The hardware.
    kernel
        Of the simulation.
    pim, npu
        The two clocks.
    registers
        What to write before the first draft, in order: registers and their fields.
    """

    def __init__(
        self,
        top: AhasdTop,
        kernel: Kernel,
        pim: Clock,
        npu: Clock,
        registers: Sequence[tuple[str, dict[str, int]]],
    ) -> None:
        self.measurements = Measurements()
        self._top = top
        self._kernel = kernel
        self._pim_clock = pim
        self._npu_clock = npu
        self._registers = registers
        queues = top.params.queues
        self._numbers = 1 << queues.batch_width
        self._epochs = 1 << queues.epoch_width
        self._branches = 1 << queues.branch_width
        self._tasks = 1 << queues.task_width
        self._tokens_max = top.params.tvc.tokens_max
        self._sent: dict[int, Batch] = {}  # by their number on the wires
        self._task = 0  # number of the last task
        self._draft_task: int | None = None
        self._preverify_task: int | None = None  # that of the last question
        self._last_branch = 0  # of the last batch that came to the NPU
        self._coming: Batch | None = None
        self._missing: list[int] = []  # tokens of it that have not come
        self._held: Batch | None = None  # its header was shown, and it was not accepted
        self._words = 0
        self._open = True
        top.listen_pim(
            decision=self._on_decision,
            feedback=self._on_feedback,
            answer=self._on_answer,
            issue=self._on_issue,
            room=self._on_room,
        )
        top.listen_npu(self._on_word)

    def connect(self, pim: PimSide, npu: NpuSide) -> None:
        """See `Link`."""
        self._pim, self._npu = pim, npu

    def boot(self, ready: Callable[[], None]) -> None:
        """See `Link`."""
        *first, last = self._registers
        for name, fields in first:
            self._top.write(name, **fields)
        name, fields = last
        self._top.write(name, ready, **fields)

    # PIM

    @property
    def has_room(self) -> bool:
        """See `Link`."""
        return self._top.has_room

    def start_sequence(self) -> None:
        """See `Link`."""
        self._top.write("pim.COMMAND", edc_start_sequence=1)

    def offer(self, batch: Batch) -> None:
        """See `Link`."""
        number = batch.number % self._numbers
        self._sent[number] = batch
        self._top.push(
            epoch=batch.epoch % self._epochs,
            branch=batch.branch % self._branches,
            batch=number,
            tokens=[token.token for token in batch.tokens],
            entropy_nats=batch.mean_entropy_nats,
        )

    def _next_task(self) -> int:
        self._task = (self._task + 1) % self._tasks
        return self._task

    def begin_draft(self) -> bool:
        """See `Link`."""
        self._draft_task = self._next_task()
        self._top.task(self._draft_task)
        return False

    def end_draft(self) -> None:
        """See `Link`."""
        assert self._draft_task is not None
        self._top.done(self._draft_task)
        self._draft_task = None

    def ask(self, *, branch: int, epoch: int, position: int, overhead: int, available: int) -> None:
        """See `Advisor`."""
        task = self._next_task()
        self._preverify_task = task
        self._top.ask(
            Request(
                epoch=epoch % self._epochs,
                branch=branch % self._branches,
                position=position % (1 << self._top.params.queues.kv_width),
                task=task,
                overhead_tokens=min(overhead, self._tokens_max),
                available_tokens=min(available, self._tokens_max),
            )
        )

    def end_preverify(self, time_ps: int, tokens: int | None) -> None:
        """See `Advisor`."""
        assert self._preverify_task is not None
        self._top.done(self._preverify_task)
        if tokens is not None:
            self._measure(Table.PVCT, time_ps, tokens)

    def measure_draft(self, time_ps: int, tokens: int) -> None:
        """See `Advisor`."""
        self._measure(Table.PDCT, time_ps, tokens)

    def _measure(self, table: Table, time_ps: int, tokens: int) -> None:
        cycles = -(-time_ps // self._pim_clock.period_ps)
        self.measurements.records.append((table, cycles, tokens))
        params = self._top.params.tvc
        record = Record(table, min(cycles, params.cycles_max), min(tokens, params.length_max))
        self._top.measure(record)

    def cut(self, batch: Batch, keep: int, branch: int) -> None:
        """See `Advisor`."""
        self._top.cut(
            epoch=batch.epoch % self._epochs,
            branch=branch % self._branches,
            batch=batch.number % self._numbers,
            keep=keep,
        )

    def _on_decision(self, decision: Decision) -> None:
        cause = Cause(decision.cause).name.lower()
        self._pim.on_decision(decision.go, cause)
        self._pim.proceed()

    def _on_room(self) -> None:
        self._pim.on_room()

    def _on_answer(self, answer: Answer) -> None:
        self._pim.on_answer(answer.length)

    def _on_issue(self, issue: Issue) -> None:
        if issue.kind is TaskKind.DRAFT:
            self._pim.on_draft_issue()
        elif issue.id == self._preverify_task:
            self._pim.on_preverify_issue()
        else:  # of a question that was overtaken by another
            self._top.done(issue.id)

    def _on_feedback(self, report: Report) -> None:
        batch = self._sent[report.batch]
        if report.event is Event.START:
            self._pim.on_taken(batch)
            return
        outcome = "void" if report.void else "full" if report.full else "rejected"
        token = report.next_token if report.next_valid else None
        self._pim.on_verdict(Verdict(batch, outcome, report.accepted, token))

    # NPU

    def open(self) -> None:
        """See `Link`."""
        self._open = True
        if self._held is not None and self._npu.accepts(self._held):
            self._begin(self._held)
        self._top.take(True)

    def start_pass(self, batches: Sequence[Batch], context: int) -> None:
        """See `Link`."""
        self._open = False
        self._top.take(False)
        number = batches[-1].number % self._numbers
        self._top.report(Report(Event.START, batch=number, kv_length=self._kv(context)))

    def tell(self, verdict: Verdict, *, pass_ps: int | None, context: int) -> None:
        """See `Link`."""
        npu_cycles = 0
        if pass_ps is not None:
            npu_cycles = -(-pass_ps // self._npu_clock.period_ps)
            cycles = -(-pass_ps // self._pim_clock.period_ps)
            self.measurements.records.append((Table.NVCT, cycles, context))
        token = verdict.next_token
        self._top.report(
            Report(
                Event.VERDICT,
                batch=verdict.batch.number % self._numbers,
                accepted=verdict.accepted,
                full=verdict.outcome == "full",
                void=verdict.outcome == "void",
                last=pass_ps is not None,
                next_valid=token is not None,
                next_token=token or 0,
                npu_cycles=min(npu_cycles, self._top.params.tvc.cycles_max),
                kv_length=self._kv(context),
            )
        )

    def _kv(self, context: int) -> int:
        return min(context, self._top.params.tvc.length_max)

    def _begin(self, batch: Batch) -> None:
        self._held = None
        self._coming = batch
        self._missing = [token.token for token in reversed(batch.tokens)]

    def _on_word(self, word: Word) -> None:
        self._words += 1
        match word.kind:
            case Kind.HEADER:
                batch = self._sent[word.batch]
                if word.length != len(batch.tokens) or word.epoch != batch.epoch % self._epochs:
                    raise AssertionError(f"the header of batch {batch.number} changed on its way")
                if self._open and self._npu.accepts(batch):
                    self._begin(batch)
                else:
                    self._held = batch
                    self._top.take(False)
                    if self._open:
                        self._kernel.after(0, self._be_quiet, self._words)
            case Kind.TOKEN:
                assert self._coming is not None
                if word.token != self._missing.pop():
                    raise AssertionError(f"a token of batch {self._coming.number} changed")
                if not self._missing:
                    batch, self._coming = self._coming, None
                    self._last_branch = batch.branch
                    self._npu.on_batch(batch)
                    self._wait()
            case Kind.CUT:
                # Branches are numbered upwards; the wires have the low bits.
                last = self._last_branch
                branch = last + (word.branch - last) % self._branches
                self._npu.on_cut(self._sent[word.batch], word.length, branch)
                self._wait()

    def _wait(self) -> None:
        """Wait for the next cycle's word."""
        self._kernel.after(self._npu_clock.period_ps, self._be_quiet, self._words)

    def _be_quiet(self, words: int) -> None:
        if self._open and self._coming is None and words == self._words:
            self._npu.on_quiet()
