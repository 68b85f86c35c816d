# SPDX-License-Identifier: Apache-2.0
"""What happens in which cycle, in Amaranth: phases of a command, and beats on their way."""

import enum
from collections.abc import Iterable, Iterator
from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.encodings import APPLYING, MOMENTS, POWERS, Command, Op
from ahasd.rtl.aau.gate_unit import SHARE
from ahasd.rtl.aau.lane_unit import control_layout, factors_layout
from ahasd.rtl.aau.operand_unit import B_KEPT, C_KEPT
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.power_unit import Base
from ahasd.rtl.aau.primitives.pipeline import Registers
from ahasd.rtl.aau.reduction_unit import packed_layout
from ahasd.rtl.aau.scalar_programs import ENDED
from ahasd.rtl.aau.schedule import (
    APPLY,
    COMPARE_AT,
    OPERAND_CYCLES,
    POWER_AFTER,
    PRODUCT_AFTER,
    REDUCE,
    RESULT_AFTER,
    SCALED_AFTER,
    P,
    Pass,
    Q,
    S,
    Step,
    import_cycles,
)
from ahasd.rtl.aau.schedule import Out as Stored

DEEPEST = max(do.latency for do in (*REDUCE.values(), *APPLY.values()))
RECIP_CYCLES = 1


class Phase(enum.IntEnum):
    """What a command is at."""

    IDLE = 0
    IMPORT = 1
    REDUCE = 2
    FINISH = 3
    APPLY = 4
    EXPORT = 5
    TELL = 6


def steps_of(params: AauParams) -> int:
    """Return the most steps in which a list, or a state, is merged."""
    return max(params.entries(Op.TOP), *(import_cycles(op) for op in POWERS))


def is_one_of(op: Value, ops: Iterable[int]) -> Value:
    """Tell whether an operation is one of some."""
    return Value.cast(op).matches(*sorted(int(each) for each in ops))


