# SPDX-License-Identifier: Apache-2.0
"""A driver of the queue controllers on two clocks, and a scoreboard that knows no golden model."""

from collections import Counter, deque
from collections.abc import Callable
from random import Random

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.queues.golden import NPU, PIM, Report, Word
from ahasd.rtl.queues.params import Event, Kind, QueuesParams
from ahasd.sim.ports import Engine
from ahasd.sim.registry import make_engine

LIMIT_EDGES = 400
STREAMS_IN = {"batch_in": PIM, "feedback_in": NPU, "preverify_in": PIM}
STREAMS_OUT = {"batch_out": NPU, "feedback_out": PIM, "preverify_out": PIM}


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


class Driver:
    """The unit on its pins, one transaction at a time; nothing is taken unless asked for."""

    def __init__(self, engine: Engine, params: QueuesParams, clocks: Clocks) -> None:
        self.engine = engine
        self.params = params
        self.clocks = clocks
        self.pins = {f"{name}__valid": 0 for name in STREAMS_IN}
        self.pins |= {f"{name}__payload": 0 for name in STREAMS_IN}
        self.pins |= {f"{name}__ready": 0 for name in STREAMS_OUT}

    def edge(self, mask: int | None = None, **pins: int) -> tuple[int, dict[str, int]]:
        """Take the next edge of the clocks, or one of a given mask."""
        mask = self.clocks.mask() if mask is None else mask
        return mask, self.engine.step(self.pins | pins, mask, 0)

    def wait(self, edges: int = 24) -> dict[str, int]:
        """Let things settle with nothing offered or taken."""
        seen: dict[str, int] = {}
        for _ in range(edges):
            _, seen = self.edge()
        return seen

    def offer(self, stream: str, payload: int) -> None:
        for _ in range(LIMIT_EDGES):
            mask, seen = self.edge(**{f"{stream}__valid": 1, f"{stream}__payload": payload})
            if mask & STREAMS_IN[stream] and seen[f"{stream}__ready"]:
                return
        raise AssertionError(f"{stream} was never taken")

    def stalls(self, stream: str, payload: int) -> bool:
        """Whether an offer stands untaken for a while."""
        for _ in range(24):
            mask, seen = self.edge(**{f"{stream}__valid": 1, f"{stream}__payload": payload})
            if mask & STREAMS_IN[stream] and seen[f"{stream}__ready"]:
                return False
        return True

    def take(self, stream: str) -> int | None:
        """Take a payload; None if none comes for a while."""
        for _ in range(24):
            mask, seen = self.edge(**{f"{stream}__ready": 1})
            if mask & STREAMS_OUT[stream] and seen[f"{stream}__valid"]:
                return seen[f"{stream}__payload"]
        return None

    def push(self, word: Word) -> None:
        self.offer("batch_in", word.pack(self.params))

    def push_batch(self, epoch: int, batch: int, *tokens: int, branch: int = 0) -> None:
        self.push(Word(Kind.HEADER, epoch, batch=batch, branch=branch, length=len(tokens)))
        for token in tokens:
            self.push(Word(Kind.TOKEN, epoch, token=token))

    def pop(self) -> Word | None:
        payload = self.take("batch_out")
        return None if payload is None else Word.unpack(payload, self.params)

    def pop_all(self) -> list[Word]:
        words = []
        while (word := self.pop()) is not None:
            words.append(word)
        return words

    def report(self, report: Report) -> None:
        self.offer("feedback_in", report.pack(self.params))

    def reject(self, batch: int = 0) -> None:
        self.report(Report(Event.VERDICT, batch))

    def feedback(self) -> tuple[Report, int] | None:
        payload = self.take("feedback_out")
        if payload is None:
            return None
        report = Report.unpack(payload, self.params)
        bits = report_bits(self.params)
        return report, payload >> bits


def report_bits(params: QueuesParams) -> int:
    return (
        1
        + params.batch_width
        + params.length_width
        + 4
        + params.token_width
        + params.npu_cycles_width
        + params.kv_width
    )


@pytest.fixture(params=["golden", "rtl"])
def make_queues(request: pytest.FixtureRequest) -> Callable[..., Driver]:
    def make(configuration: str = "small", **clocks: int) -> Driver:
        params = UNITS["queues"].configurations[configuration]
        driver = Driver(make_engine("queues", params, request.param), params, Clocks(**clocks))
        driver.wait(8)
        return driver

    return make


@pytest.fixture
def queues(make_queues: Callable[..., Driver]) -> Driver:
    return make_queues()


