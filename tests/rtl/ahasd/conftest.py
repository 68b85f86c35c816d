# SPDX-License-Identifier: Apache-2.0
"""Sequencer, NPU and host around the top: on its pins, and with books of their own."""

from collections import Counter, deque
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

from ahasd.rtl.ahasd.golden import NPU, PIM
from ahasd.rtl.ahasd.params import AhasdParams, Request, request_widths
from ahasd.rtl.configs import UNITS
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.gtsu.params import Issue
from ahasd.rtl.gtsu.params import Kind as TaskKind
from ahasd.rtl.host.params import Response
from ahasd.rtl.host.registers import REGISTERS
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind
from ahasd.rtl.tvc.params import Decision as Answer
from ahasd.rtl.tvc.params import Record, Table
from ahasd.sim.ahasd import STREAMS_IN, STREAMS_OUT
from ahasd.sim.driver import Registers
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_EDGES = 4000
BITS = {"pim": PIM, "npu": NPU}
INPUTS = {name: BITS[domain] for domain, names in STREAMS_IN.items() for name in names}
OUTPUTS = {name: BITS[domain] for domain, names in STREAMS_OUT.items() for name in names}
DLM_MASK, TLM_MASK = 0b01, 0b10


class Clocks:
    """Edges of two clocks with a ratio of periods and a phase, in the order of time."""

    def __init__(self, npu_period: int = 1000, phase: int = 0, pim_period: int = 1250) -> None:
        self._next = [pim_period, phase + npu_period]
        self._periods = (pim_period, npu_period)

    def mask(self) -> int:
        time = min(self._next)
        mask = 0
        for i in (0, 1):
            if self._next[i] == time:
                mask |= 1 << i
                self._next[i] += self._periods[i]
        return mask


