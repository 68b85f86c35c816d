# SPDX-License-Identifier: Apache-2.0
"""Steps of the self-test, each for a unit of the top, against the unit's golden model."""

from collections import deque
from random import Random

from ahasd.rtl.ahasd.params import Request
from ahasd.rtl.board.params import stream_widths
from ahasd.rtl.edc.golden import EdcGolden
from ahasd.rtl.edc.params import Cause, Verdict
from ahasd.rtl.edc.params import Decision as EdcDecision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.golden import Task, TvcGolden
from ahasd.rtl.tvc.params import Decision, Levels, Reason, Record, Table
from ahasd.rtl.tvc.params import Request as Question
from ahasd.sim.bridge.board import Board, Fault
from ahasd.sim.driver import BY_NAME

BATCHES = 24
"""Batches that the EDC judges."""

SEED = 1


class _Npu:
    """Batches to the NPU and verdicts back, with what each must look like on its way."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._queues = board.params.queues
        self._epoch_wrap = 1 << self._queues.epoch_width
        self._numbers = 1 << self._queues.batch_width
        self.epoch = board.registers.read("npu.NPU_STATUS")["epoch"]
        self.sent: deque[tuple[int, list[Word]]] = deque()  # batch and words, not judged yet
        self._next = 0

    def draft(self, rng: Random, entropy: int) -> None:
        """Push a batch of random tokens."""
        board, queues = self._board, self._queues
        tokens = [
            rng.getrandbits(queues.token_width) for _ in range(rng.randint(1, queues.batch_tokens))
        ]
        header = Word(Kind.HEADER, self.epoch, batch=self._next, branch=0, length=len(tokens))
        words = [header, *(Word(Kind.TOKEN, self.epoch, token=token) for token in tokens)]
        word_width = stream_widths(board.params)["batch_out"]
        for word in words:
            board.push("draft", word.pack(queues) | entropy << word_width)
        self.sent.append((self._next, words))
        self._next = (self._next + 1) % self._numbers
        board.counted.update(
            {
                "pim.BATCHES_OFFERED": 1,
                "pim.BATCHES_PUSHED": 1,
                "pim.TOKENS_PUSHED": len(tokens),
            }
        )

    def take(self, words: list[Word]) -> None:
        """Pop a batch on the NPU's side."""
        for word in words:
            self._board.expect("batch_out", word.pack(self._queues))
        self._board.counted.update(
            {"npu.BATCHES_DELIVERED": 1, "npu.TOKENS_DELIVERED": len(words) - 1}
        )

    def report(self, report: Report) -> None:
        """Push feedback on the NPU's side and pop it on the PIM's."""
        board, queues = self._board, self._queues
        board.push("feedback_in", report.pack(queues))
        report_width = stream_widths(board.params)["feedback_in"]
        board.expect("feedback", report.pack(queues) | self.epoch << report_width)
        board.counted.update({"npu.FEEDBACK_ACCEPTED": 1, "pim.FEEDBACK_DELIVERED": 1})
        if report.rejects:
            self.epoch = (self.epoch + 1) % self._epoch_wrap
            self.sent.clear()
            board.counted["npu.REJECTIONS"] += 1
            board.expect_register("npu.NPU_STATUS", epoch=self.epoch, flushing=0)
            board.expect_register("pim.STATUS", epoch=self.epoch)

    def verdict(self, verdict: Verdict) -> None:
        """Judge the oldest batch."""
        batch, words = self.sent.popleft()
        full = verdict is Verdict.ACCEPTED
        accepted = len(words) - 1 if full else 0
        self.report(Report(Event.VERDICT, batch, accepted, full=full))
        self._board.counted[f"pim.VERDICTS_{verdict.name}"] += 1


def queues(board: Board) -> None:
    """Send batches through the draft queue, and feedback back."""
    rng = Random(SEED)
    board.registers.write("pim.CONTROL", edc_enable=0)
    try:
        npu = _Npu(board)
        count = min(board.params.queues.draft_batches, 4)
        for _ in range(count):
            npu.draft(rng, 0)
            board.expect("decision", EdcDecision(True, Cause.PREDICTED).pack())
            board.counted["pim.DECISIONS_GO"] += 1
        for _, words in npu.sent:
            npu.take(words)
        for _ in range(count):
            npu.verdict(Verdict.ACCEPTED)
    finally:
        board.registers.write("pim.CONTROL", edc_enable=1)


