# SPDX-License-Identifier: Apache-2.0
"""Bit-exact model of whole rows: what comes of a command, without time."""

from typing import NamedTuple

import numpy as np

from ahasd.rtl.aau.encodings import APPLYING, INFINITY_CODE, Command, Op, State, Summary
from ahasd.rtl.aau.ending import Constants, Told, finish
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
from ahasd.rtl.aau.reduction import empty, merge, outgoing, reduce
from ahasd.rtl.aau.schedule import APPLY, Out, P, Q, S


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


class Rows:
    """What the AAU does with whole rows.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    """

    def __init__(self, params: AauParams) -> None:
        self.params = params

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
        constants, told = finish(command, state, self.params)
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
        addends = {S.ZERO: nothing, S.C: c, S.K2: k2, S.OFFSET: constants.offset}
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
            s = result if step.s is S.BEFORE else addends[step.s]
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
