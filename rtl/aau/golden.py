# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the AAU: whole rows in integers, and the pins edge by edge."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau import scalar
from ahasd.rtl.aau.encodings import APPLYING, MOMENTS, Command, Op, State, Summary
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.integers import Ints, ints
from ahasd.rtl.aau.primitives.load.golden import Real
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid
from ahasd.rtl.aau.primitives.store.golden import store
from ahasd.rtl.aau.reals import (
    constant,
    multiply_add,
    one,
    operand,
    product,
    real_width,
    scaled,
    unit_fraction,
    zero,
)
from ahasd.rtl.aau.reduction import empty, merge, outgoing, reduce, whole
from ahasd.rtl.aau.scalar import PROGRAMS, Code, Number, Source, Target, program_cycles
from ahasd.rtl.aau.schedule import APPLY, Out, P, Pass, Q, S, command_cycles

EXPONENT_LIMIT = 200
"""Largest exponent of a constant that a program makes, so that no product leaves the exponents."""

INFINITY_CODE = 0x7F800000


class Beat(NamedTuple):
    """What a lane is given at a time, or a whole row of that.

    Attributes
    ----------
    x
        Element, of 32 bits; RoPE has its partner in the upper half.
    b, c
        Further operands, of 16 bits.
    """

    x: Ints
    b: Ints
    c: Ints


LANE_WIDTH = 64
RESULT_WIDTH = 16


class Constants(NamedTuple):
    """What a program leaves for the second pass."""

    limit: int
    factor: Real
    offset: Real


class Told(NamedTuple):
    """What a program leaves for the summary, in IEEE single precision."""

    value: int
    entropy: int
    probability: int