def edc(board: Board) -> None:
    """Compare decisions with the golden model, over accepted and rejected batches."""
    params = board.params.edc
    rng = Random(SEED)
    board.registers.write("pim.COMMAND", edc_start_sequence=1)
    board.registers.write("pim.COMMAND", edc_clear_pht=1)
    boundaries = tuple(
        min(BY_NAME[f"pim.EDC_BOUNDARY_{i}"].reset, params.entropy_max)
        for i in range(params.boundary_count)
    )
    golden = EdcGolden(params, boundaries)
    npu = _Npu(board)
    ahead = min(board.params.queues.draft_batches, params.max_outstanding, 3)
    for _ in range(BATCHES):
        while len(npu.sent) == ahead or (npu.sent and rng.random() < 0.3):
            verdict = rng.choice((Verdict.ACCEPTED, Verdict.REJECTED, Verdict.REJECTED))
            npu.verdict(verdict)
            release = golden.verdict(verdict)
            if release is not None:
                board.expect("decision", release.pack())
                board.counted["pim.RELEASES"] += 1
        entropy = rng.randint(0, params.entropy_max) >> rng.choice((0, 0, 3))
        npu.draft(rng, entropy)
        decision = golden.draft(entropy)
        board.expect("decision", decision.pack())
        board.counted[f"pim.DECISIONS_{'GO' if decision.go else 'STOP'}"] += 1
        npu.take(npu.sent[-1][1])
    board.expect_register("pim.STATUS", outstanding=golden.llr)
    board.registers.write("pim.COMMAND", edc_start_sequence=1)
    npu.sent.clear()


def tvc(board: Board) -> None:
    """Compare the prediction from the tables, and the length from it, with the golden model."""
    params = board.params.tvc
    registers = board.registers
    registers.write("pim.COMMAND", tvc_clear=1)
    switch = BY_NAME["pim.TVC_SWITCH_CYCLES"].reset
    limit = min(BY_NAME["pim.TVC_MAX_LENGTH"].reset, params.tokens_max)
    ratio = BY_NAME["pim.TVC_NPU_RATIO"].reset
    levels = Levels(ratio)._replace(
        switch_cycles=min(switch, params.cycles_max),
        max_length=limit,
    )
    golden = TvcGolden(params, levels)
    question = Question(overhead_tokens=0, available_tokens=params.tokens_max)
    npu = _Npu(board)
    asked = Request(npu.epoch, 0, 0, 1, question.overhead_tokens, question.available_tokens)

    def ask() -> Decision:
        board.push("request", asked.pack(board.params))
        board.counted["pim.PREVERIFY_REQUESTS"] += 1
        return Decision.unpack(board.await_("answer"), params)

    found = ask()
    if found != Decision(0, Reason.NO_TASK, 0, 0):
        raise Fault(f"without a task the TVC decides {found}")
    unit, kv_length = params.cycles_max // 64, min(8, params.length_max)
    records = (
        Record(Table.NVCT, 40 * unit, kv_length),
        Record(Table.PDCT, unit, 1),
        Record(Table.PVCT, 8 * unit, 2),
        Record(Table.PVCT, 9 * unit, 2),
    )
    for record in records[:-1]:
        registers.write("pim.TVC_PRELOAD_CYCLES", value=record.cycles)
        registers.write("pim.TVC_PRELOAD", table=record.table, length=record.length)
    board.push("measure", records[-1].pack(params))
    for record in records:
        golden.record(record)
    npu.report(Report(Event.START, kv_length=kv_length))
    found = ask()
    golden.task = Task(0, kv_length)
    cycles = golden.npu_cycles(kv_length)
    spent = cycles - golden.draft_cycles() - 2 * levels.switch_cycles - found.slack
    golden.now = max(spent, 0) if found.slack else params.cycles_max
    expected = golden.request(question)
    if found != expected or spent <= 0:
        raise Fault(f"the TVC decides {found}, not {expected}")
    if found.length:
        _preverify(board, asked, found.length)
    registers.write("pim.COMMAND", tvc_clear=1)
    registers.write("pim.TVC_PRELOAD_CYCLES", value=0)
    registers.write("pim.COMMAND", tvc_forget_task=1)


def _preverify(board: Board, asked: Request, length: int) -> None:
    """Follow a pre-verification through its queue and the GTSU."""
    queues = board.params.queues
    packed = asked.epoch | asked.branch << queues.epoch_width
    offset = queues.epoch_width + queues.branch_width
    packed |= asked.position << offset
    offset += queues.kv_width
    packed |= length << offset | asked.task << offset + queues.length_width
    board.registers.write("pim.GTSU_DLM_MASK", value=1)
    board.registers.write("pim.GTSU_TLM_MASK", value=2)
    board.expect("preverify", packed)
    board.expect("issue", Issue(TaskKind.PREVERIFY, False, asked.task).pack())
    board.push("done", asked.task)
    board.counted.update(
        {
            "pim.PREVERIFY_INSERTS": 1,
            "pim.PREVERIFY_TOKENS": length,
            "pim.TASKS_PREVERIFY": 1,
            "pim.SWITCHES": 1,
        }
    )


def gtsu(board: Board) -> None:
    """Issue tasks in order, with the mask of their ranks up."""
    board.registers.write("pim.GTSU_DLM_MASK", value=1)
    board.registers.write("pim.GTSU_TLM_MASK", value=2)
    switched = board.registers.read("pim.MASK")["mask"] != 1
    tasks = [id_ % (1 << board.params.gtsu.id_width) for id_ in (3, 1)]
    for id_ in tasks:
        board.push("task", id_)
    for id_ in tasks:
        board.expect("issue", Issue(TaskKind.DRAFT, False, id_).pack())
        board.expect_register("pim.MASK", mask=1)
        board.push("done", id_)
        board.counted["pim.TASKS_DRAFT"] += 1
    board.counted["pim.SWITCHES"] += switched
