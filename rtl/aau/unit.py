# SPDX-License-Identifier: Apache-2.0
"""The AAU in Amaranth: lanes, the state of a row, the machine that ends it, and who leads them."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import (
    INFINITY_CODE,
    KEY_WIDTH,
    LANE_WIDTH,
    MOMENTS,
    POWERS,
    RESULT_WIDTH,
    Command,
    Op,
    State,
    Summary,
)
from ahasd.rtl.aau.gate_unit import SHARE, GateUnit
from ahasd.rtl.aau.lane_unit import LaneUnit
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.rtl.aau.primitives.layouts import real_layout
from ahasd.rtl.aau.primitives.pipeline import Registers, widen
from ahasd.rtl.aau.real_logic import constant, lowest
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.reduction_unit import ReductionUnit, packed_layout
from ahasd.rtl.aau.scalar_unit import ScalarUnit
from ahasd.rtl.aau.schedule import REDUCE, Q, S, command_cycles
from ahasd.rtl.aau.sequencer import Phase, Sequencer, is_one_of
from ahasd.rtl.aau.term_unit import reference_width


class AauUnit(wiring.Component):
    """Do what attention and the layers around it need besides products of matrices.

    Timing: from one command to the next `command_cycles` of the schedule, whatever the data, and
    every cycle in which a beat is due and does not come, or a result, state or summary stands and
    is not taken. While it waits for one of these, all of a pass stands still: what consumes results
    must not withhold the beats behind them.

    Reset ends whatever is under way.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    command : stream of Command, in
        What to do with the row that follows.
    state_in : stream of State, in
        States to merge, as many as the command says.
    beat : stream of arrays of {x, b, c}, in
        The row, one element a lane, once for each of its passes; the last beat may be partly full.
    result : stream of arrays of codes, out
        Results, beat by beat; lanes without element hold 0.
    state_out : stream of State, out
        The state of a command that exports it.
    summary : stream of Summary, out
        The end of every other command.
    idle_pim : unsigned(1), out
        With no input valid, a further edge changes no state.

    Attributes
    ----------
    latency, interval
        Of a softmax of one beat [cycles].
    """

    command: stream.Interface
    state_in: stream.Interface
    beat: stream.Interface
    result: stream.Interface
    state_out: stream.Interface
    summary: stream.Interface
    idle_pim: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self.latency = self.interval = command_cycles(
            Op.SOFTMAX, params.lanes, lanes=params.lanes, numerics=params.numerics
        )
        lane = data.StructLayout({"x": 32, "b": 16, "c": 16})
        assert lane.size == LANE_WIDTH
        state = packed_layout(State, params)
        super().__init__(
            {
                "command": In(stream.Signature(packed_layout(Command, params))),
                "state_in": In(stream.Signature(state)),
                "beat": In(stream.Signature(data.ArrayLayout(lane, params.lanes))),
                "result": Out(stream.Signature(data.ArrayLayout(RESULT_WIDTH, params.lanes))),
                "state_out": Out(stream.Signature(state)),
                "summary": Out(stream.Signature(packed_layout(Summary, params))),
                "idle_pim": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params, numerics = self.params, self.params.numerics
        m = Module()
        m.submodules.sequencer = sequencer = Sequencer(params)
        m.submodules.reduction = reduction = ReductionUnit(params)
        m.submodules.scalar = scalar = ScalarUnit(params)
        lanes = [LaneUnit(params) for _ in range(params.lanes)]
        for i, lane in enumerate(lanes):
            m.submodules[f"lane_{i}"] = lane
        share = min(SHARE, params.lanes)
        gates = [GateUnit(numerics, share) for _ in range(params.lanes // share)]
        for i, gate in enumerate(gates):
            m.submodules[f"gate_{i}"] = gate

        wiring.connect(m, wiring.flipped(self.command), sequencer.command)
        now, phase, state = sequencer.now, sequencer.phase, reduction.state
        telling, exporting = phase == Phase.TELL, phase == Phase.EXPORT
        m.d.comb += [
            self.idle_pim.eq(phase == Phase.IDLE),
            sequencer.state_valid.eq(self.state_in.valid),
            sequencer.beat_valid.eq(self.beat.valid),
            sequencer.result_ready.eq(self.result.ready),
            sequencer.out_ready.eq(Mux(telling, self.summary.ready, self.state_out.ready)),
            sequencer.finished.eq(scalar.done),
            self.state_in.ready.eq(sequencer.wants_state),
            self.beat.ready.eq(sequencer.wants),
        ]

        powers, moments = Signal(), Signal()
        poison = Signal()
        m.d.comb += [powers.eq(is_one_of(now.op, POWERS)), moments.eq(is_one_of(now.op, MOMENTS))]
        with m.Switch(now.op):
            with m.Case(Op.SOFTMAX, Op.STATISTICS):
                m.d.comb += poison.eq(state.nan | state.positive)
            with m.Case(Op.LAYERNORM, Op.RMSNORM):
                m.d.comb += poison.eq(state.nan | state.positive | state.negative)
            with m.Case(Op.SUM):
                m.d.comb += poison.eq(state.nan | (state.positive & state.negative))
            with m.Case(Op.MAX, Op.TOP):
                m.d.comb += poison.eq(state.nan)

        self._reduce(m, sequencer, reduction, lanes, powers, moments)
        self._finish(m, sequencer, reduction, scalar, moments)
        self._constants(m, sequencer, reduction, scalar, lanes, moments)
        self._gate(m, sequencer, lanes, gates)
        for lane in lanes:
            m.d.comb += [
                lane.enable.eq(sequencer.moves),
                lane.control.eq(sequencer.control),
                lane.control.poison.eq(poison),
            ]

        for i, lane in enumerate(lanes):
            given = self.beat.payload[i]
            full = self._full(sequencer, sequencer.result_last, i) & sequencer.shows
            m.d.comb += [
                lane.x.eq(given.x),
                lane.operand_b.eq(given.b),
                lane.operand_c.eq(given.c),
                self.result.payload[i].eq(lane.code & full.replicate(RESULT_WIDTH)),
            ]
        m.d.comb += self.result.valid.eq(sequencer.shows)

        told = Signal(packed_layout(Summary, params))
        infinite = state.positive | state.negative
        m.d.comb += [
            told.key.eq(state.key),
            told.index.eq(state.index),
            told.empty.eq(is_one_of(now.op, params.passes) & ~state.seen),
            told.nan.eq(poison),
        ]
        with m.If(is_one_of(now.op, (Op.SUM, Op.STATISTICS))):
            m.d.comb += told.value.eq(scalar.value)
        with m.If(now.op == Op.STATISTICS):
            m.d.comb += [
                told.entropy.eq(scalar.entropy),
                told.probability.eq(scalar.probability),
            ]
        with m.If((now.op == Op.SUM) & infinite):
            m.d.comb += told.value.eq(Cat(Const(INFINITY_CODE, 31), state.negative))
        m.d.comb += [self.summary.valid.eq(telling), self.state_out.valid.eq(exporting)]
        with m.If(telling):
            m.d.comb += self.summary.payload.eq(told)
        with m.If(exporting):
            m.d.comb += self.state_out.payload.eq(state)
        return m

    def _full(self, sequencer: Sequencer, last: Value, lane: int) -> Value:
        """Tell whether a beat has an element in a lane; all but the last have."""
        bits = self.params.lanes.bit_length() - 1
        rest = sequencer.now.length[:bits]
        if lane == self.params.lanes - 1:
            return Value.cast(~last | ~rest.any())
        return Value.cast(~last | ~rest.any() | (rest > lane))

    def _reduce(
        self,
        m: Module,
        sequencer: Sequencer,
        reduction: ReductionUnit,
        lanes: list[LaneUnit],
        powers: Value,
        moments: Value,
    ) -> None:
        params, now = self.params, sequencer.now
        index, following = Signal(params.index_width), Signal(params.index_width)
        with m.If(sequencer.starts):
            m.d.pim += following.eq(self.command.payload.first_index)
        with m.If(sequencer.takes):
            m.d.pim += [index.eq(following), following.eq(following + params.lanes)]
        hands_over = (sequencer.phase == Phase.TELL) | (sequencer.phase == Phase.EXPORT)
        m.d.comb += [
            reduction.enable.eq(sequencer.moves),
            reduction.clear.eq(sequencer.starts),
            reduction.powers.eq(powers),
            reduction.moments.eq(moments),
            reduction.firsts.eq(is_one_of(now.op, _with("firsts"))),
            reduction.seconds.eq(is_one_of(now.op, _with("seconds"))),
            reduction.compare.eq(sequencer.compare),
            reduction.raise_reference.eq(sequencer.raise_reference),
            reduction.lift.eq(sequencer.lift),
            reduction.sum.eq(sequencer.sum),
            reduction.beat_index.eq(index),
            reduction.length.eq(now.length),
            reduction.count.eq(sequencer.ends & (sequencer.phase == Phase.REDUCE)),
            reduction.imported.eq(self.state_in.payload),
            reduction.take.eq(sequencer.takes_state),
            reduction.importing.eq((sequencer.phase == Phase.IMPORT) & sequencer.steps),
            reduction.listing.eq(sequencer.listing),
            reduction.merge.eq(sequencer.listing & sequencer.steps & ~hands_over),
            reduction.step.eq(sequencer.step),
            reduction.rotate.eq(sequencer.listing & sequencer.steps & hands_over),
        ]
        for i, lane in enumerate(lanes):
            key, nan, infinite, sign = _order(m, lane.newest, now.x_format, i)
            compared = self._full(sequencer, sequencer.compare_last, i)
            high = self._full(sequencer, sequencer.height_last, i)
            m.d.comb += [
                reduction.key[i].eq(key),
                reduction.sound[i].eq(compared & ~nan & ~(infinite & sign)),
                reduction.nan[i].eq(compared & nan),
                reduction.positive[i].eq(compared & infinite & ~sign),
                reduction.negative[i].eq(compared & infinite & sign),
                reduction.height[i].eq(Mux(powers, lane.scaled, lane.exponent)),
                reduction.height_valid[i].eq(high & (moments | lane.scaled_sound)),
                lane.active.eq(self._full(sequencer, sequencer.align_last, i)),
                reduction.term[i].eq(lane.term),
            ]

    def _finish(
        self,
        m: Module,
        sequencer: Sequencer,
        reduction: ReductionUnit,
        scalar: ScalarUnit,
        moments: Value,
    ) -> None:
        state, now = reduction.state, sequencer.now
        m.d.comb += [
            scalar.start.eq(sequencer.starts),
            scalar.op.eq(self.command.payload.op),
            scalar.run.eq(sequencer.phase == Phase.FINISH),
            scalar.first.eq(state.a),
            scalar.second.eq(state.b),
            scalar.count.eq(state.count),
            scalar.peak.eq(state.reference),
            scalar.level.eq(reduction.level),
            scalar.base.eq(Mux(moments, state.reference, 0)),
            scalar.k0.eq(now.k0),
            scalar.k1.eq(now.k1),
            scalar.k2.eq(now.k2),
        ]

    def _constants(
        self,
        m: Module,
        sequencer: Sequencer,
        reduction: ReductionUnit,
        scalar: ScalarUnit,
        lanes: list[LaneUnit],
        moments: Value,
    ) -> None:
        now, control = sequencer.now, sequencer.control
        width = real_width(self.params.numerics)
        k0, k1, k2 = (
            constant(m, code, width, f"k{i}") for i, code in enumerate((now.k0, now.k1, now.k2))
        )
        factor, addend = (Signal(real_layout(width), name=name) for name in ("factor", "addend"))
        with m.Switch(sequencer.ahead.q):
            with m.Case(Q.K0):
                m.d.comb += factor.eq(k0)
            with m.Case(Q.K1):
                m.d.comb += factor.eq(k1)
            with m.Case(Q.FACTOR):
                m.d.comb += factor.eq(scalar.factor)
            with m.Default():
                m.d.comb += factor.mantissa.eq(1 << (width - 1))
        with m.Switch(control.s):
            with m.Case(S.K2):
                m.d.comb += addend.eq(k2)
            with m.Case(S.OFFSET):
                m.d.comb += addend.eq(scalar.offset)
            with m.Default():
                m.d.comb += addend.exponent.eq(lowest())
        level = reduction.level
        twice = Cat(Const(0, 1), level).as_signed()
        reference = Signal(signed(reference_width(self.params)))
        with m.If(moments):
            m.d.comb += reference.eq(Mux(control.twice, twice, level))
        shared = {
            # A cycle early: a constant is converted before it is multiplied.
            "factor": Registers(m, sequencer.moves).hold(factor.as_value(), name="factor_now"),
            "addend": addend,
            "limit": scalar.limit,
            "level": reduction.level,
            "reference": reference,
            "power_shift": now.shift,
        }
        for lane in lanes:
            m.d.comb += [lane.constants[key].eq(value) for key, value in shared.items()]

    def _gate(
        self, m: Module, sequencer: Sequencer, lanes: list[LaneUnit], gates: list[GateUnit]
    ) -> None:
        for i, gate in enumerate(gates):
            m.d.comb += [
                gate.enable.eq(sequencer.moves),
                gate.keep.eq(sequencer.gate_keep[: gate.lanes]),
                gate.select.eq(sequencer.gate_select),
            ]
            for j in range(gate.lanes):
                lane = lanes[i * gate.lanes + j]
                m.d.comb += [
                    gate.power[j].eq(lane.power),
                    gate.below[j].eq(lane.below),
                    lane.sigmoid.eq(gate.sigmoid[j]),
                ]


def _with(sums: str) -> list[int]:
    """Return the operations that have the first or the second sums."""
    return [op for op, do in REDUCE.items() if getattr(do, sums) is not None]


def _order(m: Module, code: Value, form: Value, lane: int) -> tuple[Value, Value, Value, Value]:
    """Return an element's place in the order of all, and whether it is NaN, infinite, negative."""
    key = Signal(signed(KEY_WIDTH), name=f"key_{lane}")
    nan, infinite = Signal(name=f"nan_{lane}"), Signal(name=f"infinite_{lane}")
    for each in (Format.FP16, Format.BF16):
        fraction, exponent = code[: each.fraction_width], code[each.fraction_width : 15]
        some = exponent.any()
        # Inverted, not negated: no carry stands before the comparisons.
        wide = widen(code[:15] & some.replicate(15), 16) ^ (code[15] & some).replicate(16)
        with m.If(form == each):
            m.d.comb += [
                key.eq(wide.as_signed()),
                nan.eq(exponent.all() & fraction.any()),
                infinite.eq(exponent.all() & ~fraction.any()),
            ]
    with m.If(form == Format.INT8):
        m.d.comb += key.eq(code[:8].as_signed())
    with m.If(form == Format.INT32):
        m.d.comb += key.eq(code.as_signed())
    return key, nan, infinite, code[15]