class Top:
    """The top on its pins: payloads queued on its inputs, and all that has moved on any stream.

    `gaps` and `stalls` are the probabilities that nothing is offered, and that nothing is taken;
    what is offered stays until it is taken.
    """

    def __init__(self, engine: Engine, params: AhasdParams, clocks: Clocks, seed: int = 0) -> None:
        self.engine = engine
        self.params = params
        self.queues: dict[str, deque[int]] = {name: deque() for name in INPUTS}
        self.moved: dict[str, list[int]] = {name: [] for name in (*INPUTS, *OUTPUTS)}
        self.ready = dict.fromkeys(OUTPUTS, True)
        self.levels = {"drained": 1, "layer_boundary": 0, "compute_request": 0}
        self.gaps = self.stalls = 0.0
        self.seen: dict[str, int] = {}
        self.pim_edges = self.edges = 0
        self.registers = Registers(self.read, self.write)
        self.observe: Callable[[int, dict[str, int]], None] = lambda mask, moves: None
        self._clocks = clocks
        self._rng = Random(seed)
        self._offered: set[str] = set()
        self._left: dict[str, int] = {}  # what was on offer and not taken

    def edge(self) -> None:
        """Take the next edge, and call `observe` with its clocks and what moved, by stream."""
        mask = self._clocks.mask()
        rng = self._rng
        pins = self.levels | {"now": self.pim_edges % (1 << self.params.tvc.time_width)}
        for name, queue in self.queues.items():
            if queue and (name in self._offered or rng.random() >= self.gaps):
                self._offered.add(name)
            valid = name in self._offered
            pins |= {f"{name}__valid": int(valid), f"{name}__payload": queue[0] if valid else 0}
        for name in OUTPUTS:
            pins[f"{name}__ready"] = int(self.ready[name] and rng.random() >= self.stalls)
        self.seen = seen = self.engine.step(pins, mask, 0)
        self.edges += 1
        self.pim_edges += mask & PIM
        for name, payload in self._left.items():
            assert seen[f"{name}__valid"], f"{name}: an offer was withdrawn"
            assert seen[f"{name}__payload"] == payload, f"{name}: an offer was changed"
        moves = {}
        # An entry of the pre-verification queue goes when its epoch does.
        self._left = {
            name: seen[f"{name}__payload"]
            for name, bit in OUTPUTS.items()
            if seen[f"{name}__valid"]
            and not (mask & bit and pins[f"{name}__ready"])
            and name != "preverify"
        }
        for name, bit in INPUTS.items():
            if mask & bit and name in self._offered and seen[f"{name}__ready"]:
                self._offered.remove(name)
                moves[name] = self.queues[name].popleft()
        for name, bit in OUTPUTS.items():
            if mask & bit and pins[f"{name}__ready"] and seen[f"{name}__valid"]:
                moves[name] = seen[f"{name}__payload"]
        for name, payload in moves.items():
            self.moved[name].append(payload)
        self.observe(mask, moves)

    def run(self, edges: int = 60) -> None:
        for _ in range(edges):
            self.edge()

    def until(self, stream: str, count: int = 1) -> list[int]:
        """Go on until so many more payloads have moved on a stream; return them."""
        before = len(self.moved[stream])
        for _ in range(LIMIT_EDGES):
            if len(self.moved[stream]) >= before + count:
                return self.moved[stream][before:]
            self.edge()
        raise AssertionError(f"nothing moves on {stream}")

    # The host

    def read(self, address: int) -> int:
        self.queues["ar"].append(address)
        (payload,) = self.until("r")
        assert payload >> 32 == Response.OKAY
        return payload & 0xFFFF_FFFF

    def write(self, address: int, data: int) -> None:
        self.queues["aw"].append(address)
        self.queues["w"].append(data | 0xF << 32)
        assert self.until("b") == [Response.OKAY]

    def set_masks(self) -> None:
        self.registers.write("pim.GTSU_DLM_MASK", value=DLM_MASK)
        self.registers.write("pim.GTSU_TLM_MASK", value=TLM_MASK)
        self.registers.write("pim.GTSU_SWITCH_CYCLES", value=2)

    def count(self, name: str) -> int:
        return self.registers.read(name)["value"]

    def errors(self) -> set[str]:
        return {name for name, value in self.registers.read("pim.ERRORS").items() if value}

    # The sequencer

    def word(self, word: Word, entropy: int = 0) -> None:
        queues = self.params.queues
        width = 2 + queues.epoch_width + queues.body_width
        self.queues["draft"].append(word.pack(queues) | entropy << width)

    def push(self, *tokens: int, epoch: int = 0, batch: int = 0, entropy: int = 0) -> list[Word]:
        """Send a batch; return its words."""
        words = [Word(Kind.HEADER, epoch, batch=batch, length=len(tokens))]
        words += [Word(Kind.TOKEN, epoch, token) for token in tokens]
        for word in words:
            self.word(word, entropy if word.kind is Kind.HEADER else 0)
        return words

    def cut(self, epoch: int = 0, batch: int = 0, length: int = 1) -> Word:
        word = Word(Kind.CUT, epoch, batch=batch, length=length)
        self.word(word)
        return word

    def ask(
        self, *, epoch: int = 0, task: int = 1, overhead: int = 0, available: int = 2
    ) -> Answer:
        """Ask the TVC; return its answer."""
        request = Request(epoch, 1, 3, task, overhead, available)
        self.queues["request"].append(request.pack(self.params))
        return Answer.unpack(self.until("answer")[0], self.params.tvc)

    def decisions(self) -> list[Decision]:
        return [Decision.unpack(payload) for payload in self.moved["decision"]]

    def issues(self) -> list[Issue]:
        return [Issue.unpack(payload) for payload in self.moved["issue"]]

    # The NPU

    def words(self) -> list[Word]:
        """Return what the NPU has taken."""
        return [Word.unpack(payload, self.params.queues) for payload in self.moved["batch_out"]]

    def report(self, report: Report) -> None:
        self.queues["feedback_in"].append(report.pack(self.params.queues))

    def verdict(self, *, full: bool = False, void: bool = False, last: bool = False) -> None:
        self.report(Report(Event.VERDICT, full=full, void=void, last=last, kv_length=1))

    def preload(self, table: Table, cycles: int, length: int) -> None:
        self.registers.write("pim.TVC_PRELOAD_CYCLES", value=cycles)
        self.registers.write("pim.TVC_PRELOAD", table=table, length=length)


class Both:
    """An engine with golden beside it; every pin is compared on every edge."""

    def __init__(self, engine: Engine, golden: Engine) -> None:
        self._engine = engine
        self._golden = golden
        self.edges = 0

    @property
    def changed(self) -> bool | None:
        return self._engine.changed

    def step(self, pins: dict[str, int], clocks: int, time_ps: int) -> dict[str, int]:
        seen = self._engine.step(pins, clocks, time_ps)
        expected = self._golden.step(pins, clocks, time_ps)
        assert seen == expected, {
            name: (seen[name], expected[name]) for name in seen if seen[name] != expected[name]
        }
        self.edges += 1
        return seen