class Scoreboard:
    """Random legal use of the queues by a PIM and an NPU that keep their own books.

    The PIM pushes batches of its epoch, some with an epoch that has ended; the NPU takes them,
    judges the oldest and sometimes rejects it. Each side knows only what it has been told. Checked:
    what is delivered is what was pushed, in order, whole batches; every batch that is not delivered
    is stale; nothing stale comes after the acknowledge; feedback arrives in order, all of it; the
    number of outstanding credits is exact when everything has settled.
    """

    def __init__(self, engine: Engine, params: QueuesParams, clocks: Clocks, seed: int) -> None:
        self.engine = engine
        self.params = params
        self.clocks = clocks
        self.rng = Random(seed)
        self.counts: Counter[str] = Counter()
        self._epochs = 1 << params.epoch_width
        self._serial = 0
        # PIM
        self._pim_epoch = 0
        self._to_push: deque[Word] = deque()
        self._entered: deque[list[Word]] = deque()  # batches and cuts that may be delivered
        self._entering: list[Word] | None = None
        self._entering_left = 0
        # NPU
        self._npu_epoch = 0
        self._arriving: list[Word] = []
        self._open: deque[int] = deque()  # batches delivered and not judged
        self._to_report: deque[Report] = deque()
        self._sent: deque[tuple[Report, int]] = deque()
        self._tasks: deque[int] = deque()
        self._load = self._take = self._reject = 0.5

    @property
    def transactions(self) -> int:
        """Transfers so far, on all streams."""
        return sum(self.counts[name] for name in (*STREAMS_IN, *STREAMS_OUT))

    def run(self, transactions: int, *, until_quiet: bool = True) -> None:
        """Go on until so many transfers were made on all streams, then drain and check."""
        goal = self.transactions + transactions
        limit = self.counts["edges"] + LIMIT_EDGES * transactions
        while self.transactions < goal:
            self._edge(active=True)
            assert self.counts["edges"] < limit, "it hangs"
        if until_quiet:
            for _ in range(3000):
                self._edge(active=False)
            self._check_quiet()

    def _batch(self) -> None:
        """Make the words of a batch, or a cut, of this epoch or one that has ended."""
        rng, params = self.rng, self.params
        epoch = self._pim_epoch if rng.random() < 0.95 else rng.randrange(self._epochs)
        self._serial += 1
        batch = self._serial % (1 << params.batch_width)
        branch = rng.randrange(1 << params.branch_width)
        length = rng.randint(1, params.batch_tokens)
        if rng.random() < 0.15:
            self._to_push.append(Word(Kind.CUT, epoch, 0, batch, branch, length - 1))
            return
        self._to_push.append(Word(Kind.HEADER, epoch, 0, batch, branch, length))
        for _ in range(length):
            self._to_push.append(Word(Kind.TOKEN, epoch, rng.getrandbits(params.token_width)))

    def _judge(self) -> None:
        """Report a pass, or the verdict on the oldest open batch."""
        rng = self.rng
        if not self._open or rng.random() < 0.2:
            self._to_report.append(Report(Event.START, npu_cycles=0, kv_length=rng.getrandbits(1)))
            return
        batch = self._open.popleft()
        fate = rng.random()
        self._to_report.append(
            Report(
                Event.VERDICT,
                batch,
                full=fate > self._reject,
                void=fate < self._reject / 4,
                last=rng.random() < 0.5,
                next_token=rng.getrandbits(self.params.token_width),
            )
        )

    def _edge(self, *, active: bool) -> None:
        rng = self.rng
        if rng.random() < 0.01:
            self._load = rng.choice((0.1, 0.5, 0.95))
            self._take = rng.choice((0.1, 0.5, 0.95))
            self._reject = rng.choice((0.02, 0.1, 0.5))
        if active and not self._to_push:
            self._batch()
        if active and not self._to_report and rng.random() < 0.2:
            self._judge()
        mid_batch = self._entering is not None
        push = bool(self._to_push) and (active or mid_batch) and rng.random() < self._load
        report = bool(self._to_report) and rng.random() < self._load
        task = active and rng.random() < 0.1
        task_payload = self._pim_epoch | rng.getrandbits(4) << self.params.epoch_width
        pins = {
            "batch_in__valid": int(push),
            "batch_in__payload": self._to_push[0].pack(self.params) if push else 0,
            "feedback_in__valid": int(report),
            "feedback_in__payload": self._to_report[0].pack(self.params) if report else 0,
            "preverify_in__valid": int(task),
            "preverify_in__payload": task_payload if task else 0,
            "batch_out__ready": int(not active or rng.random() < self._take),
            "feedback_out__ready": int(not active or rng.random() < self._take),
            "preverify_out__ready": int(not active or rng.random() < self._take),
        }
        mask = self.clocks.mask()
        self.counts["edges"] += 1
        seen = self.engine.step(pins, mask, 0)
        assert seen["credits"] <= self.params.draft_batches
        assert not seen["bad_word"]
        if mask & NPU:
            self._npu(pins, seen)
        if mask & PIM:
            self._pim(pins, seen)

    def _pim(self, pins: dict[str, int], seen: dict[str, int]) -> None:
        assert seen["epoch_pim"] == self._pim_epoch
        if pins["batch_in__valid"] and seen["batch_in__ready"]:
            self.counts["batch_in"] += 1
            self._enter(self._to_push.popleft())
        if pins["preverify_in__valid"] and seen["preverify_in__ready"]:
            self.counts["preverify_in"] += 1
            self._tasks.append(pins["preverify_in__payload"])
        if pins["preverify_out__ready"] and seen["preverify_out__valid"]:
            self.counts["preverify_out"] += 1
            payload = seen["preverify_out__payload"]
            assert payload & (self._epochs - 1) == self._pim_epoch, "a stale task came out"
            while (task := self._tasks.popleft()) != payload:
                assert task & (self._epochs - 1) != self._pim_epoch, "a task was lost"
        if pins["feedback_out__ready"] and seen["feedback_out__valid"]:
            self.counts["feedback_out"] += 1
            payload = seen["feedback_out__payload"]
            report = Report.unpack(payload, self.params)
            assert (report, payload >> report_bits(self.params)) == self._sent.popleft()
            if report.rejects:
                self._pim_epoch = (self._pim_epoch + 1) % self._epochs

    def _enter(self, word: Word) -> None:
        """Note what the queue has promised to keep."""
        fresh = word.epoch == self._pim_epoch
        if word.kind is Kind.TOKEN:
            if self._entering is not None:
                self._entering.append(word)
            self._entering_left -= 1
            if not self._entering_left:
                self._entering = None
        elif fresh:
            group = [word]
            self._entered.append(group)
            if word.kind is Kind.HEADER:
                self._entering, self._entering_left = group, word.length
        elif word.kind is Kind.HEADER:
            self._entering_left = word.length

    def _npu(self, pins: dict[str, int], seen: dict[str, int]) -> None:
        assert seen["epoch_npu"] == self._npu_epoch
        if pins["batch_out__ready"] and seen["batch_out__valid"]:
            self.counts["batch_out"] += 1
            self._arrive(Word.unpack(seen["batch_out__payload"], self.params), seen)
        if pins["feedback_in__valid"] and seen["feedback_in__ready"]:
            self.counts["feedback_in"] += 1
            report = self._to_report.popleft()
            self._sent.append((report, self._npu_epoch))
            if report.rejects:
                assert not seen["flushing"], "a flush began before the last was acknowledged"
                self.counts["flushes"] += 1
                self._npu_epoch = (self._npu_epoch + 1) % self._epochs
                self._open.clear()
                self._to_report.clear()

    def _arrive(self, word: Word, seen: dict[str, int]) -> None:
        self._arriving.append(word)
        first = self._arriving[0]
        assert first.kind is not Kind.TOKEN, "a token without its header"
        assert word.kind is not Kind.ACK
        length = 1 if first.kind is Kind.CUT else 1 + first.length
        if len(self._arriving) < length:
            return
        while (group := self._entered.popleft()) != self._arriving:
            self.counts["dropped"] += 1
            assert group[0].epoch != self._npu_epoch, f"{group} was lost, {self._arriving} came"
        stale = first.epoch != self._npu_epoch
        if stale:
            self.counts["stale"] += 1
            assert seen["flushing"], "a stale batch came after the acknowledge"
        elif first.kind is Kind.HEADER:
            self._open.append(first.batch)
        self._arriving = []

    def _check_quiet(self) -> None:
        """Check the books when everything has settled."""
        pins = dict.fromkeys(
            [f"{n}__{e}" for n in STREAMS_IN for e in ("valid", "payload")]
            + [f"{n}__ready" for n in STREAMS_OUT],
            0,
        )
        seen = self.engine.step(pins, 3, 0)
        assert not self._sent, "feedback was lost"
        assert not self._arriving
        assert seen["idle_pim"]
        assert seen["idle_npu"]
        assert not seen["flushing"]
        assert seen["epoch_pim"] == seen["epoch_npu"]
        assert seen["credits"] == self.params.draft_batches
        assert seen["waiting_tokens"] == 0
        assert all(group[0].epoch != self._npu_epoch for group in self._entered)
        self._entered.clear()