class AauGolden:
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
        self.params = params
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

    def run(self, command: Command, row: Beat, states: tuple[State, ...] = ()) -> "Outcome":
        """Do a command on a row, without time.

        Parameters
        ----------
        command
            What to do; its `imports` are not looked at.
        row
            `length` elements and operands; the same in both passes.
        states
            What is merged first.
        """
        state = empty(self.params)
        for each in states:
            state = merge(state, each, command.op, self.params)
        if command.op in self.params.passes and command.reduces:
            state = self.reduced(state, command, row)
        if command.exports:
            return Outcome(state, tuple(outgoing(state, command.op, self.params)), (), ints([]))
        constants, told = self.finish(command, state)
        results = ints([])
        if command.op in APPLYING and command.applies:
            results = self.applied(command, row, state, constants)
        return Outcome(state, (), self.summaries(command, state, told), results)

    def reduced(self, state: State, command: Command, row: Beat) -> State:
        """Return a state that goes on over a row."""
        form = Format(command.x_format)
        codes = row.x & ((1 << form.width) - 1)
        return reduce(
            state,
            codes,
            form,
            operand(codes, form, self.params.numerics),
            constant(command.k0, real_width(self.params.numerics)),
            command.op,
            command.first_index,
            self.params,
        )

    def finish(self, command: Command, state: State) -> tuple[Constants, Told]:
        """Run the program that ends a row."""
        params, numerics = self.params, self.params.numerics
        behind = params.sum_fraction_width
        base = whole(state.reference, command.op, params)
        exponent = state.reference if command.op in MOMENTS else 0
        registers: dict[int, Number] = dict.fromkeys(range(4), scalar.ZERO)
        for source, code in (
            (Source.K0, command.k0),
            (Source.K1, command.k1),
            (Source.K2, command.k2),
        ):
            k = constant(code, scalar.MANTISSA_WIDTH)
            registers[source] = scalar.normalised(
                int(k.sign), int(k.mantissa), int(k.exponent) - scalar.MANTISSA_WIDTH + 1
            )
        registers[Source.LN2] = scalar.LN2
        integers = {
            Source.A: (state.a, exponent - behind),
            Source.B: (state.b, 2 * exponent - behind),
            Source.COUNT: (state.count, 0),
            Source.PEAK: (state.reference, -numerics.fraction_width),
            Source.CEILING: (base, 0),
        }
        left: dict[Target, Number] = {}
        for code, to, a, b in (
            PROGRAMS.get(Op(command.op), ()) if command.op in self.params.passes else ()
        ):
            match code:
                case Code.TAKE:
                    value, exponent = integers[a]
                    found = scalar.normalised(int(value < 0), abs(value), exponent)
                case Code.MULTIPLY:
                    found = scalar.multiply(registers[a], registers[b])
                case Code.ADD | Code.SUM:
                    found = scalar.add(registers[a], registers[b], floor=code is Code.SUM)
                case Code.SUBTRACT | Code.EXCESS:
                    negated = registers[b]._replace(sign=registers[b].sign ^ 1)
                    found = scalar.add(registers[a], negated, floor=code is Code.EXCESS)
                case Code.LOG2:
                    found = scalar.log2(registers[a], numerics)
                case Code.RECIP:
                    found = scalar.reciprocal(registers[a], numerics)
                case Code.RSQRT:
                    found = scalar.reciprocal_root(registers[a], numerics)
                case Code.EXP2:
                    found = scalar.power(registers[a], numerics)
            if to < Target.LIMIT:
                registers[to] = found
            left[to] = found
        nothing = scalar.ZERO
        limit = scalar.fixed(
            left.get(Target.LIMIT, nothing), numerics.fraction_width, numerics.scaled_width
        )
        return (
            Constants(
                limit,
                self._short(left.get(Target.FACTOR, nothing)),
                self._short(left.get(Target.OFFSET, nothing)),
            ),
            Told(
                *(
                    scalar.single(left.get(target, nothing))
                    for target in (Target.VALUE, Target.ENTROPY, Target.PROBABILITY)
                )
            ),
        )

    def _short(self, number: Number) -> Real:
        """Return a number of a program as a lane's constant, rounded half up.

        So the mean of equal elements is one of them.
        """
        width = real_width(self.params.numerics)
        if number.exponent < -EXPONENT_LIMIT:
            return zero()
        mantissa = (number.mantissa >> (scalar.MANTISSA_WIDTH - width - 1)) + 1 >> 1
        carry = mantissa >> width
        exponent = min(number.exponent + carry, EXPONENT_LIMIT)
        return Real(*(ints(each) for each in (number.sign, mantissa >> carry, exponent, 0, 0)))

    def applied(self, command: Command, row: Beat, state: State, constants: Constants) -> Ints:
        """Return the results of a row in the second pass."""
        result = self.calculated(command, row, constants)
        code = store(
            result.sign,
            result.mantissa,
            result.exponent,
            real_width(self.params.numerics),
            Format(command.result_format),
            infinite=result.infinite,
            nan=result.nan | self.poisoned(command, state),
        )
        return np.broadcast_to(code, row.x.shape)

    def calculated(self, command: Command, row: Beat, constants: Constants) -> Real:
        """Return the results of a row before they are rounded to their format."""
        numerics = self.params.numerics
        width = real_width(numerics)
        do = APPLY[Op(command.op)]
        form, other = Format(command.x_format), Format(command.operand_format)
        k0, k1, k2 = (constant(code, width) for code in (command.k0, command.k1, command.k2))
        x = operand(row.x & ((1 << form.width) - 1), form, numerics)
        nothing = zero()
        result, sigmoids, height = nothing, nothing, ints(0)
        b, c = operand(row.b, other, numerics), operand(row.c, other, numerics)
        addends = {S.ZERO: nothing, S.B: b, S.C: c, S.K2: k2, S.OFFSET: constants.offset}
        for number, step in enumerate(do.steps):
            p = {
                P.X: x,
                P.PARTNER: operand(row.x >> 16 & 0xFFFF, other, numerics),
                P.RESULT: result,
            }[step.p]
            q = {
                Q.ONE: one(width),
                Q.B: b,
                Q.C: c,
                Q.SAME: p,
                Q.RESULT: result,
                Q.SIGMOID: sigmoids,
                Q.K0: k0,
                Q.K1: k1,
                Q.FACTOR: constants.factor,
            }[step.q]
            if number == do.scaled:
                height = scaled(product(p, q, width), numerics)
                sigmoids = unit_fraction(sigmoid(height, numerics), numerics)
            s = result if step.s is S.RESULT else addends[step.s]
            result = multiply_add(p, q, s, width)
        if do.out is Out.POWER:
            depth = np.clip(constants.limit - height, 0, (1 << numerics.depth_width) - 1)
            power = exp2(depth, numerics)
            masked = x.infinite & x.sign
            result = Real(
                np.zeros_like(masked),
                np.where(masked == 1, 0, power.mantissa << (width - numerics.mantissa_width)),
                command.shift - power.shift,
                np.zeros_like(masked),
                x.nan,
            )
        if do.out is Out.POSITIVE:
            below = (result.sign == 1) & (result.nan == 0)
            result = result._replace(
                sign=np.where(below, 0, result.sign),
                mantissa=np.where(below, 0, result.mantissa),
                infinite=np.where(below, 0, result.infinite),
            )
        return result

    def poisoned(self, command: Command, state: State) -> int:
        """Tell whether what was reduced makes no number."""
        match command.op:
            case Op.SOFTMAX | Op.STATISTICS:
                return state.nan | state.positive
            case Op.LAYERNORM | Op.RMSNORM:
                return state.nan | state.positive | state.negative
            case Op.SUM:
                return state.nan | (state.positive & state.negative)
            case Op.MAX | Op.TOP:
                return state.nan
        return 0

    def summaries(self, command: Command, state: State, told: Told) -> tuple[Summary, ...]:
        """Return what is told of a command, one after the other."""
        return tuple(
            self._summary(command, each, told) for each in outgoing(state, command.op, self.params)
        )

    def _summary(self, command: Command, state: State, told: Told) -> Summary:
        value = told.value
        if command.op == Op.SUM and state.positive | state.negative:
            value = state.negative << 31 | INFINITY_CODE
        reducing = int(command.op in self.params.passes)
        return Summary(
            value=value,
            entropy=told.entropy,
            probability=told.probability,
            key=state.key,
            index=state.index,
            empty=reducing & (state.seen ^ 1),
            nan=self.poisoned(command, state),
        )

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
            "state_in__ready": int(self._phase == "import" and self._step == 0),
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
            case "import" if self._step or pins["state_in__valid"]:
                if self._step == 0:
                    given = State.unpack(pins["state_in__payload"], self.params)
                    self._state = merge(self._state, given, command.op, self.params)
                    self._count += 1
                if self._last_step() and self._count == command.imports:
                    self._enter("reduce")
            case "finish":
                self._count += 1
                if self._count == program_cycles(Op(command.op), self.params.numerics):
                    self._constants, self._told = self.finish(command, self._state)
                    self._enter("apply")
            case "tell" if pins["summary__ready"]:
                if self._last_step():
                    self._phase = "idle"
            case "export" if pins["state_out__ready"]:
                if self._last_step():
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

    def _last_step(self) -> bool:
        """Go on with the entries of a list, and tell whether this was the last one."""
        self._step = (self._step + 1) % self.params.entries(self._command.op)
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


class Outcome(NamedTuple):
    """What comes of a command.

    Attributes
    ----------
    state
        The reduced row.
    exported
        What goes out of it; one state of all operations but TOP.
    summaries
        What is told; one of all operations but TOP; none of a command that exports its state.
    results
        Codes, one an element; none without second pass.
    """

    state: State
    exported: tuple[State, ...]
    summaries: tuple[Summary, ...]
    results: Ints

    @property
    def summary(self) -> Summary | None:
        """The first of the summaries."""
        return self.summaries[0] if self.summaries else None
