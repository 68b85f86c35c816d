# SPDX-License-Identifier: Apache-2.0
"""Pre-verification: the PIM looks with the target model at what the NPU has not judged yet."""

import random
from typing import Literal, Protocol

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.interface import Devices
from ahasd.system.devices.machine import Job, Machine
from ahasd.system.drafting.base import DraftToken
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.batch import Batch
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.link import Advisor
from ahasd.system.workload.playback import TargetStream


class Sequencer(Protocol):
    """What a pre-verification needs of the PIM sequencer."""

    @property
    def epoch(self) -> int:
        """Rejections so far."""
        ...

    @property
    def branch(self) -> int:
        """Number of the present chain."""
        ...

    @property
    def committed(self) -> int:
        """Positions that are out, as far as is known there."""
        ...

    def chain(self) -> list[tuple[int, DraftToken]]:
        """Return positions and tokens without a verdict."""
        ...

    def on_preverified(self, wrong: tuple[int, int] | None) -> None:
        """Learn the first position that is wrong, and the target model's token there."""
        ...


class Preverification:
    """Ask the TVC, and do what it says.

    A pre-verification starts at the first position that is not out: it computes the tokens in
    flight again, and then as many that the NPU has not taken as the TVC allows. It costs a pass of
    the target model on its own ranks; its keys and values are thrown away. A rejection ends it at
    the next layer.

    Parameters
    ----------
    kernel, stream, devices, machine, ledger, link
        What it works with.
    npu
        How the NPU spends its time, to see whether it starves meanwhile.
    continues
        Without a pre-verification drafting goes on in spite of a stop; else it waits.
    wrong_hints
        Probability that the target model in the PIM, whose numerics may differ from the NPU's,
        takes another token than the NPU's at a position.
    seed
        Of those draws.
    """

    def __init__(
        self,
        kernel: Kernel,
        stream: TargetStream,
        devices: Devices,
        machine: Machine,
        ledger: Ledger,
        link: Advisor,
        npu: Activity,
        *,
        continues: bool,
        wrong_hints: float,
        seed: int,
    ) -> None:
        self.continues = continues
        self.may_ask = False
        """Something has changed since the last question."""
        self._kernel = kernel
        self._stream = stream
        self._devices = devices
        self._machine = machine
        self._ledger = ledger
        self._account = ledger.preverify
        self._link = link
        self._npu = npu
        self._wrong_hints = wrong_hints
        self._random = random.Random(f"{seed} wrong hints")
        self._state: Literal["none", "asking", "waiting", "running"] = "none"
        self._cancelled = False
        self._taken_end = 0
        self._branch = 0  # of the chain that is examined
        self._position = 0  # the first that is
        self._count = 0  # tokens that are
        self._since_ps = 0
        self._starved_ps = 0
        self._context = 0
        self._job: Job | None = None
        self._hoping: set[int] = set()  # branches of which nothing is judged

    def connect(self, pim: Sequencer) -> None:
        """Name the PIM sequencer."""
        self._pim = pim

    @property
    def active(self) -> bool:
        """Whether the PIM is busy with it."""
        return self._state != "none"

    def on_taken(self, batch: Batch) -> None:
        """Learn that the NPU has taken the batches up to this one."""
        self._taken_end = batch.end
        self.may_ask = True

    def measure_draft(self, time_ps: int, tokens: int) -> None:
        """Tell the TVC how long a batch took to draft."""
        self._link.measure_draft(time_ps, tokens)

    def ask(self) -> None:
        """Ask the TVC."""
        pim = self._pim
        self.may_ask = False
        self._state = "asking"
        self._cancelled = False
        self._account.asked += 1
        self._branch = pim.branch
        self._position = pim.committed
        ahead = [position for position, _ in pim.chain() if position >= pim.committed]
        overhead = sum(position < self._taken_end for position in ahead)
        self._count = overhead
        self._link.ask(
            branch=pim.branch,
            epoch=pim.epoch,
            position=pim.committed,
            overhead=overhead,
            available=len(ahead) - overhead,
        )

    def on_answer(self, length: int) -> bool:
        """Take the TVC's answer; return whether a pre-verification follows."""
        if not length or self._cancelled:
            self._state = "none"
            return False
        self._account.inserted += 1
        self._state = "waiting"
        self._count += length
        self._since_ps = self._kernel.now_ps
        self._starved_ps = self._starved()
        return True

    def on_issue(self) -> bool:
        """Begin to compute; return False if nobody wants it any more."""
        if self._state != "waiting":
            self._link.end_preverify(0, None)
            return False
        self._state = "running"
        self._context = self._stream.context(self._position)
        task = self._devices.preverify(self._count, self._context)
        self._job = self._machine.begin("pim", task, self._on_end)
        return True

    def cancel(self) -> None:
        """Give up what is under way: its epoch has ended."""
        match self._state:
            case "asking":
                self._cancelled = True
            case "waiting":
                self._close()
            case "running":
                assert self._job is not None
                self._job.stop_at_part(self._devices.target_shape.layers, self._break_off)

    def halt(self) -> None:
        """Leave what is under way: the run is over."""
        if self._job is not None:
            self._job.cancel()
            self._ledger.count_abandoned("in_flight", self._job)
            self._job = None

    def _break_off(self) -> None:
        assert self._job is not None
        self._ledger.count_abandoned("preverification", self._job)
        self._job = None
        self._account.broken_off += 1
        self._close()
        self._link.end_preverify(0, None)
        self._pim.on_preverified(None)

    def _on_end(self) -> None:
        assert self._job is not None
        run_ps = self._job.elapsed_ps
        self._job = None
        self._account.run += 1
        self._account.tokens += self._count
        self._ledger.preverified[self._count, self._context] += 1
        self._close()
        self._link.end_preverify(run_ps, self._count)
        wrong = self._find_wrong()
        if wrong is not None:
            self._account.predicted += 1
        self._pim.on_preverified(wrong)

    def _find_wrong(self) -> tuple[int, int] | None:
        """Return the first position that the target model takes another token at, and that."""
        pim = self._pim
        if pim.branch != self._branch:
            return None
        end = self._position + self._count
        for position, token in pim.chain():
            if pim.committed <= position < end:
                own = self._stream.target(position)
                if self._wrong_hints and self._random.random() < self._wrong_hints:
                    own ^= 1
                if token.token != own:
                    return position, own
        return None

    def _close(self) -> None:
        self._state = "none"
        self._account.time_ps += self._kernel.now_ps - self._since_ps
        starved_ps = self._starved() - self._starved_ps
        self._account.harmful += starved_ps > 0
        self._account.harmful_ps += starved_ps

    def _starved(self) -> int:
        return self._npu.time_ps("starved", self._kernel.now_ps)

    def cut(self, batch: Batch, keep: int, branch: int) -> None:
        """Send a cut; the branch behind it is this pre-verification's."""
        self._link.cut(batch, keep, branch)
        self._hoping.add(branch)

    def on_judged(self, batch: Batch, right: bool) -> None:
        """Learn a verdict, to know whether the branch was worth it."""
        if batch.branch in self._hoping:
            self._hoping.discard(batch.branch)
            self._account.useful += right

    def on_survival(self) -> None:
        """Learn that a rejection confirmed the branches that were to be judged."""
        self._account.survived += 1
        self._account.useful += len(self._hoping)
        self._hoping.clear()
