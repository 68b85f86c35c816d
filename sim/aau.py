# SPDX-License-Identifier: Apache-2.0
"""The AAU as a requester sees it: a command with its row in, results and what is told out."""

from typing import NamedTuple

from ahasd.rtl.aau.encodings import APPLYING, LANE_WIDTH, RESULT_WIDTH, Command, State, Summary
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.rows import Beat
from ahasd.sim.ports import Engine


class AauRun(NamedTuple):
    """What a command did.

    Attributes
    ----------
    cycles
        From the edge that takes it to the one that gives its summary or state, both included.
    results
        Codes, one an element; none of an operation without results.
    summaries
        What is told; none of a command that exports its state.
    exported
        What it exports; nothing of another.
    """

    cycles: int
    results: list[int]
    summaries: tuple[Summary, ...]
    exported: tuple[State, ...]


class AttentionUnit:
    """Run commands on the unit one after the other, and never stall it.

    Parameters
    ----------
    engine
        The unit, just after its reset.
    params
        Its parameters.
    period_ps
        Of its clock, for waveforms and messages.
    """

    def __init__(self, engine: Engine, params: AauParams, period_ps: int = 1250) -> None:
        self.params = params
        self.edges = 0
        self._engine = engine
        self._period_ps = period_ps

    def run(self, command: Command, row: Beat, states: tuple[State, ...] = ()) -> AauRun:
        """Run a command.

        Parameters
        ----------
        command
            What to do.
        row
            `length` elements and operands.
        states
            What it merges, `imports` of them.

        Raises
        ------
        AssertionError
            The unit does not end.
        """
        params = self.params
        passes = bool(command.op in params.passes and command.reduces)
        passes += bool(command.op in APPLYING and command.applies and not command.exports)
        offered = {
            "command": [command.pack(params)],
            "state_in": [state.pack(params) for state in states],
            "beat": self._beats(row) * passes,
        }
        results: list[int] = []
        summaries: list[Summary] = []
        exported: list[State] = []
        limit = 1000 + 8 * (len(offered["beat"]) + len(states) + 1)
        for cycles in range(1, limit):
            pins = {f"{name}__ready": 1 for name in ("result", "state_out", "summary")}
            for name, queue in offered.items():
                pins[f"{name}__valid"] = int(bool(queue))
                pins[f"{name}__payload"] = queue[0] if queue else 0
            self.edges += 1
            seen = self._engine.step(pins, 1, self.edges * self._period_ps)
            for name, queue in offered.items():
                if queue and seen[f"{name}__ready"]:
                    queue.pop(0)
            if seen["result__valid"]:
                results += self._codes(seen["result__payload"])
            if seen["summary__valid"]:
                summaries.append(Summary.unpack(seen["summary__payload"], params))
            if seen["state_out__valid"]:
                exported.append(State.unpack(seen["state_out__payload"], params))
            if len(summaries) + len(exported) == params.entries(command.op):
                results = results[: command.length]
                return AauRun(cycles, results, tuple(summaries), tuple(exported))
        raise AssertionError(f"the AAU does not end {command} within {limit} cycles")

    def _beats(self, row: Beat) -> list[int]:
        """Pack a row into beats."""
        lanes = self.params.lanes
        packed = [int(x) | int(b) << 32 | int(c) << 48 for x, b, c in zip(*row, strict=True)]
        return [
            sum(each << LANE_WIDTH * i for i, each in enumerate(packed[start : start + lanes]))
            for start in range(0, len(packed), lanes)
        ]

    def _codes(self, payload: int) -> list[int]:
        mask = (1 << RESULT_WIDTH) - 1
        return [payload >> RESULT_WIDTH * lane & mask for lane in range(self.params.lanes)]