class Sequencer(wiring.Component):
    """Lead a command through its phases, and every beat through its cycles.

    All of a pass stands still while a beat is due and does not come, or a result is not taken.

    Members
    -------
    command : stream of Command, in
        The next command.
    now : struct of Command, out
        The one under way.
    phase : Phase, out
        What it is at.
    state_valid, beat_valid, result_ready, out_ready, finished : unsigned(1), in
        A state to merge, a beat or room for a result is there; the summary or the state is taken;
        the program ends.
    starts : unsigned(1), out
        A command is taken.
    wants, moves, takes, shows : unsigned(1), out
        A beat is due and can be taken; the pass moves at the next edge; it takes a beat with it;
        a result stands.
    ends : unsigned(1), out
        The pass ends with this cycle.
    ahead : struct, out
        Which factors a step has in the next cycle in which the pass moves.
    control : struct, out
        What lanes are told, but for `poison`.
    listing, steps, step : out
        A list is kept; a step is made with its entries, or with a state, and which one.
    wants_state, takes_state : unsigned(1), out
        A state can be taken, and is.
    compare, raise_reference, lift, sum, gate_keep, gate_select : out
        A beat is at the cycle at which that is done; the first step of a state is `raise_reference`
        and the second `lift`, too.
    compare_last, height_last, align_last, result_last : unsigned(1), out
        The beat at that cycle is the last of its row.
    """

    command: stream.Interface
    now: data.View
    ahead: data.View
    control: data.View
    phase: Signal
    state_valid: Signal
    beat_valid: Signal
    result_ready: Signal
    out_ready: Signal
    finished: Signal
    starts: Signal
    moves: Signal
    takes: Signal
    wants: Signal
    shows: Signal
    ends: Signal
    listing: Signal
    steps: Signal
    step: Signal
    wants_state: Signal
    takes_state: Signal
    compare: Signal
    raise_reference: Signal
    lift: Signal
    sum: Signal
    gate_keep: Signal
    gate_select: Signal
    compare_last: Signal
    height_last: Signal
    align_last: Signal
    result_last: Signal

    def __init__(self, params: AauParams) -> None:
        self.params = params
        command = packed_layout(Command, params)
        super().__init__(
            {
                "command": In(stream.Signature(command)),
                "now": Out(command),
                "phase": Out(Phase),
                "state_valid": In(1),
                "beat_valid": In(1),
                "result_ready": In(1),
                "out_ready": In(1),
                "finished": In(1),
                "starts": Out(1),
                "moves": Out(1),
                "takes": Out(1),
                "wants": Out(1),
                "shows": Out(1),
                "ends": Out(1),
                "ahead": Out(factors_layout()),
                "control": Out(control_layout()),
                "listing": Out(1),
                "steps": Out(1),
                "step": Out(range(steps_of(params))),
                "wants_state": Out(1),
                "takes_state": Out(1),
                "compare": Out(1),
                "raise_reference": Out(1),
                "lift": Out(1),
                "sum": Out(1),
                "gate_keep": Out(SHARE),
                "gate_select": Out(range(SHARE)),
                "compare_last": Out(1),
                "height_last": Out(1),
                "align_last": Out(1),
                "result_last": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        self._last_step = Signal(name="last_step")
        self._beats(m)
        self._list(m)
        self._phases(m)
        self._control(m)
        return m

    def _list(self, m: Module) -> None:
        """Build the steps in which entries of a list, or a state, are merged or handed over."""
        begun = self.step.any()
        last = Signal.like(self.step, name="step_last")
        entries = self.params.entries(Op.TOP)
        m.d.comb += last.eq(Mux(self.listing, entries - 1, 0))
        with m.Switch(self.phase):
            with m.Case(Phase.IMPORT):
                m.d.comb += self.steps.eq((self.listing & begun) | self.state_valid)
                with m.Switch(self.now.op):
                    for cycles, ops in self._merges():
                        with m.Case(*ops):
                            m.d.comb += last.eq(cycles - 1)
                m.d.comb += [
                    self.raise_reference.eq(~begun),
                    self.lift.eq(self.step == 1),
                    self.wants_state.eq(Mux(self.listing, ~begun, self._last_step)),
                ]
            with m.Case(Phase.REDUCE):
                m.d.comb += self.steps.eq(self.moves & (begun | self._token[COMPARE_AT]))
            with m.Case(Phase.TELL, Phase.EXPORT):
                m.d.comb += self.steps.eq(self.out_ready)
        m.d.comb += self._last_step.eq(self.step == last)
        with m.If(self.steps):
            m.d.pim += self.step.eq(Mux(self._last_step, 0, self.step + 1))

    def _merges(self) -> list[tuple[int, list[int]]]:
        """Return the cycles in which a state with sums is merged, with the operations."""
        found: dict[int, list[int]] = {}
        for op in sorted(POWERS | MOMENTS):
            found.setdefault(import_cycles(op), []).append(int(op))
        return list(found.items())

    def _phases(self, m: Module) -> None:
        phase, given = self.phase, self.command.payload
        m.d.comb += [
            self.listing.eq((self.now.op == Op.TOP) & bool(self.params.top_k)),
            self.command.ready.eq(phase == Phase.IDLE),
            self.starts.eq(self.command.ready & self.command.valid),
        ]
        # Of the command that is being taken, or that is under way.
        command = Signal(packed_layout(Command, self.params))
        m.d.comb += command.eq(Mux(self.command.ready, given.as_value(), self.now.as_value()))
        some = command.length.any()
        reduces = is_one_of(command.op, self.params.passes) & command.reduces & some
        applies = is_one_of(command.op, APPLYING) & command.applies & some
        after_finish, after_reduce, after_import = Signal(Phase), Signal(Phase), Signal(Phase)
        m.d.comb += after_finish.eq(Mux(applies, Phase.APPLY, Phase.TELL))
        with m.If(command.exports):
            m.d.comb += after_reduce.eq(Phase.EXPORT)
        with m.Elif(is_one_of(command.op, ENDED)):
            m.d.comb += after_reduce.eq(Phase.FINISH)
        with m.Else():
            m.d.comb += after_reduce.eq(after_finish)
        m.d.comb += after_import.eq(Mux(reduces, Phase.REDUCE, after_reduce))

        imported, through = (
            Signal(self.params.imports_width, name=name) for name in ("imported", "imported_next")
        )
        m.d.comb += [
            self.takes_state.eq(self.wants_state & self.state_valid),
            through.eq(imported + self.takes_state),
        ]
        with m.Switch(phase):
            with m.Case(Phase.IDLE):
                with m.If(self.command.valid):
                    m.d.pim += [self.now.eq(given), imported.eq(0)]
                    m.d.pim += phase.eq(Mux(given.imports.any(), Phase.IMPORT, after_import))
            with m.Case(Phase.IMPORT):
                m.d.pim += imported.eq(through)
                with m.If(self.steps & self._last_step & (through == self.now.imports)):
                    m.d.pim += phase.eq(after_import)
            with m.Case(Phase.REDUCE):
                with m.If(self.ends):
                    m.d.pim += phase.eq(after_reduce)
            with m.Case(Phase.FINISH):
                with m.If(self.finished):
                    m.d.pim += phase.eq(after_finish)
            with m.Case(Phase.APPLY):
                with m.If(self.ends):
                    m.d.pim += phase.eq(Phase.TELL)
            with m.Case(Phase.TELL, Phase.EXPORT):
                with m.If(self.steps & self._last_step):
                    m.d.pim += phase.eq(Phase.IDLE)

    def _each(self, m: Module) -> Iterator[Pass]:
        """Yield every pass, in the condition that it is under way."""
        for phase, passes in ((Phase.REDUCE, self.params.passes), (Phase.APPLY, APPLY)):
            with m.If(self.phase == phase):
                with m.Switch(self.now.op):
                    for do, ops in _grouped(passes):
                        with m.Case(*ops):
                            yield do

    def _beats(self, m: Module) -> None:
        params = self.params
        shift = params.lanes.bit_length() - 1
        slot = Signal(range(max(do.interval for do in APPLY.values())))
        taken = Signal(params.length_width)
        beats = Signal(params.length_width + 1)
        m.d.comb += beats.eq((self.now.length + params.lanes - 1) >> shift)
        self._token = [self.takes, *(Signal(name=f"token_{i}") for i in range(1, DEEPEST + 1))]
        is_last = Signal()
        self._last = [
            is_last,
            *(Signal(name=f"last_{i}", reset_less=True) for i in range(1, DEEPEST + 1)),
        ]
        passing = (self.phase == Phase.REDUCE) | (self.phase == Phase.APPLY)
        interval_ends, stores, sent, done = Signal(), Signal(), Signal(), Signal()
        result = Signal()
        for do in self._each(m):
            m.d.comb += [
                interval_ends.eq(slot == do.interval - 1),
                stores.eq(int(do.out is not Stored.NOTHING)),
                result.eq(self._token[do.latency]),
                self.result_last.eq(self._last[do.latency]),
            ]
        blocked = Signal()
        self._first = slot == 0
        m.d.comb += [
            is_last.eq(taken == beats - 1),
            done.eq(taken == beats),
            self.shows.eq(result & stores & ~sent),
            blocked.eq(self.shows & ~self.result_ready),
            self.wants.eq(passing & (slot == 0) & ~done & ~blocked),
            self.takes.eq(self.wants & self.beat_valid),
            self.moves.eq(passing & ~blocked & (~self.wants | self.beat_valid)),
            self.ends.eq(self.moves & result & self.result_last),
        ]
        with m.If(self.shows & self.result_ready):
            m.d.pim += sent.eq(1)
        with m.If(self.moves):
            m.d.pim += [slot.eq(Mux(interval_ends, 0, slot + 1)), sent.eq(0)]
            m.d.pim += [later.eq(now) for now, later in pairwise(self._token)]
            m.d.pim += [later.eq(now) for now, later in pairwise(self._last)]
        with m.If(self.takes):
            m.d.pim += taken.eq(taken + 1)
        with m.If(self.ends):
            m.d.pim += [slot.eq(0), taken.eq(0)]
            m.d.pim += [token.eq(0) for token in self._token[1:]]

    def _control(self, m: Module) -> None:
        control, token, last = self.control, self._token, self._last
        factors = Registers(m, self.moves).hold(self.ahead.as_value(), name="factors")
        m.d.comb += [
            control.factors.eq(factors),
            control.reading.shift.eq(self._first),
            control.reading.x_format.eq(self.now.x_format),
            control.reading.operand_format.eq(self.now.operand_format),
            control.result_format.eq(self.now.result_format),
            self.compare.eq(token[1] & (self.phase == Phase.REDUCE)),
            self.compare_last.eq(last[1]),
        ]
        for do in self._each(m):
            for number, step in enumerate(do.steps):
                self._step(m, do, number, step)
            m.d.comb += control.out.eq(do.out)
            if do.summed is not None:
                self._sums(m, do)
            elif do.out is Stored.POWER:
                m.d.comb += control.base.eq(Base.LIMIT)
            elif do.scaled is not None:
                m.d.comb += control.base.eq(Base.ZERO)
                powers = do.steps[do.scaled].at + POWER_AFTER
                for lane in range(SHARE):
                    begins = powers + lane
                    m.d.comb += self.gate_keep[lane].eq(token[begins + 1 + RECIP_CYCLES])
                    with m.If(token[begins]):
                        m.d.comb += self.gate_select.eq(lane)
            if do.scaled is not None:
                at = do.steps[do.scaled].at
                m.d.comb += control.take_scaled.eq(token[at + SCALED_AFTER])

    def _step(self, m: Module, do: Pass, number: int, step: Step) -> None:
        """Tell lanes of a step, each part of it in its cycle."""
        ahead, control, token = self.ahead, self.control, self._token
        delay = do.delay(number)
        with m.If(token[step.at - 1]):
            m.d.comb += [ahead.p.eq(step.p), ahead.q.eq(step.q), ahead.waited.eq(int(delay > 0))]
        with m.If(token[step.at + PRODUCT_AFTER]):
            m.d.comb += control.s.eq(step.s)
        if delay:
            assert step.q is not Q.RESULT, "only a first factor waits"
            with m.If(token[do.steps[number - 1].at + RESULT_AFTER]):
                m.d.comb += control.keep.eq(1)
        if step.p in (P.X, P.PARTNER):
            assert do.newer(step.at - OPERAND_CYCLES) == 0
        if step.p is P.PARTNER:
            m.d.comb += control.reading.partner.eq(token[step.at - OPERAND_CYCLES])
        if step.reads is not None:
            newer, of_b = do.newer(step.reads), step.q is Q.B
            assert newer < (B_KEPT if of_b else C_KEPT)
            assert step.s is S.C or step.q in (Q.B, Q.C)
            with m.If(token[step.reads]):
                m.d.comb += [
                    control.reading.operand.eq(1),
                    control.reading.place.eq(newer + (0 if of_b else B_KEPT)),
                ]

    def _sums(self, m: Module, do: Pass) -> None:
        control, token, last = self.control, self._token, self._last
        assert do.largest is not None
        assert do.summed is not None
        m.d.comb += [
            self.raise_reference.eq(token[do.largest]),
            self.height_last.eq(last[do.largest]),
            self.lift.eq(token[do.summed - 1] & do.weighted),
            self.sum.eq(token[do.summed]),
        ]
        if do.seconds is not None:
            m.d.comb += [self.align_last.eq(last[do.seconds]), control.twice.eq(1)]
        if do.firsts is not None:
            with m.If(token[do.firsts]):
                m.d.comb += [
                    self.align_last.eq(last[do.firsts]),
                    control.of_power.eq(int(do.scaled is not None)),
                    control.twice.eq(0),
                ]


def _grouped(passes: dict[Op, Pass]) -> list[tuple[Pass, list[int]]]:
    """Return passes with the operations that have them."""
    found: dict[Pass, list[int]] = {}
    for op, do in passes.items():
        found.setdefault(do, []).append(int(op))
    return list(found.items())