@pytest.fixture
def scoreboard() -> Callable[..., Scoreboard]:
    return Scoreboard


@pytest.fixture
def clocks() -> Callable[..., Clocks]:
    return Clocks


def _random_pins(params: QueuesParams, rng: Random, epoch: int) -> dict[str, int]:
    """Pins without any discipline, mostly of the present epoch."""
    info = params.batch_width + params.branch_width + params.length_width
    pins = {}
    for name, width in (
        ("batch_in", 2 + params.epoch_width + max(params.token_width, info)),
        ("feedback_in", report_bits(params)),
        (
            "preverify_in",
            params.epoch_width
            + params.branch_width
            + params.kv_width
            + params.length_width
            + params.task_width,
        ),
    ):
        pins[f"{name}__valid"] = int(rng.random() < 0.6)
        payload = rng.getrandbits(width)
        shift = {"batch_in": 2, "preverify_in": 0}.get(name)
        if shift is not None and rng.random() < 0.8:
            payload &= ~(((1 << params.epoch_width) - 1) << shift)
            payload |= epoch << shift
        pins[f"{name}__payload"] = payload
    for name in ("batch_out", "feedback_out", "preverify_out"):
        pins[f"{name}__ready"] = int(rng.random() < 0.7)
    return pins


@pytest.fixture
def random_pins() -> Callable[..., dict[str, int]]:
    return _random_pins
