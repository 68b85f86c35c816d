# SPDX-License-Identifier: Apache-2.0
"""The sums of a row and their merge, in Amaranth: `sums.rebase` and `joined` are its model."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.pipeline import Registers, let, widen
from ahasd.rtl.aau.schedule import DELAYS
from ahasd.rtl.aau.sums import no_sums


def sums_layout(params: AauParams) -> data.StructLayout:
    """Return the shape of the sums of a row."""
    return data.StructLayout(
        {
            "reference": signed(params.reference_width),
            "a": signed(params.a_width),
            "b": params.b_width,
        }
    )


class RowStateUnit(wiring.Component):
    """Keep the sums of a row; add those of a beat, or of another part of the row.

    The ones that are relative to the lower reference are shifted. By how much is found when the
    reference rises, `delay` enabled edges before it is needed, so that in the cycle of the addition
    there are a shifter and an adder only.

    - A beat: `raise_reference` with its highest; of weighted sums `lift`, `delay` enabled edges
      later, and `add` with the next one; of others `add`, `delay` enabled edges later. One beat
      may follow another with the next edge, or, weighted, with the one after.
    - Another part: with `importing`, and the same sums given, the same steps one after the other.

    Reset leaves 0; `clear` comes first.

    Parameters
    ----------
    params
        Sizes of the AAU.

    Members
    -------
    enable : unsigned(1), in
        A pass moves at the next edge.
    importing : unsigned(1), in
        What is done is done with another part, also without `enable`.
    clear : unsigned(1), in
        Begin with the sums of no element.
    powers : unsigned(1), in
        Sums are of powers, else of moments.
    weighted : unsigned(1), in
        Second sums are of powers times what their elements are below the reference.
    delay : unsigned, in
        Edges from the reference of a beat to its sums, `DELAYS[0]` being 0.
    raise_reference, lift, add : unsigned(1), in
        The reference is compared; what the first sum moves goes into the second; sums are added.
    given : struct of `sums_layout`, in
        What is added; the highest of a beat is not of the same beat as its sums.
    sums : struct of `sums_layout`, out
        The row so far. The sums are relative to the reference when all beats are added.
    level : signed, out
        What sums relative to the reference really are relative to, see `sums.whole`.
    """

    latency = 1
    interval = 1

    enable: Signal
    importing: Signal
    clear: Signal
    powers: Signal
    weighted: Signal
    delay: Signal
    raise_reference: Signal
    lift: Signal
    add: Signal
    level: Signal
    given: data.View
    sums: data.View

    def __init__(self, params: AauParams) -> None:
        self.params = params
        layout = sums_layout(params)
        super().__init__(
            {
                "enable": In(1),
                "importing": In(1),
                "clear": In(1),
                "powers": In(1),
                "weighted": In(1),
                "delay": In(range(len(DELAYS))),
                "raise_reference": In(1),
                "lift": In(1),
                "add": In(1),
                "given": In(layout),
                "sums": Out(layout),
                "level": Out(signed(params.reference_width)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        self._kept = Signal(sums_layout(self.params), name="kept")
        self._moves = let(m, self.enable | self.importing, "moves")
        rise, above = self._reference(m)
        down, down_b, swap = self._amounts(m, rise, above)
        self._add(m, down, down_b, swap)
        m.d.comb += self.sums.eq(self._kept)
        return m

    def _level(self, m: Module, reference: Value, name: str) -> Value:
        behind, width = self.params.numerics.fraction_width, self.params.reference_width
        up = widen(reference[:behind].any(), width - behind + 1)
        above = widen(reference[behind:].as_signed(), width - behind + 1).as_unsigned() + up
        above = widen(above[: width - behind + 1].as_signed(), width)
        return let(m, Mux(self.powers, above, reference).as_signed(), name)

    def _reference(self, m: Module) -> tuple[Value, Value]:
        """Build the reference; return how far another one is from it, and whether that is above."""
        reference, given = self._kept.reference, self.given.reference
        with m.If(self._moves & self.raise_reference & (given > reference)):
            m.d.pim += reference.eq(given)
        with m.If(self.clear):
            m.d.pim += reference.eq(no_sums(self.params).reference)
        late = Registers(m, self.enable).hold(reference, name="late")
        other = let(m, Mux(self.importing, given, late).as_signed(), "other")
        level = self._level(m, reference, "own_level")
        m.d.comb += self.level.eq(level)
        difference = let(m, level - self._level(m, other, "other_level"), "difference")
        above = difference[-1]
        return let(m, Mux(above, -difference, difference)[: len(level) + 1], "rise"), above

    def _amounts(self, m: Module, rise: Value, above: Value) -> tuple[Value, Value, Value]:
        """Build the line of amounts by which sums are shifted.

        Returns
        -------
        tuple
            Those of the first and the second sum, and whether the given sums are shifted.
        """
        amount = let(m, rise[:6] | rise[6:].any().replicate(6), "amount")
        line = [amount]
        registers = Registers(m, self.enable)
        for i in range(DELAYS[-1] - 2):
            line.append(registers.hold(line[-1], name=f"amount_{i}"))
        due = Signal(6)
        with m.If(self.importing):
            m.d.comb += due.eq(amount)
        with m.Else(), m.Switch(self.delay):
            for i, delay in enumerate(DELAYS):
                with m.Case(i):
                    m.d.comb += due.eq(line[delay - 2])
        twice = Cat(Const(0, 1), due[:5]) | due[5].replicate(6)
        down, down_b, swap = Signal(6), Signal(6), Signal()
        with m.If(Mux(self.importing, self.raise_reference, self.enable & ~self.lift)):
            m.d.pim += [
                down.eq(due),
                down_b.eq(Mux(self.powers, due, twice)),
                swap.eq(self.importing & ~above),
            ]
        return down, down_b, swap

    def _add(self, m: Module, down: Value, down_b: Value, swap: Value) -> None:
        params, kept, given = self.params, self._kept, self.given
        low_a, high_a, low_b, high_b = (
            let(m, Mux(swap, one, other), name)
            for name, one, other in (
                ("low_a", given.a, kept.a),
                ("high_a", kept.a, given.a),
                ("low_b", given.b, kept.b),
                ("high_b", kept.b, given.b),
            )
        )
        width = max(params.a_width + 6, params.b_width) + 1
        lifted = Signal(signed(width), reset_less=True)
        with m.If(self._moves & self.lift):
            m.d.pim += lifted.eq(low_b + low_a.as_signed() * down)
        second = let(m, Mux(self.weighted, lifted, low_b).as_signed(), "second")
        with m.If(self._moves & self.add):
            m.d.pim += [
                kept.a.eq(high_a + (low_a.as_signed() >> down)),
                kept.b.eq(high_b + (second >> down_b)[: params.b_width]),
            ]
        with m.If(self.clear):
            m.d.pim += [kept.a.eq(0), kept.b.eq(0)]