@pytest.fixture
def clocks() -> type[Clocks]:
    return Clocks


@pytest.fixture
def both() -> Callable[..., Both]:
    """Start a backend, or an engine, of a configuration, with golden beside it."""

    def make(configuration: str, engine: Engine | None = None) -> Both:
        params = UNITS["ahasd"].configurations[configuration]
        compared = make_engine("ahasd", params, "rtl") if engine is None else engine
        return Both(compared, make_engine("ahasd", params, "golden"))

    return make


@pytest.fixture(scope="session")
def started() -> Callable[[str], Top]:
    """Return a golden top of a configuration, some time after its reset."""

    @cache
    def start(configuration: str) -> Top:
        params = UNITS["ahasd"].configurations[configuration]
        return begun(Top(make_engine("ahasd", params, "golden"), params, Clocks()))

    return start


def begun(top: Top) -> Top:
    """Wait until the PHT is cleared."""
    while not (top.seen and top.seen["idle_pim"]):
        top.edge()
    return top


@pytest.fixture(
    params=[
        "golden-small",
        "golden-test",
        "rtl-test",
        pytest.param("rtl-small", marks=pytest.mark.slow),
    ]
)
def top(request: pytest.FixtureRequest, started: Callable[[str], Top]) -> Top:
    """Return the top some time after its reset, with the clocks of the paper."""
    backend, configuration = request.param.split("-")
    if backend == "golden":
        return deepcopy(started(configuration))
    params = UNITS["ahasd"].configurations[configuration]
    return begun(Top(make_engine("ahasd", params, "rtl"), params, Clocks()))


class Batch(NamedTuple):
    """A batch or a cut as the sequencer sent it."""

    epoch: int
    words: list[Word]


