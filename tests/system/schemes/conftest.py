# SPDX-License-Identifier: Apache-2.0
"""Schemes on devices with round numbers: a draft step takes 10 ps, a pass 100 ps."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.sim.kernel import Kernel
from ahasd.system.drafting.registry import FixedOptions
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import AlwaysGo, IdealLink
from ahasd.system.schemes.npu import Emitter, NpuDecoder, NpuVerifier
from ahasd.system.schemes.pim import PimSequencer
from ahasd.system.workload.playback import Playback, TargetStream

DRAFT_PS, PASS_PS = 10, 100


class RoundDevices:
    """Devices of constant times that record what was asked of them."""

    def __init__(self, draft_ps: int, pass_ps: int) -> None:
        self._draft_ps = draft_ps
        self._pass_ps = pass_ps
        self.rows: list[int] = []

    def draft_step_ps(self, context: int) -> int:
        return self._draft_ps

    def pass_ps(self, rows: int, context: int) -> int:
        self.rows.append(rows)
        return self._pass_ps


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
        **verification: Any,
    ) -> SimpleNamespace:
        kernel = Kernel()
        stream = TargetStream(trace, tokens, playback)
        devices: Any = RoundDevices(draft_ps, pass_ps)
        ledger = Ledger()
        times: list[tuple[int, int]] = []
        emitter = Emitter(stream, lambda emitted: times.append((kernel.now_ps, emitted)))
        pim = None
        if decode:
            npu: Any = NpuDecoder(kernel, stream, devices, ledger, emitter)
            npu.start()
        else:
            options = {"pass_tokens": 16, "take": "all", "bonus": "compare"} | verification
            link = IdealLink(
                kernel,
                (control or AlwaysGo)(kernel),
                depth=queue_depth,
                max_outstanding=max_outstanding,
            )
            npu = NpuVerifier(kernel, stream, devices, ledger, emitter, link, **options)
            pim = PimSequencer(
                kernel,
                stream,
                devices,
                ledger,
                drafting or FixedOptions(k=k).build(),
                link,
                playback=playback,
                ahead=ahead,
                has_edc=control is not None,
            )
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
        )

    return run
