# SPDX-License-Identifier: Apache-2.0
"""The ideal link on its own."""

from types import SimpleNamespace
from typing import Any

from ahasd.sim.kernel import Kernel
from ahasd.system.drafting.base import DraftToken
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.link import IdealLink


def batch(number: int, epoch: int = 0) -> Batch:
    return Batch(number, epoch, 0, number, [DraftToken(1, 0.0, 1.0, 1.0, 0.0)])


def nothing(*_: Any) -> None: ...


def test_verdicts_wait_again_if_one_of_them_brings_the_next_offer():
    kernel, heard = Kernel(), []
    control: Any = SimpleNamespace(
        listen=lambda decided: None, draft=lambda entropy: None, verdict=lambda full: None
    )
    link = IdealLink(kernel, control)

    def on_verdict(verdict: Verdict) -> None:
        heard.append(verdict.batch.number)
        if len(heard) == 1:
            link.offer(batch(3))

    pim: Any = SimpleNamespace(on_decision=nothing, proceed=nothing, on_verdict=on_verdict)
    npu: Any = SimpleNamespace(accepts=lambda _: False, on_quiet=nothing)
    link.connect(pim, npu)
    link.offer(batch(2))
    for number in (0, 1):
        link.tell(Verdict(batch(number), "full", 1), pass_ps=None, context=0)
    kernel.run()
    assert heard == []
    link._on_decision(True, "predicted")
    assert heard == [0]
    link._on_decision(True, "predicted")
    assert heard == [0, 1]


def test_a_rejection_drops_what_waits_of_its_epoch_and_earlier_ones_and_no_more():
    kernel, came = Kernel(), []
    control: Any = SimpleNamespace(listen=nothing, draft=nothing, verdict=nothing)
    link = IdealLink(kernel, control)
    pim: Any = SimpleNamespace(on_decision=nothing, proceed=nothing, on_verdict=nothing)
    npu: Any = SimpleNamespace(
        accepts=lambda _: True, on_batch=lambda each: came.append(each.number), on_quiet=nothing
    )
    link.connect(pim, npu)
    link.start_pass([], context=0)
    for number, epoch in enumerate((0, 1, 1, 2)):
        link.offer(batch(number, epoch))
        link._on_decision(True, "predicted")
    link.tell(Verdict(batch(9, epoch=1), "rejected", 0), pass_ps=None, context=0)
    kernel.run()
    link.open()
    assert came == [3]