class World:
    """Random legal use of the top by a sequencer, an NPU and a host that keep their own books.

    Checked: a complete batch gets one decision and enters the queue, or neither, and then it is of
    an epoch that has ended; what the NPU gets is what was granted, in order, whole batches, and
    what does not arrive is stale; feedback arrives in order, all of it, and none between a batch's
    offer and its decision; nothing is an error.
    """

    def __init__(self, top: Top, seed: int) -> None:
        self.top = top
        self.params = top.params
        self.rng = Random(seed)
        self.counts: Counter[str] = Counter()
        self._epochs = 1 << top.params.queues.epoch_width
        self._load = 0.2
        self._serial = 0
        # Sequencer
        self._epoch = 0
        self._words_left: deque[tuple[Word, Batch]] = deque()
        self._waiting: Batch | None = None  # complete, no decision yet
        self._entering: Batch | None = None
        self._tasks: list[int] = []
        self._running: int | None = None  # of them, the one that was issued last and has not ended
        self._asked: deque[Request] = deque()
        self._inserted: deque[tuple[Request, int]] = deque()
        self._preverifying: deque[int] = deque()
        # NPU
        self._npu_epoch = 0
        self._expected: deque[Batch] = deque()
        self._arriving: list[Word] = []
        self.open: deque[int] = deque()
        self._sent: deque[Report] = deque()
        self._cuts = 0
        self._rejecting = False
        self._react = {
            "draft": self._on_draft,
            "decision": self._on_decision,
            "feedback": self._on_feedback,
            "answer": self._on_answer,
            "preverify": self._on_preverify,
            "issue": self._on_issue,
            "batch_out": self._on_word,
            "feedback_in": self._on_report,
            "done": self._on_done,
        }
        top.observe = self._observe

    def begin(self) -> None:
        """Set up what a host sets up."""
        self.top.set_masks()
        self.top.registers.write("npu.IRQ_ENABLE", draft_ready=1, feedback_taken=1, error=1)
        self.top.registers.write("pim.TVC_SWITCH_CYCLES", value=1)
        self.top.registers.write("pim.CONTROL", edc_explore=2, gtsu_preempt=1)

    def run(self, edges: int) -> None:
        """Go on for so many edges, then let all come to rest."""
        for _ in range(edges):
            self._act()
            self.top.edge()
        self.top.gaps = self.top.stalls = 0.0
        self.top.levels |= {"drained": 1, "compute_request": 0}
        for _ in range(LIMIT_EDGES):
            self._end_task()
            if self._waiting and self.open and not self.top.queues["feedback_in"]:
                self._tell(Report(Event.VERDICT, self.open.popleft(), full=True))
            self.top.edge()
            if self.quiet:
                break
        assert self.quiet, f"it hangs: {vars(self)}"

    @property
    def quiet(self) -> bool:
        """Whether nothing is on its way; batches that the NPU has may be open."""
        busy = self._waiting or self._entering or self._arriving or self._asked or self._tasks
        queued = any(self.top.queues.values()) or self.top.seen["flushing"]
        busy = busy or len(self.top.moved["ar"]) != len(self.top.moved["r"])
        due = any(batch.epoch == self._npu_epoch for batch in self._expected)
        return not (busy or queued or due or self._sent or self._preverifying)

    def _observe(self, mask: int, moves: dict[str, int]) -> None:
        """Keep the books after an edge."""
        if mask & PIM and self.top.seen["draft__ready"]:
            self._entering = None
            if self._waiting is not None:  # and no decision came
                assert self._waiting.epoch != self._epoch, "a batch was dropped"
                self._waiting = None
                self.counts["dropped"] += 1
        # A rejection that is delivered ends the epoch for what comes after this edge.
        for name in sorted(moves, key="feedback".__eq__):
            self.counts[name] += 1
            if name in self._react:
                self._react[name](moves[name])

    # What they do

    def _act(self) -> None:
        rng, queues = self.rng, self.top.queues
        if rng.random() < 0.02:
            self._load = rng.choice((0.02, 0.2, 0.9))
            self.top.gaps = rng.choice((0.0, 0.3, 0.7))
            self.top.stalls = rng.choice((0.0, 0.3, 0.7))
        if not self._words_left and rng.random() < self._load:
            self._send()
        if not queues["feedback_in"] and rng.random() < self._load / 3:
            self._judge()
        if not queues["task"] and len(self._tasks) < 2 and rng.random() < 0.05:
            queues["task"].append(rng.getrandbits(self.params.gtsu.id_width))
        if rng.random() < 0.1:
            self._end_task()
        if not queues["request"] and not self._asked and rng.random() < 0.1:
            self._ask()
        if not queues["measure"] and rng.random() < 0.005:
            table = rng.choice(list(Table))
            cycles = rng.randint(150, 250) if table is Table.NVCT else rng.randint(1, 8)
            record = Record(table, cycles, rng.randint(1, 3))
            queues["measure"].append(record.pack(self.params.tvc))
        if not queues["ar"] and rng.random() < 0.02:
            register = rng.choice([each for each in REGISTERS if each.access != "wo"])
            queues["ar"].append(register.address)
        self.top.levels |= {
            "compute_request": rng.getrandbits(self.params.gtsu.ranks),
            "drained": int(rng.random() < 0.8),
            "layer_boundary": int(rng.random() < 0.1),
        }

    def _end_task(self) -> None:
        # Never that of a suspended task: it would come too late if the task is on offer again.
        if self._running is not None and not self.top.queues["done"]:
            self.top.queues["done"].append(self._running)

    def _send(self) -> None:
        """Send a batch, some of an epoch that has ended; or a cut, while no rejection is due."""
        rng, queues = self.rng, self.params.queues
        epoch = self._epoch
        self._serial += 1
        batch = self._serial % (1 << queues.batch_width)
        branch = rng.getrandbits(queues.branch_width)
        if not self._rejecting and rng.random() < 0.15:
            words = [Word(Kind.CUT, epoch, 0, batch, branch, rng.randrange(queues.batch_tokens))]
            self._cuts += 1
        else:
            if rng.random() < 0.1:
                epoch = (epoch - 1) % self._epochs
            length = rng.randint(1, min(4, queues.batch_tokens))
            words = [Word(Kind.HEADER, epoch, 0, batch, branch, length)]
            for _ in range(length):
                words.append(Word(Kind.TOKEN, epoch, rng.getrandbits(queues.token_width)))
        batch_sent = Batch(epoch, words)
        for word in words:
            is_header = word.kind is Kind.HEADER
            self.top.word(word, rng.getrandbits(self.params.edc.entropy_width) * is_header)
            self._words_left.append((word, batch_sent))

    def _judge(self) -> None:
        """Report a pass, or the verdict on the oldest open batch."""
        rng = self.rng
        report = Report(
            Event.START,
            next_token=rng.getrandbits(self.params.queues.token_width),
            npu_cycles=rng.randint(150, 250),
            kv_length=rng.randint(1, 3),
        )
        if self.open and rng.random() < 0.8:
            fate = rng.random()
            full, void = fate > 0.15, fate < 0.05
            if not full and not void and (self._cuts or self._rejecting):
                return
            report = report._replace(
                event=Event.VERDICT,
                batch=self.open.popleft(),
                full=full,
                void=void,
                last=rng.random() < 0.1,
            )
            self._rejecting |= report.rejects
        self._tell(report)

    def _tell(self, report: Report) -> None:
        self.top.report(report)
        self._sent.append(report)

    def _ask(self) -> None:
        rng, queues, tvc = self.rng, self.params.queues, self.params.tvc
        request = Request(
            (self._epoch - (rng.random() < 0.1)) % self._epochs,
            rng.getrandbits(queues.branch_width),
            rng.getrandbits(queues.kv_width),
            rng.getrandbits(queues.task_width),
            0,
            rng.randint(1, tvc.tokens_max),
        )
        self._asked.append(request)
        self.top.queues["request"].append(request.pack(self.params))

    # What they are told

    def _on_draft(self, payload: int) -> None:
        word, batch = self._words_left.popleft()
        if word.kind is Kind.CUT:
            self._expected.append(batch)
            self.counts["cuts"] += 1
        elif word is batch.words[-1]:
            assert self._waiting is None
            self._waiting = batch
            self.counts["complete"] += 1

    def _on_decision(self, payload: int) -> None:
        decision = Decision.unpack(payload)
        answers = decision.cause in (Cause.PREDICTED, Cause.EXPLORED)
        self.counts["go" if decision.go and answers else "stop" if answers else "release"] += 1
        if answers:
            assert self._waiting is not None, "a decision without a batch"
            assert self._waiting.epoch == self._epoch, "a stale batch was granted"
            self._expected.append(self._waiting)
            self.counts["tokens"] += len(self._waiting.words) - 1
            self._entering, self._waiting = self._waiting, None

    def _on_feedback(self, payload: int) -> None:
        queues = self.params.queues
        report = Report.unpack(payload, queues)
        assert report == self._sent.popleft(), "feedback was lost, doubled or reordered"
        if report.event is Event.VERDICT:
            kind = "void" if report.void else "accepted" if report.full else "rejected"
            self.counts[kind] += 1
        if report.rejects:
            self._epoch = (self._epoch + 1) % self._epochs
            self._rejecting = False
            if self._entering is not None:
                self.counts["unsure"] += 1
                self.counts["unsure tokens"] += len(self._entering.words) - 1

    def _on_answer(self, payload: int) -> None:
        answer = Answer.unpack(payload, self.params.tvc)
        request = self._asked.popleft()
        assert answer.length <= request.available_tokens
        if answer.length:
            self.counts["inserts"] += 1
            self.counts["insert tokens"] += answer.length
            self._inserted.append((request, answer.length))

    def _on_preverify(self, payload: int) -> None:
        queues = self.params.queues
        fields = []
        for width in (
            queues.epoch_width,
            queues.branch_width,
            queues.kv_width,
            queues.length_width,
            queues.task_width,
        ):
            fields.append(payload & ((1 << width) - 1))
            payload >>= width
        epoch, branch, position, length, task = fields
        assert epoch == self._epoch
        while True:
            request, granted = self._inserted.popleft()
            expected = (request.epoch, request.branch, request.position, granted, request.task)
            if expected == (epoch, branch, position, length, task):
                break
            assert request.epoch != self._epoch or self.counts["rejected"]
        self._preverifying.append(task)

    def _on_issue(self, payload: int) -> None:
        issue = Issue.unpack(payload)
        self._running = issue.id
        if issue.resumed:
            return
        if issue.kind is TaskKind.PREVERIFY:
            assert issue.id == self._preverifying.popleft()
            self.counts["issue preverify"] += 1
        else:
            self.counts["issue draft"] += 1
        self._tasks.insert(0, issue.id)

    def _on_done(self, payload: int) -> None:
        self._tasks.remove(payload)
        if self._running == payload:
            self._running = None

    def _on_word(self, payload: int) -> None:
        word = Word.unpack(payload, self.params.queues)
        self.counts[f"delivered {word.kind.name}"] += 1
        self._arriving.append(word)
        first = self._arriving[0]
        if first.kind is Kind.HEADER and len(self._arriving) <= first.length:
            return
        while self._expected[0].words != self._arriving:
            lost = self._expected.popleft()
            assert lost.epoch != self._npu_epoch, "a batch was lost"
        self._expected.popleft()
        self._cuts -= first.kind is Kind.CUT
        if first.kind is Kind.HEADER and first.epoch == self._npu_epoch:
            self.open.append(first.batch)
        self._arriving = []

    def _on_report(self, payload: int) -> None:
        report = Report.unpack(payload, self.params.queues)
        if report.rejects:
            self.counts["rejections"] += 1
            self.open.clear()
            self._npu_epoch = (self._npu_epoch + 1) % self._epochs


