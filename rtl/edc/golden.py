# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the EDC in plain integers."""

from collections import deque
from collections.abc import Mapping

from ahasd.rtl.edc.params import Cause, Command, Decision, EdcParams, Verdict


class EdcGolden:
    """What the EDC does, first per transaction, then per clock edge.

    `command`, `verdict` and `draft` are the effect of one accepted transfer on the stream of that
    name; `step` is one edge of the PIM clock with the handshakes around them.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    boundaries
        Encoded bucket boundaries, used by the transaction methods when they are called directly.
        `step` takes them from the pins instead.
    recheck, explore
        The CSRs of those names, likewise.
    """

    latency = 1
    interval = 1

    def __init__(
        self,
        params: EdcParams,
        boundaries: tuple[int, ...] = (),
        *,
        recheck: bool = True,
        explore: int = 0,
    ) -> None:
        self.params = params
        self.boundaries = boundaries
        self.recheck = recheck
        self.explore = explore
        self.pht = [params.counter_reset] * params.pht_entries
        self.stop_count = 0
        self.orphan = False
        self._start_sequence()
        self._answer = Decision(False, Cause.PREDICTED)  # keeps its value after it was taken
        self._answer_valid = False
        # Memories survive a reset, so a reset begins with a clear.
        self._clear_left = params.pht_entries

    def _start_sequence(self) -> None:
        self.leht = [0] * self.params.history  # H0, the newest, first
        self.lceht = [0] * self.params.history
        self.in_flight: deque[tuple[int, int]] = deque()  # (bucket, index), oldest first
        self.stopped = False

    @property
    def llr(self) -> int:
        """Unverified batches ahead."""
        return len(self.in_flight)

    def bucket(self, entropy: int) -> int:
        """Return the entropy's bucket: how many boundaries it has reached."""
        return sum(entropy >= boundary for boundary in self.boundaries)

    def index(self) -> int:
        """Return the PHT index of the present history and LLR."""
        half = self.params.history // 2
        older = sum(self.leht[half:]) // half
        recent = sum(self.leht[:half]) // half
        width = self.params.bucket_width
        return ((older << width | recent) << self.params.llr_width) | self.llr

    def _says_go(self, index: int) -> bool:
        return self.pht[index] >= self.params.counter_reset

    def command(self, command: Command) -> None:
        """Take a command."""
        if command is Command.START_SEQUENCE:
            self._start_sequence()
        else:
            self._clear_left = self.params.pht_entries

    def verdict(self, verdict: Verdict) -> Decision | None:
        """Take the verdict on the oldest batch; return the release of a held stop, if it is one."""
        if not self.in_flight:
            self.orphan = True
            return None
        bucket, index = self.in_flight.popleft()
        if verdict is Verdict.ACCEPTED:
            self.pht[index] = min(self.pht[index] + 1, self.params.counter_max)
            self.lceht = [bucket, *self.lceht[:-1]]
        elif verdict is Verdict.REJECTED:
            self.pht[index] = max(self.pht[index] - 1, 0)
            self.leht = list(self.lceht)
            self.in_flight.clear()
        if not self.stopped:
            return None
        if verdict is Verdict.REJECTED:
            cause = Cause.REJECTED
        elif not self.in_flight:
            cause = Cause.EMPTY
        elif verdict is Verdict.ACCEPTED and self.recheck and self._says_go(self.index()):
            cause = Cause.RECHECKED
        else:
            return None
        self.stopped = False
        return Decision(True, cause)

    def draft(self, entropy: int) -> Decision:
        """Take a finished batch and decide whether to draft ahead of it.

        Parameters
        ----------
        entropy
            Encoded batch-mean entropy.
        """
        bucket = self.bucket(entropy)
        self.leht = [bucket, *self.leht[:-1]]
        self.in_flight.append((bucket, 0))  # LLR counts the batch that is being judged
        index = self.index()
        self.in_flight[-1] = (bucket, index)
        if self._says_go(index):
            decision = Decision(True, Cause.PREDICTED)
        else:
            self.stop_count = (self.stop_count + 1) % (1 << self.params.stop_count_width)
            if self.explore and self.stop_count % (1 << self.explore) == 0:
                decision = Decision(True, Cause.EXPLORED)
            else:
                decision = Decision(False, Cause.PREDICTED)
        self.stopped = not decision.go
        return decision

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take one edge of the PIM clock.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            1, or 0 to look at the outputs without an edge.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        params = self.params
        mask = params.entropy_max
        packed = pins["boundaries"]
        self.boundaries = tuple(
            packed >> (i * params.entropy_width) & mask for i in range(params.boundary_count)
        )
        self.recheck = bool(pins["recheck"])
        self.explore = pins["explore"]

        clearing = self._clear_left > 0
        accept = not clearing and (not self._answer_valid or bool(pins["decision__ready"]))
        exclusive = accept and not pins["command__valid"]
        draft_ready = exclusive and self.llr < params.max_outstanding
        outputs = {
            "command__ready": int(accept),
            "verdict__ready": int(exclusive),
            "draft__ready": int(draft_ready),
            "decision__valid": int(self._answer_valid),
            "decision__payload": self._answer.pack(),
            "outstanding": self.llr,
            "orphan": int(self.orphan),
            "idle_pim": int(not clearing and not self._answer_valid),
        }
        if not clocks:
            return outputs

        if clearing:
            self.pht[params.pht_entries - self._clear_left] = params.counter_reset
            self._clear_left -= 1
        if accept:
            answer = None
            if pins["command__valid"]:
                self.command(Command(pins["command__payload"]))
            else:
                if pins["verdict__valid"]:
                    answer = self.verdict(Verdict(min(pins["verdict__payload"], Verdict.VOID)))
                if pins["draft__valid"] and draft_ready:
                    answer = self.draft(pins["draft__payload"])
            self._answer_valid = answer is not None
            self._answer = answer or self._answer
        return outputs
