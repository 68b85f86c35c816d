# SPDX-License-Identifier: Apache-2.0
"""The prompt: both models read it on the NPU before anything is drafted."""

from collections.abc import Callable

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.machine import Machine
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.workload.playback import TargetStream


class Prefiller:
    """Fill the caches of a sequence's models with the keys and values of its prompt.

    Parameters
    ----------
    kernel, stream, devices, machine, ledger
        What it works with.
    npu
        How the NPU spends its time.
    drafts
        Whether there is a draft model to fill, too.
    """

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: Devices,
        machine: Machine,
        ledger: Ledger,
        npu: Activity,
        *,
        drafts: bool,
    ) -> None:
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._machine = machine
        self._ledger = ledger
        self._npu = npu
        self._drafts = drafts

    def run(self, position: int, done: Callable[[], None]) -> None:
        """Process the prompt of the sequence that begins at a position, then call `done`."""
        rows = self._stream.context(position)
        self._npu.enter("prefilling", self._kernel.now_ps)
        began_ps = self._kernel.now_ps

        def on_end() -> None:
            self._npu.enter("starved", self._kernel.now_ps)
            self._ledger.prefills[rows] += 1
            self._ledger.prefill_ps += self._kernel.now_ps - began_ps
            done()

        self._machine.begin("npu", self._devices.prefill(rows, drafts=self._drafts), on_end)
