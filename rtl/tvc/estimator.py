# SPDX-License-Identifier: Apache-2.0
"""The TVC's tables and the program that fills and reads them."""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ahasd.rtl.tvc.arithmetic import (
    SerialArithmetic,
    extend,
    extend_signed,
    saturate,
    smaller,
    times,
)
from ahasd.rtl.tvc.params import Reason, Table, TvcParams


def answer_layout(params: TvcParams) -> data.StructLayout:
    """Return the layout of a decision."""
    cycles = unsigned(params.cycles_width)
    return data.StructLayout(
        {
            "length": unsigned(params.tokens_width),
            "reason": Reason,
            "npu_cycles": cycles,
            "slack": cycles,
        }
    )


class Estimator(wiring.Component):
    """Keep the three tables, and estimate from them.

    One serial arithmetic does every product and every quotient. The states of the FSM are a program
    of fixed length that loads it; the next state waits while it is busy.

    Timing: an answer comes `decision_cycles` of the parameters after its question, whatever the
    data; a measurement takes `record_cycles`. Meanwhile both inputs stall. A measurement goes
    before a question. An answer that is not taken stalls questions only.

    Reset empties the tables and the output; entries keep what they held.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    measure : stream of {table, cycles, length, factor}, in
        A measurement, its cycles still to be multiplied by `factor`, in the format of `npu_ratio`.
    question : stream, in
        A running task and all that bears on what is left of it. `limit` is the most tokens of the
        answer.
    clear : unsigned(1), in
        Empty the tables, a measurement on its way included. A question under way keeps what the
        tables held when it was taken.
    answer : stream of answer_layout, out
        Decision on a question.
    idle : unsigned(1), out
        Without an input, a further edge changes no state.
    """

    measure: stream.Interface
    question: stream.Interface
    clear: Signal
    answer: stream.Interface
    idle: Signal

    def __init__(self, params: TvcParams) -> None:
        self.params = params
        cycles = unsigned(params.cycles_width)
        length = unsigned(params.length_width)
        tokens = unsigned(params.tokens_width)
        measure = data.StructLayout(
            {
                "table": Table,
                "cycles": cycles,
                "length": length,
                "factor": unsigned(params.npu_ratio_width),
            }
        )
        question = data.StructLayout(
            {
                "running": 1,
                "kv_length": length,
                "elapsed": cycles,
                "switch_cycles": cycles,
                "slowdown_cycles": cycles,
                "cold_cycles": cycles,
                "affine_npu": 1,
                "affine_preverify": 1,
                "overhead": tokens,
                "limit": tokens,
            }
        )
        super().__init__(
            {
                "measure": In(stream.Signature(measure)),
                "question": In(stream.Signature(question)),
                "clear": In(1),
                "answer": Out(stream.Signature(answer_layout(params))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        width = params.accumulator_width
        last_index = Const(params.table_entries - 1, params.index_width)
        count_shape = unsigned(params.count_width)
        m = Module()

        m.submodules.arithmetic = arithmetic = SerialArithmetic(width)
        # PDCT keeps ratios only: it has no affine model.
        point_shape = data.StructLayout(
            {"cycles": params.cycles_width, "length": params.length_width}
        )
        m.submodules.points = points = Memory(
            shape=point_shape, depth=2 * params.table_entries, init=()
        )
        points_write = points.write_port(domain="pim")
        points_read = points.read_port(domain="comb")
        m.submodules.ratios = ratios = Memory(
            shape=params.ratio_width, depth=len(Table) * params.table_entries, init=()
        )
        ratios_write = ratios.write_port(domain="pim")
        ratios_read = ratios.read_port(domain="comb")
        count = Array(Signal(count_shape, name=f"count_{t.name.lower()}") for t in Table)
        oldest = Array(Signal(params.index_width, name=f"oldest_{t.name.lower()}") for t in Table)

        asked = Signal.like(self.question.payload)
        asked_count = Array(
            Signal(count_shape, name=f"asked_count_{t.name.lower()}") for t in Table
        )

        # The table at work and what is known of it. A measurement is kept in the sums.
        table = Signal(Table)
        index = Signal(params.index_width)
        n = Signal(count_shape)
        length_sum = Signal(params.length_sum_width)
        cycles_sum = Signal(params.cycles_sum_width)
        ratio_sum = Signal(params.ratio_sum_width)
        covariance = Signal(params.covariance_width)
        spread = Signal(params.spread_width)
        affine = Signal()
        dropped = Signal()  # the measurement on its way was cleared
        npu_cycles = Signal(params.cycles_width)
        slack = Signal(params.cycles_width)
        short = Signal()  # the slack is negative, or less than what no token takes

        waiting = Signal()
        m.d.comb += [
            self.measure.ready.eq(waiting),
            self.question.ready.eq(
                waiting & ~self.measure.valid & (~self.answer.valid | self.answer.ready)
            ),
            self.idle.eq(waiting & ~self.answer.valid),
        ]
        with m.If(self.answer.ready):
            m.d.pim += self.answer.valid.eq(0)

        # The entry at work; 0 if there is none, so that what a table never held counts nowhere.
        entry_valid = Signal()
        entry_cycles = Signal(params.cycles_sum_width)
        entry_length = Signal(params.length_sum_width)
        entry_ratio = Signal(params.ratio_sum_width)
        held = Value.cast(asked_count[table])
        preverify = table[1]
        m.d.comb += [
            points_read.addr.eq(Cat(index, preverify)),
            ratios_read.addr.eq(Cat(index, table)),
            entry_valid.eq(held[-1] | (index < held[:-1])),
        ]
        with m.If(entry_valid):
            m.d.comb += [
                entry_cycles.eq(points_read.data.cycles),
                entry_length.eq(points_read.data.length),
                entry_ratio.eq(ratios_read.data),
            ]

        # n times one thing or another, and how far that is from a sum.
        single = Signal(params.covariance_width)
        multiple = times(single, n)
        length_deviation = Signal(params.length_steps)
        cycles_deviation = Signal(params.cycles_steps)
        m.d.comb += [
            length_deviation.eq(multiple[: params.length_sum_width] - length_sum),
            cycles_deviation.eq(multiple[: params.cycles_sum_width] - cycles_sum),
        ]

        negative = arithmetic.accumulator[-1]
        unit_ratio = Cat(Const(0, params.ratio_fraction_width), n)

        def preset(value: Value) -> list[Any]:
            return [arithmetic.preset.eq(1), arithmetic.preset_value.eq(extend(value, width))]

        def multiply(operand: Value, factor: Value, steps: int) -> list[Any]:
            """Add a product to the accumulator; the factor is signed."""
            return [
                arithmetic.start.eq(1),
                arithmetic.operand.eq(extend(operand, width)),
                arithmetic.factor.eq(extend_signed(factor, width)),
                arithmetic.steps.eq(steps),
            ]

        def positive(value: Value) -> Value:
            return Cat(value, Const(0, 1))

        def divide(dividend: Value, divisor: Value, steps: int) -> list[Any]:
            return [
                *preset(Const(0, 1)),
                arithmetic.start.eq(1),
                arithmetic.divide.eq(1),
                arithmetic.operand.eq(extend(divisor, width)),
                arithmetic.factor.eq(Cat(Const(0, width - steps), extend(dividend, steps))),
                arithmetic.steps.eq(steps),
            ]

        def subtract(operand: Value) -> list[Any]:
            return multiply(operand, Const(-1, signed(1)), 1)

        estimable = asked_count[Table.NVCT].any() & asked_count[Table.PDCT].any()

        with m.If(~arithmetic.busy):
            with m.FSM(domain="pim") as program:
                with m.State("WAIT"):
                    m.d.comb += waiting.eq(1)
                    with m.If(self.measure.valid):
                        measured = self.measure.payload
                        m.d.comb += [
                            *preset(Const(params.npu_ratio_one >> 1, params.npu_ratio_width)),
                            *multiply(
                                measured.cycles, positive(measured.factor), params.scale_steps
                            ),
                        ]
                        m.d.pim += [
                            table.eq(measured.table),
                            index.eq(oldest[measured.table]),
                            length_sum.eq(measured.length),
                            dropped.eq(0),
                        ]
                        m.next = "RATIO"
                    with m.Elif(self.question.valid & self.question.ready):
                        m.d.pim += [
                            asked.eq(self.question.payload),
                            *(then.eq(now) for then, now in zip(asked_count, count, strict=True)),
                            table.eq(Table.NVCT),
                        ]
                        m.next = "OPEN"

                # A measurement: scale, divide, write.
                with m.State("RATIO"):
                    scaled = Signal(params.cycles_width)
                    shift = params.npu_ratio_fraction_width
                    m.d.comb += scaled.eq(
                        saturate(arithmetic.accumulator[shift:-1], params.cycles_width)
                    )
                    m.d.comb += divide(
                        Cat(Const(0, params.ratio_fraction_width), scaled),
                        length_sum,
                        params.ratio_width,
                    )
                    m.d.pim += cycles_sum.eq(scaled)
                    m.next = "WRITE"
                with m.State("WRITE"):
                    with m.If(~dropped):
                        m.d.comb += [points_write.en.eq(~table[0]), ratios_write.en.eq(1)]
                        m.d.pim += oldest[table].eq(oldest[table] + 1)
                        with m.If(~count[table][-1]):
                            m.d.pim += count[table].eq(count[table] + 1)
                    m.next = "WAIT"

                # Every table: add up what it holds.
                with m.State("OPEN"):
                    m.d.pim += [index.eq(0), length_sum.eq(0), cycles_sum.eq(0)]
                    with m.If(asked_count[table].any() | ~preverify):
                        m.d.pim += [n.eq(asked_count[table]), ratio_sum.eq(0)]
                    with m.Elif(asked.cold_cycles.any()):
                        m.d.pim += [
                            n.eq(1),
                            ratio_sum.eq(
                                Cat(Const(0, params.ratio_fraction_width), asked.cold_cycles)
                            ),
                        ]
                    # Else those of PDCT remain: a token costs as much as a drafted one.
                    m.next = "SUM"
                with m.State("SUM"):
                    m.d.comb += preset(Const(0, 1))
                    m.d.pim += [
                        length_sum.eq(length_sum + entry_length),
                        cycles_sum.eq(cycles_sum + entry_cycles),
                        ratio_sum.eq(ratio_sum + entry_ratio),
                        index.eq(index + 1),
                    ]
                    with m.If(index == last_index):
                        m.next = "DRAFT"
                        with m.If(~table[0]):
                            m.next = "FIT CYCLES"

                # NVCT and PVCT: least squares, then the model at the point that was asked for.
                with m.State("FIT CYCLES"):
                    m.d.comb += [
                        single.eq(entry_length),
                        *multiply(entry_cycles, length_deviation, params.length_steps),
                    ]
                    m.d.pim += index.eq(index + 1)
                    with m.If(index == last_index):
                        m.next = "COVARIANCE"
                with m.State("COVARIANCE"):
                    m.d.comb += preset(Const(0, 1))
                    m.d.pim += covariance.eq(
                        arithmetic.accumulator[: len(covariance)]
                        & (~negative).replicate(len(covariance))
                    )
                    m.next = "FIT LENGTHS"
                with m.State("FIT LENGTHS"):
                    m.d.comb += [
                        single.eq(entry_length),
                        *multiply(entry_length, length_deviation, params.length_steps),
                    ]
                    m.d.pim += index.eq(index + 1)
                    with m.If(index == last_index):
                        m.next = "SPREAD"
                with m.State("SPREAD"):
                    m.d.comb += preset(Const(0, 1))
                    m.d.pim += spread.eq(arithmetic.accumulator)
                    m.next = "SLOPE"
                with m.State("SLOPE"):
                    # The intercept times n * spread, for PVCT less than 0 times that.
                    m.d.comb += multiply(
                        covariance,
                        Mux(preverify, positive(length_sum), length_deviation),
                        params.length_steps,
                    )
                    m.next = "LEVEL"
                with m.State("LEVEL"):
                    m.d.comb += multiply(
                        spread,
                        Mux(preverify, cycles_deviation, positive(cycles_sum)),
                        params.cycles_steps,
                    )
                    m.next = "CHOOSE"
                with m.State("CHOOSE"):
                    fits = Signal()
                    with m.If(preverify):
                        m.d.comb += fits.eq(
                            asked.affine_preverify & (negative | ~arithmetic.accumulator.any())
                        )
                    with m.Else():
                        m.d.comb += fits.eq(asked.affine_npu & ~negative)
                    m.d.pim += affine.eq(fits & spread.any())
                    with m.If(~(fits & spread.any())):
                        m.d.comb += preset(Const(0, 1))
                    m.next = "QUERY"
                with m.State("QUERY"):
                    operand = Signal(max(params.covariance_width, params.ratio_sum_width))
                    query = Signal(params.cycles_sum_width)
                    m.d.comb += single.eq(Mux(preverify, slack, asked.kv_length))
                    with m.If(affine):
                        m.d.comb += [
                            operand.eq(Mux(preverify, spread, covariance)),
                            query.eq(multiple),
                        ]
                    with m.Else():
                        m.d.comb += [
                            operand.eq(Mux(preverify, unit_ratio, ratio_sum)),
                            query.eq(single),
                        ]
                    m.d.comb += multiply(operand, positive(query), params.cycles_steps)
                    m.next = "DIVIDE"
                with m.State("DIVIDE"):
                    divisor = Signal(width)
                    m.d.comb += single.eq(Mux(preverify, covariance, extend(spread, len(single))))
                    with m.If(affine):
                        m.d.comb += divisor.eq(multiple)
                    with m.Else():
                        m.d.comb += divisor.eq(
                            Mux(preverify, ratio_sum, extend(unit_ratio, len(ratio_sum)))
                        )
                    bits = params.dividend_width
                    m.d.comb += divide(
                        arithmetic.accumulator[:bits] & (~negative).replicate(bits), divisor, bits
                    )
                    m.d.pim += short.eq(short | negative)
                    m.next = "NPU"
                    with m.If(preverify):
                        m.next = "LESS OVERHEAD"
                with m.State("NPU"):
                    m.d.pim += [npu_cycles.eq(0), table.eq(Table.PDCT)]
                    with m.If(asked.running & n.any()):
                        m.d.pim += npu_cycles.eq(saturate(arithmetic.quotient, params.cycles_width))
                    m.next = "OPEN"

                # PDCT: what one drafted token takes, and what is left of the NPU task.
                with m.State("DRAFT"):
                    m.d.comb += divide(ratio_sum, unit_ratio, params.ratio_sum_width)
                    m.next = "LESS DRAFT"
                with m.State("LESS DRAFT"):
                    m.d.comb += preset(npu_cycles)
                    m.d.comb += subtract(arithmetic.quotient[: params.cycles_width])
                    m.next = "LESS ELAPSED"
                with m.State("LESS ELAPSED"):
                    m.d.comb += subtract(asked.elapsed)
                    m.next = "LESS SWITCHES"
                with m.State("LESS SWITCHES"):
                    m.d.comb += subtract(Cat(Const(0, 1), asked.switch_cycles))
                    m.next = "LESS SLOWDOWN"
                with m.State("LESS SLOWDOWN"):
                    m.d.comb += subtract(asked.slowdown_cycles)
                    m.next = "SLACK"
                with m.State("SLACK"):
                    m.d.pim += [slack.eq(0), short.eq(negative), table.eq(Table.PVCT)]
                    with m.If(estimable & ~negative):
                        m.d.pim += slack.eq(arithmetic.accumulator)
                    m.next = "OPEN"

                # What the slack is good for.
                with m.State("LESS OVERHEAD"):
                    m.d.comb += preset(arithmetic.quotient[: params.dividend_width])
                    m.d.comb += subtract(asked.overhead)
                    m.next = "ANSWER"
                with m.State("ANSWER"):
                    spare = arithmetic.accumulator
                    answer = Signal.like(self.answer.payload)
                    m.d.comb += [answer.npu_cycles.eq(npu_cycles), answer.slack.eq(slack)]
                    with m.If(~asked.running):
                        m.d.comb += answer.reason.eq(Reason.NO_TASK)
                    with m.Elif(~estimable):
                        m.d.comb += answer.reason.eq(Reason.NO_ESTIMATE)
                    with m.Elif(short | negative | ~spare.any()):
                        m.d.comb += answer.reason.eq(Reason.NO_SLACK)
                    with m.Elif(~asked.limit.any()):
                        m.d.comb += answer.reason.eq(Reason.NOTHING_AVAILABLE)
                    with m.Elif(~asked_count[Table.PVCT].any() & ~asked.cold_cycles.any()):
                        m.d.comb += answer.length.eq(1)  # to fill PVCT
                    with m.Else():
                        m.d.comb += answer.length.eq(
                            smaller(saturate(spare[:-1], params.tokens_width), asked.limit)
                        )
                    m.d.pim += [self.answer.valid.eq(1), self.answer.payload.eq(answer)]
                    m.next = "WAIT"

        m.d.comb += [
            points_write.addr.eq(points_read.addr),
            points_write.data.cycles.eq(cycles_sum),
            points_write.data.length.eq(length_sum),
            ratios_write.addr.eq(ratios_read.addr),
            ratios_write.data.eq(arithmetic.quotient),
        ]
        # Kept for the proofs (properties.py); no ports.
        self.program, self.arithmetic, self.asked = program, arithmetic, asked
        self.table, self.index = table, index
        with m.If(self.clear):
            m.d.pim += [*(c.eq(0) for c in count), *(o.eq(0) for o in oldest), dropped.eq(1)]
        return m
