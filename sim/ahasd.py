# SPDX-License-Identifier: Apache-2.0
"""The top as PIM sequencer, NPU and host see it: transactions in, transactions out."""

from collections import deque
from collections.abc import Callable

from ahasd.rtl.ahasd.params import AhasdParams, Request
from ahasd.rtl.edc.params import Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Kind
from ahasd.rtl.tvc.params import Decision as Answer
from ahasd.rtl.tvc.params import Record
from ahasd.sim.clocked import Clock, ClockedUnit, Cycles
from ahasd.sim.driver import addresses, decode, encode
from ahasd.sim.kernel import Kernel
from ahasd.sim.ports import Engine

STREAMS_IN = {
    "pim": ("draft", "request", "task", "done", "measure"),
    "npu": ("feedback_in", "aw", "w", "ar"),
}
STREAMS_OUT = {
    "pim": ("decision", "feedback", "answer", "preverify", "issue"),
    "npu": ("batch_out", "b", "r"),
}

STROBE_ALL = 0b1111


class AhasdTop:
    """Drive the top from kernel events.

    Parameters
    ----------
    engine
        The top.
    params
        Its parameters.
    kernel
        When its edges come.
    pim, npu
        The two clocks.
    skip
        False clocks every cycle.

    Attributes
    ----------
    has_room
        A batch that is complete would not have to wait for a credit or for the EDC.
    """

    def __init__(
        self,
        engine: Engine,
        params: AhasdParams,
        kernel: Kernel,
        pim: Clock,
        npu: Clock,
        *,
        skip: bool,
    ) -> None:
        self.params = params
        self.has_room = True
        self._unit = ClockedUnit(
            engine,
            kernel,
            {"pim": pim, "npu": npu},
            inputs={name: domain for domain, names in STREAMS_IN.items() for name in names},
            outputs={name: domain for domain, names in STREAMS_OUT.items() for name in names},
            levels={"drained": 1, "layer_boundary": 0, "compute_request": 0},
            idle={"pim": "idle_pim", "npu": "idle_npu"},
            now=("now", "pim"),
            skip=skip,
        )
        self._unit.watch("room", 1, self._on_room)
        self._writes: deque[Callable[[], None]] = deque()
        self._reads: deque[tuple[str, list[int], Callable[[dict[str, int]], None]]] = deque()
        self._unit.listen("b", self._on_written)
        self._unit.listen("r", self._on_read)

    # Host

    def write(self, name: str, written: Callable[[], None] = lambda: None, **fields: int) -> None:
        """Write a register; fields that are not given get their reset values.

        Parameters
        ----------
        name
            Register, as `pim.CONTROL`.
        written
            Called when the response is there.
        fields
            Values by name.
        """
        address, value = encode(name, **fields)
        self._writes.append(written)
        self._unit.send("aw", address)
        self._unit.send("w", value | STROBE_ALL << 32)

    def read(self, name: str, done: Callable[[dict[str, int]], None]) -> None:
        """Read a register and call `done` with its fields."""
        self._reads.append((name, [], done))
        for address in addresses(name):
            self._unit.send("ar", address)

    def _on_written(self, payload: int) -> None:
        if payload:
            raise AssertionError(f"the top refused a write with response {payload}")
        self._writes.popleft()()

    def _on_read(self, payload: int) -> None:
        if payload >> 32:
            raise AssertionError(f"the top refused a read with response {payload >> 32}")
        name, words, done = self._reads[0]
        words.append(payload & 0xFFFF_FFFF)
        if len(words) == len(addresses(name)):
            self._reads.popleft()
            done(decode(name, *words))

    # PIM sequencer

    def listen_pim(
        self,
        *,
        decision: Callable[[Decision], None],
        feedback: Callable[[Report], None],
        answer: Callable[[Answer], None],
        issue: Callable[[Issue], None],
        room: Callable[[], None],
    ) -> None:
        """Name the functions that take what the top gives to the sequencer."""
        params = self.params
        listen = self._unit.listen
        listen("decision", lambda payload: decision(Decision.unpack(payload)))
        listen("feedback", lambda payload: feedback(Report.unpack(payload, params.queues)))
        listen("answer", lambda payload: answer(Answer.unpack(payload, params.tvc)))
        listen("issue", lambda payload: issue(Issue.unpack(payload)))
        listen("preverify", lambda payload: None)
        self._room_listener = room

    def _on_room(self, value: int) -> None:
        self.has_room = bool(value)
        if value:
            self._room_listener()

    def push(
        self, *, epoch: int, branch: int, batch: int, tokens: list[int], entropy_nats: float
    ) -> None:
        """Send a complete batch."""
        params = self.params
        queues = params.queues
        header = Word(Kind.HEADER, epoch, batch=batch, branch=branch, length=len(tokens))
        entropy = params.edc.encode_entropy(entropy_nats)
        width = 2 + queues.epoch_width + queues.body_width
        self._unit.send("draft", header.pack(queues) | entropy << width)
        for token in tokens:
            self._unit.send("draft", Word(Kind.TOKEN, epoch, token).pack(queues))

    def cut(self, *, epoch: int, branch: int, batch: int, keep: int) -> None:
        """Send a cut."""
        word = Word(Kind.CUT, epoch, batch=batch, branch=branch, length=keep)
        self._unit.send("draft", word.pack(self.params.queues))

    def ask(self, request: Request) -> None:
        """Ask the TVC."""
        self._unit.send("request", request.pack(self.params))

    def task(self, number: int) -> None:
        """Queue a draft task."""
        self._unit.send("task", number)

    def done(self, number: int) -> None:
        """End a task."""
        self._unit.send("done", number)

    def measure(self, record: Record) -> None:
        """Give the TVC a measurement."""
        self._unit.send("measure", record.pack(self.params.tvc))

    # NPU

    def listen_npu(self, word: Callable[[Word], None]) -> None:
        """Name the function that takes the words of the draft queue."""
        queues = self.params.queues
        self._unit.listen("batch_out", lambda payload: word(Word.unpack(payload, queues)))

    def take(self, on: bool) -> None:
        """Take words from the draft queue, or let them wait."""
        self._unit.set("batch_out__ready", int(on))

    def report(self, report: Report) -> None:
        """Give feedback."""
        self._unit.send("feedback_in", report.pack(self.params.queues))

    def finish(self) -> dict[str, Cycles]:
        """Account for the cycles up to now, by domain."""
        return self._unit.finish()
