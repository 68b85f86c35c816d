# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the AAU: the model of whole rows, behind pins, edge by edge."""

from collections.abc import Mapping

from ahasd.rtl.aau.encodings import APPLYING, LANE_WIDTH, RESULT_WIDTH, Command, Op, State
from ahasd.rtl.aau.ending import Constants, Told, finish
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.integers import ints
from ahasd.rtl.aau.reals import zero
from ahasd.rtl.aau.reduction import empty, merge, outgoing
from ahasd.rtl.aau.rows import Beat, Rows
from ahasd.rtl.aau.scalar_programs import program_cycles
from ahasd.rtl.aau.schedule import APPLY, Out, Pass, command_cycles, import_cycles


class AauGolden(Rows):
    """What the AAU does: `run` for whole commands, `step` for single edges.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.

    Attributes
    ----------
    latency, interval
        Of a softmax of one beat [cycles].
    """

    def __init__(self, params: AauParams) -> None:
        super().__init__(params)
        self.latency = self.interval = command_cycles(
            Op.SOFTMAX, params.lanes, lanes=params.lanes, numerics=params.numerics
        )
        self._phase = "idle"
        self._command = Command(op=0, length=0)
        self._state = empty(params)
        self._count = 0
        self._step = 0
        self._sent = False
        self._beats: list[int] = []
        self._results: list[int] = []
        self._constants = Constants(0, zero(), zero())
        self._told = Told(0, 0, 0)

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
        do = self._pass()
        shown = do is not None and self._shown(do) and not self._sent
        blocked = shown and not pins["result__ready"]
        wants = do is not None and self._wants(do)
        tells, exports = self._phase == "tell", self._phase == "export"
        out = 0
        if tells:
            told = self.summaries(self._command, self._state, self._told)
            out = told[self._step].pack(self.params)
        if exports:
            states = outgoing(self._state, self._command.op, self.params)
            out = states[self._step].pack(self.params)
        outputs = {
            "command__ready": int(self._phase == "idle"),
            "state_in__ready": int(self._phase == "import" and self._takes_state()),
            "beat__ready": int(wants and not blocked),
            "result__valid": int(shown),
            "result__payload": self._results[0] if shown else 0,
            "state_out__valid": int(exports),
            "state_out__payload": out if exports else 0,
            "summary__valid": int(tells),
            "summary__payload": out if tells else 0,
            "idle_pim": int(self._phase == "idle"),
        }
        if clocks:
            self._edge(pins, do, shown=shown, blocked=blocked, wants=wants)
        return outputs

    def _pass(self) -> Pass | None:
        if self._phase == "reduce":
            return self.params.passes[Op(self._command.op)]
        return APPLY[Op(self._command.op)] if self._phase == "apply" else None

    def _beat_count(self) -> int:
        return -(-self._command.length // self.params.lanes)

    def _wants(self, do: Pass) -> bool:
        """Tell whether a beat is due."""
        return self._count % do.interval == 0 and self._count // do.interval < self._beat_count()

    def _shown(self, do: Pass) -> bool:
        """Tell whether a result stands in this cycle."""
        since = self._count - do.latency
        return (
            do.out is not Out.NOTHING
            and since >= 0
            and since % do.interval == 0
            and since // do.interval < self._beat_count()
        )

    def _edge(
        self, pins: Mapping[str, int], do: Pass | None, *, shown: bool, blocked: bool, wants: bool
    ) -> None:
        command = self._command
        match self._phase:
            case "idle" if pins["command__valid"]:
                self._command = Command.unpack(pins["command__payload"], self.params)
                self._state = empty(self.params)
                self._constants, self._told = Constants(0, zero(), zero()), Told(0, 0, 0)
                self._count = 0
                self._enter("import" if self._command.imports else "reduce")
            case "import" if pins["state_in__valid"] or (command.op == Op.TOP and self._step):
                if self._takes_state():
                    given = State.unpack(pins["state_in__payload"], self.params)
                    self._state = merge(self._state, given, command.op, self.params)
                    self._count += 1
                if self._last_step(self._import_cycles()) and self._count == command.imports:
                    self._enter("reduce")
            case "finish":
                self._count += 1
                if self._count == program_cycles(Op(command.op), self.params.numerics):
                    self._constants, self._told = finish(command, self._state, self.params)
                    self._enter("apply")
            case "tell" if pins["summary__ready"]:
                if self._last_step(self.params.entries(command.op)):
                    self._phase = "idle"
            case "export" if pins["state_out__ready"]:
                if self._last_step(self.params.entries(command.op)):
                    self._phase = "idle"
        if do is None:
            return
        if shown and not blocked:
            self._results.pop(0)
            self._sent = True
        if blocked or (wants and not pins["beat__valid"]):
            return
        if wants:
            self._take(pins["beat__payload"])
        last = do.interval * (self._beat_count() - 1) + do.latency
        self._count += 1
        self._sent = False
        if self._count > last:
            if self._phase == "reduce":
                row = self._row(self._beats)
                self._state = self.reduced(self._state, command, row)
            self._enter("finish" if self._phase == "reduce" else "tell")

    def _import_cycles(self) -> int:
        return import_cycles(self._command.op, self.params.top_k)

    def _takes_state(self) -> bool:
        """Tell whether a state is taken in this step: an element in its first, sums in the last."""
        return self._step == (0 if self._command.op == Op.TOP else self._import_cycles() - 1)

    def _last_step(self, steps: int) -> bool:
        """Go on with a list or a merge, and tell whether this was the last of its steps."""
        self._step = (self._step + 1) % steps
        return self._step == 0

    def _enter(self, phase: str) -> None:
        """Begin a phase, or the first behind it that has something to do."""
        command, beats = self._command, self._beat_count()
        self._count = 0
        self._sent = False
        self._beats = []
        if phase == "reduce" and not (
            command.op in self.params.passes and command.reduces and beats
        ):
            phase = "finish"
        if phase == "finish" and command.exports:
            phase = "export"
        if phase == "finish" and not (
            command.op in self.params.passes
            and program_cycles(Op(command.op), self.params.numerics)
        ):
            phase = "apply"
        if phase == "apply" and not (command.op in APPLYING and command.applies and beats):
            phase = "tell"
        self._phase = phase

    def _take(self, payload: int) -> None:
        self._beats.append(payload)
        if self._phase == "apply":
            taken = (len(self._beats) - 1) * self.params.lanes
            row = self._row([payload], self._command.length - taken)
            results = self.applied(self._command, row, self._state, self._constants)
            packed = sum(
                int(code) << (RESULT_WIDTH * lane) for lane, code in enumerate(results.tolist())
            )
            self._results.append(packed)

    def _row(self, payloads: list[int], length: int | None = None) -> Beat:
        """Return beats as they came, as one row."""
        lanes = [
            payload >> (LANE_WIDTH * lane) & ((1 << LANE_WIDTH) - 1)
            for payload in payloads
            for lane in range(self.params.lanes)
        ][: self._command.length if length is None else length]
        return Beat(
            ints([lane & 0xFFFFFFFF for lane in lanes]),
            ints([lane >> 32 & 0xFFFF for lane in lanes]),
            ints([lane >> 48 for lane in lanes]),
        )
