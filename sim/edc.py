# SPDX-License-Identifier: Apache-2.0
"""The EDC as the PIM sequencer's drafting control."""

from collections.abc import Callable

from ahasd.rtl.edc.params import Command, Decision, EdcParams, Verdict
from ahasd.sim.clocked import Clock, ClockedUnit, Cycles
from ahasd.sim.kernel import Kernel
from ahasd.sim.ports import Engine


class EdcControl:
    """Implements `ahasd.sim.ports.Control` by an EDC on any backend.

    Parameters
    ----------
    engine
        The unit.
    params
        Its parameters.
    kernel, clock
        The PIM clock.
    boundaries
        Preset of the bucket boundaries.
    recheck, explore
        CSRs of those names.
    skip
        False clocks every cycle.
    """

    def __init__(
        self,
        engine: Engine,
        params: EdcParams,
        kernel: Kernel,
        clock: Clock,
        *,
        boundaries: str,
        recheck: bool,
        explore: int,
        skip: bool,
    ) -> None:
        self.params = params
        packed = sum(
            boundary << (i * params.entropy_width)
            for i, boundary in enumerate(params.boundaries(boundaries))
        )
        self._unit = ClockedUnit(
            engine,
            kernel,
            {"pim": clock},
            inputs={"command": "pim", "verdict": "pim", "draft": "pim"},
            outputs={"decision": "pim"},
            levels={"boundaries": packed, "recheck": int(recheck), "explore": explore},
            idle={"pim": "idle_pim"},
            skip=skip,
        )

    def listen(self, decided: Callable[[bool, str], None]) -> None:
        """See `Control`; causes are the names of `ahasd.rtl.edc.params.Cause` in lower case."""

        def unpack(payload: int) -> None:
            decision = Decision.unpack(payload)
            decided(decision.go, decision.cause.name.lower())

        self._unit.listen("decision", unpack)

    def draft(self, entropy_nats: float) -> None:
        """See `Control`."""
        self._unit.send("draft", self.params.encode_entropy(entropy_nats))

    def verdict(self, full: bool) -> None:
        """See `Control`."""
        self._unit.send("verdict", Verdict.ACCEPTED if full else Verdict.REJECTED)

    def start_sequence(self) -> None:
        """See `Control`."""
        self._unit.send("command", Command.START_SEQUENCE)

    def finish(self) -> Cycles:
        """Account for the cycles up to now."""
        return self._unit.finish()["pim"]