@pytest.fixture
def make_world() -> Callable[..., World]:
    def make(engine: Engine, configuration: str, seed: int = 1, **clocks: int) -> World:
        params = UNITS["ahasd"].configurations[configuration]
        return World(Top(engine, params, Clocks(**clocks), seed), seed)

    return make


class RandomPins:
    """Every pin without any discipline, in phases of more and less load.

    Words are mostly those of batches, so that some get through, and addresses those of registers.
    """

    ANY = tuple(address for register in REGISTERS for address in register.addresses)

    def __init__(self, params: AhasdParams, seed: int) -> None:
        self.rng = Random(seed)
        self.params = params
        self.epoch = 0
        self._widths = widths(params)
        self._load = self._take = 0.5
        self._words: deque[int] = deque()
        self._word = 0
        self._now = 0

    def next(self, seen: dict[str, int]) -> tuple[dict[str, int], int]:
        """Return the inputs and the clocks of an edge, after the outputs of the one before."""
        rng = self.rng
        if rng.random() < 0.02:
            self._load = rng.choice((0.1, 0.5, 0.95))
            self._take = rng.choice((0.1, 0.5, 0.95))
        if seen.get("draft__ready") or not self._words:
            self._advance()
        pins = {name: rng.getrandbits(width) for name, width in self._widths.items()}
        for name in INPUTS:
            pins[f"{name}__valid"] = int(rng.random() < self._load)
        for name in ("aw", "w", "ar"):
            pins[f"{name}__valid"] = int(rng.random() < 0.05)
        for name in ("aw", "ar"):
            if rng.random() < 0.95:
                pins[f"{name}__payload"] = rng.choice(self.ANY)
        for name in OUTPUTS:
            pins[f"{name}__ready"] = int(rng.random() < self._take)
        pins["draft__payload"] = self._word
        mask = rng.choice((1, 2, 3))
        pins["now"] = self._now % (1 << self.params.tvc.time_width)
        self._now += mask & PIM
        return pins, mask

    def _advance(self) -> None:
        """Take up the next word."""
        rng, queues = self.rng, self.params.queues
        if not self._words and rng.random() < 0.05:
            self._words.append(rng.getrandbits(self._widths["draft__payload"]))
        elif not self._words:
            length = rng.randint(0, min(5, queues.batch_tokens + 1))
            kind = Kind.HEADER if rng.random() < 0.9 else Kind.CUT
            epoch = self.epoch if rng.random() < 0.9 else rng.getrandbits(queues.epoch_width)
            word = Word(kind, epoch, length=min(length, (1 << queues.length_width) - 1))
            entropy = rng.getrandbits(self.params.edc.entropy_width)
            self._words.append(
                word.pack(queues) | entropy << 2 + queues.epoch_width + queues.body_width
            )
            for _ in range(length if kind is Kind.HEADER else 0):
                token = Word(Kind.TOKEN, epoch, rng.getrandbits(queues.token_width))
                self._words.append(token.pack(queues))
        self._word = self._words.popleft()


def widths(params: AhasdParams) -> dict[str, int]:
    """Return the inputs of the top, but valids and readies, with their widths."""
    queues, tvc, number = params.queues, params.tvc, params.gtsu.id_width
    report = 5 + queues.batch_width + queues.length_width + queues.token_width
    streams = {
        "draft": 2 + queues.epoch_width + queues.body_width + params.edc.entropy_width,
        "request": sum(request_widths(params).values()),
        "task": number,
        "done": number,
        "measure": 2 + tvc.cycles_width + tvc.length_width,
        "feedback_in": report + queues.npu_cycles_width + queues.kv_width,
        "aw": params.host.address_width,
        "w": 36,
        "ar": params.host.address_width,
    }
    levels = {"drained": 1, "layer_boundary": 1, "compute_request": params.gtsu.ranks}
    return levels | {f"{name}__payload": width for name, width in streams.items()}


@pytest.fixture
def random_pins() -> type[RandomPins]:
    return RandomPins


@pytest.fixture
def top_type() -> type[Top]:
    return Top
