# SPDX-License-Identifier: Apache-2.0
"""Schemes on devices with round numbers: a draft step takes 10 ps, a pass 100 ps, a
pre-verification 20 ps, a prompt no time unless a test says so."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.machine import Machine
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.drafting.registry import FixedOptions
from ahasd.system.schemes.batch import Batch
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import AlwaysGo, IdealLink
from ahasd.system.schemes.npu import Emitter, NpuDecoder, NpuVerifier
from ahasd.system.schemes.pim import PimSequencer
from ahasd.system.schemes.prefill import Prefiller
from ahasd.system.schemes.preverify import Preverification
from ahasd.system.workload.playback import Playback, TargetStream

DRAFT_PS, PASS_PS = 10, 100


class RoundDevices:
    """Devices of constant times that record what was asked of them."""

    target_shape = SimpleNamespace(layers=4)

    def __init__(self, draft_ps: int, pass_ps: int, preverify_ps: int, prefill_ps: int) -> None:
        self._draft_ps = draft_ps
        self._pass_ps = pass_ps
        self._preverify_ps = preverify_ps
        self._prefill_ps = prefill_ps
        self.rows: list[int] = []
        self.preverified: list[int] = []
        self.prefilled: list[tuple[int, bool]] = []

    def preverify(self, rows: int, context: int) -> Task:
        self.preverified.append(rows)
        return round_task(self._preverify_ps)

    def draft(self, context: int) -> Task:
        return round_task(self._draft_ps)

    def verify(self, rows: int, context: int) -> Task:
        self.rows.append(rows)
        return round_task(self._pass_ps)

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        self.prefilled.append((rows, drafts))
        return round_task(self._prefill_ps)


def round_task(time_ps: int) -> Task:
    """Return a task of one phase, with a multiply-accumulate in each picosecond."""
    phases = (Phase(name="all", memory_ps=time_ps),)
    return Task(phases=phases, events=Events(pim_macs=time_ps))


class Cut:
    """A cut in the ideal queue."""

    def __init__(self, batch: Batch, keep: int, branch: int) -> None:
        self.batch, self.keep, self.branch = batch, keep, branch
        self.epoch = batch.epoch


class AdvisedLink(IdealLink):
    """An ideal link whose TVC answers from a list, at once, and whose ranks switch at once."""

    def __init__(self, kernel: Kernel, control: Any, answers: list[int], **limits: Any) -> None:
        super().__init__(kernel, control, **limits)
        self._answers = list(answers)
        self.asked: list[tuple[int, int]] = []
        self.measured: list[tuple[str, int, int | None]] = []

    def ask(self, *, branch, epoch, position, overhead, available) -> None:
        self.asked.append((overhead, available))
        length = self._answers.pop(0) if self._answers else 0
        self._kernel.after(0, self._answer, min(length, available))

    def _answer(self, length: int) -> None:
        self._pim.on_answer(length)
        if length:
            self._kernel.after(0, self._pim.on_preverify_issue)

    def end_preverify(self, time_ps: int, tokens: int | None) -> None:
        self.measured.append(("preverify", time_ps, tokens))

    def measure_draft(self, time_ps: int, tokens: int) -> None:
        self.measured.append(("draft", time_ps, tokens))

    def start_pass(self, batches, context) -> None:
        super().start_pass(batches, context)
        self._kernel.after(0, self._pim.on_taken, batches[-1])

    def cut(self, batch: Batch, keep: int, branch: int) -> None:
        self._queue.append(cast(Any, Cut(batch, keep, branch)))
        self._drain()

    def _drain(self) -> None:
        while self._open and self._queue:
            first: Any = self._queue[0]
            if isinstance(first, Cut):
                self._queue.popleft()
                self._npu.on_cut(first.batch, first.keep, first.branch)
            elif self._npu.accepts(first):
                self._npu.on_batch(self._queue.popleft())
            else:
                break
        if self._open:
            self._npu.on_quiet()


@pytest.fixture
def round_devices() -> Any:
    return RoundDevices(DRAFT_PS, PASS_PS, preverify_ps=20, prefill_ps=0)


@pytest.fixture
def drafting_in() -> Any:
    """Return devices whose draft step takes so many ps."""
    return lambda draft_ps: RoundDevices(draft_ps, PASS_PS, preverify_ps=20, prefill_ps=0)


@pytest.fixture
def play() -> Callable[..., Any]:
    """Run a scheme and return emitted tokens, their times, counts and activities."""

    def run(
        trace: Any,
        tokens: int,
        *,
        drafting: Any = None,
        k: int = 2,
        ahead: bool = True,
        control: Any = None,
        draft_ps: int = DRAFT_PS,
        pass_ps: int = PASS_PS,
        playback: Playback = "stream",
        queue_depth: int = 8,
        max_outstanding: int | None = None,
        decode: bool = False,
        answers: list[int] | None = None,
        preverify_ps: int = 20,
        prefill_ps: int = 0,
        continues: bool = True,
        wrong_hints: float = 0.0,
        **verification: Any,
    ) -> SimpleNamespace:
        kernel = Kernel()
        stream = TargetStream(trace, tokens, playback)
        devices: Any = RoundDevices(draft_ps, pass_ps, preverify_ps, prefill_ps)
        machine = Machine(kernel, None)
        ledger = Ledger()
        times: list[tuple[int, int]] = []
        emitter = Emitter(kernel, stream, lambda emitted: times.append((kernel.now_ps, emitted)))
        pim = link = None
        if decode:
            npu: Any = NpuDecoder(
                kernel, stream, devices, machine, ledger, emitter, playback=playback
            )
            npu.start()
        else:
            options = {"pass_tokens": 16, "take": "all", "bonus": "compare"} | verification
            decides = (control or AlwaysGo)(kernel)
            limits = {"depth": queue_depth, "max_outstanding": max_outstanding}
            link: Any = IdealLink(kernel, decides, **limits)
            if answers is not None:
                link = AdvisedLink(kernel, decides, answers, **limits)
            npu = NpuVerifier(kernel, stream, devices, machine, ledger, emitter, link, **options)
            preverification = None
            if answers is not None:
                preverification = Preverification(
                    kernel,
                    stream,
                    devices,
                    machine,
                    ledger,
                    link,
                    npu.activity,
                    continues=continues,
                    wrong_hints=wrong_hints,
                    seed=0,
                )
            pim = PimSequencer(
                kernel,
                stream,
                devices,
                machine,
                ledger,
                drafting or FixedOptions(k=k).build(),
                link,
                Prefiller(kernel, stream, devices, machine, ledger, npu.activity, drafts=True),
                playback=playback,
                ahead=ahead,
                has_edc=control is not None,
                preverification=preverification,
            )
            if preverification is not None:
                preverification.connect(pim)
            link.connect(pim, npu)
            link.boot(pim.start)
        kernel.run()
        for activity in (npu.activity, *([pim.activity] if pim else [])):
            activity.enter(activity.state, kernel.now_ps)
        assert emitter.tokens == [stream.target(pos) for pos in range(tokens)], "lossless"
        return SimpleNamespace(
            time_ps=kernel.now_ps,
            times=times,
            rows=devices.rows,
            ledger=ledger,
            npu=npu.activity.state_ps,
            pim=pim.activity.state_ps if pim else None,
            in_flight=pim.in_flight if pim else 0,
            asked=getattr(link, "asked", None),
            measured=getattr(link, "measured", None),
            preverified=devices.preverified,
            prefilled=devices.prefilled,
            first_ps=emitter.first_ps,
        )

    return run
