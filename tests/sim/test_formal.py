# SPDX-License-Identifier: Apache-2.0
"""The way from Amaranth to a verdict, on units small enough to know the answer."""

import importlib.util

import pytest
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from vcd.reader import TokenKind, tokenize

from ahasd import UserError
from ahasd.gen.yosys import YosysError
from ahasd.rtl.configs import UNITS, Unit
from ahasd.rtl.lib.properties import Offers, Proof, Properties, Quiescence, Settling
from ahasd.sim.formal.model import Model
from ahasd.sim.formal.prove import decide, prove, reach

pytestmark = pytest.mark.formal


class Counter(wiring.Component):
    """Count pulses up to 5 and start again; the register `hidden` is not reset."""

    pulse: Signal
    now: Signal
    value: Signal
    idle_pim: Signal

    def __init__(self) -> None:
        super().__init__({"pulse": In(1), "now": In(4), "value": Out(3), "idle_pim": Out(1)})

    def elaborate(self, platform):
        m = Module()
        self.hidden = Signal(2, reset_less=True, init=1)
        m.d.comb += self.idle_pim.eq(self.value == 0)
        with m.If(self.pulse):
            m.d.pim += self.value.eq(self.value + 1)
            m.d.pim += self.hidden.eq(self.hidden ^ 3)
            with m.If(self.value == 5):
                m.d.pim += self.value.eq(0)
        return m


class Claims(Properties):
    def check(self, m):
        unit = self.unit
        m.d.comb += [
            Assert(unit.value <= 5, "at most five"),
            Assert(unit.value <= 4, "at most four"),
            Assert(unit.hidden == 1, "an initial value without reset is believed"),
            Cover(unit.value == 5, "five"),
            Cover(unit.value == 6, "six"),
        ]


class Shelf(wiring.Component):
    """A memory of two words."""

    put: stream.Interface
    where: Signal
    word: Signal

    def __init__(self) -> None:
        super().__init__({"put": In(stream.Signature(2)), "where": In(1), "word": Out(2)})
        self.idle_pim = Signal(init=1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=2, depth=2, init=[1, 2])
        write = memory.write_port(domain="pim")
        read = memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.where),
            write.data.eq(self.put.payload),
            write.en.eq(self.put.valid),
            read.addr.eq(self.where),
            self.word.eq(read.data),
            self.put.ready.eq(1),
        ]
        return m


def waves(path):
    """Return the last value of every net of a VCD file."""
    names, values = {}, {}
    with path.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.VAR:
                names[token.var.id_code] = token.var.reference
            elif token.kind is TokenKind.CHANGE_SCALAR:
                values[names[token.scalar_change.id_code]] = int(token.scalar_change.value)
            elif token.kind is TokenKind.CHANGE_VECTOR:
                values[names[token.vector_change.id_code]] = int(token.vector_change.value)
    return values


def test_what_holds_is_proved_and_what_does_not_is_refuted_with_its_trace(tmp_path):
    model = Model(Claims(Counter()))
    assert prove(model, "at most five", tmp_path).verdict == "proved"
    for engine in ("pdr", "bmc"):
        result = prove(model, "at most four", tmp_path, engine=engine, depth=10)
        assert (result.verdict, result.engine, result.depth) == ("refuted", engine, 6)
        assert "'at most four' is refuted" in str(result)
        assert waves(result.waves)["value"] == 5


def test_a_bound_is_a_bound(tmp_path):
    model = Model(Claims(Counter()))
    assert prove(model, "at most four", tmp_path, engine="bmc", depth=6).verdict == "refuted"
    result = prove(model, "at most four", tmp_path, engine="bmc", depth=5)
    assert (result.verdict, result.depth, result.holds) == ("bounded", 5, True)
    with pytest.raises(ValueError, match="needs a depth"):
        prove(model, "at most four", tmp_path, engine="bmc")


def test_covers_are_reached_or_not(tmp_path):
    model = Model(Claims(Counter()))
    assert reach(model, "five", tmp_path, depth=6).verdict == "reached"
    assert reach(model, "five", tmp_path, depth=5).verdict == "undecided"
    assert reach(model, "six", tmp_path, engine="pdr").verdict == "unreachable"


def test_initial_values_are_not_believed_where_reset_does_not_reach(tmp_path):
    model = Model(Claims(Counter()))
    name = "an initial value without reset is believed"
    assert prove(model, name, tmp_path).depth == 1


def test_memories_start_with_anything(tmp_path):
    class Full(Properties):
        def check(self, m):
            m.d.comb += Assert(self.unit.word != 3, "no word is three")

    assert prove(Model(Full(Shelf())), "no word is three", tmp_path).depth == 1


def test_reset_may_come_again(tmp_path):
    class Back(Properties):
        def check(self, m):
            was = self.past(m, Cat(self.unit.value, Const(1)))
            m.d.comb += Cover(was.any() & ~self.unit.value.any(), "zero again")
            m.d.comb += Cover(~was.any() & ~self.unit.value.any(), "reset")

    model = Model(Back(Counter()))
    assert reach(model, "zero again", tmp_path, depth=7).verdict == "reached"
    assert "pim_rst" in model.inputs


def test_nothing_counts_once_an_assumption_is_broken(tmp_path):
    class Slow(Properties):
        def check(self, m):
            m.d.comb += [
                Assume(~(self.past(m, self.unit.pulse) & self.unit.pulse), "no two pulses"),
                Assert(~self.past(m, self.past(m, self.unit.pulse) & self.unit.pulse), "rested"),
                Cover(self.unit.value == 2, "two"),
            ]

    model = Model(Slow(Counter()))
    assert model.assumptions == ("no two pulses",)
    assert prove(model, "rested", tmp_path).verdict == "proved"
    assert reach(model, "two", tmp_path, depth=10).depth == 4


def test_assumptions_without_a_cover_are_refused(tmp_path, monkeypatch):
    class Empty(Properties):
        def check(self, m):
            m.d.comb += [
                Assume(self.unit.value == 6, "impossible"),
                Assert(self.unit.value == 7, "false"),
            ]

    assert prove(Model(Empty(Counter())), "false", tmp_path).verdict == "proved"
    monkeypatch.setattr(Unit, "load_hardware", lambda unit: lambda params: Counter())
    with pytest.raises(ValueError, match="no cover shows that"):
        decide(UNITS["edc"], Proof(properties=Empty, configuration="test", cover_depth=9), tmp_path)


def test_assertions_under_a_condition_count_under_it_alone(tmp_path):
    class Guarded(Properties):
        def check(self, m):
            with m.If(self.unit.pulse):
                m.d.comb += Assert(self.unit.value != 0, "no pulse at zero")
            with m.If(self.unit.value == 7):
                m.d.comb += Assert(0, "never there")

    model = Model(Guarded(Counter()))
    assert prove(model, "never there", tmp_path).verdict == "proved"
    assert prove(model, "no pulse at zero", tmp_path).depth == 1


def test_values_that_are_free_and_values_that_stay(tmp_path):
    class Any(Properties):
        def check(self, m):
            free = self.free("free", 2)
            fixed = self.constant(m, "fixed", 2)
            started = self.past(m, 1)
            m.d.comb += [
                Assert(~started | (self.past(m, fixed) == fixed), "it stays"),
                Cover(started & (self.past(m, free) != free), "it moves"),
                Cover(fixed == 2, "it is anything"),
            ]

    model = Model(Any(Counter()))
    assert prove(model, "it stays", tmp_path).verdict == "proved"
    assert reach(model, "it moves", tmp_path, depth=3).depth == 2
    assert reach(model, "it is anything", tmp_path, depth=3).depth == 1


def test_quiescence_compares_every_flip_flop_and_memory_word(tmp_path):
    still = "idle_pim: an edge without input changes no state"
    model = Model(Quiescence(Counter(), inputs=["pulse"]))
    assert sorted({flop.names[0].partition("[")[0] for flop in model.still[still]}) == [
        "unit.hidden",
        "unit.value",
    ]
    assert len(model.still[still]) == 5
    assert prove(model, still, tmp_path).verdict == "proved"
    assert prove(model, "idle_pim lasts until an input comes", tmp_path).verdict == "proved"

    result = prove(Model(Quiescence(Counter(), inputs=["now"])), still, tmp_path)
    assert result.verdict == "refuted"
    assert set(result.moved) == {"unit.value[0]", "unit.hidden[0]", "unit.hidden[1]"}

    model = Model(Quiescence(Shelf()))
    assert len(model.still[still]) == 4
    assert prove(model, still, tmp_path).verdict == "proved"
    assert prove(Model(Quiescence(Shelf(), inputs=["where"])), still, tmp_path).moved


class Pair(wiring.Component):
    """Two flip-flops, each in an instance of its own, of which one moves."""

    def __init__(self, moves: str) -> None:
        self._moves = moves
        super().__init__({})
        self.idle_pim = Signal(init=1)

    def elaborate(self, platform):
        m = Module()
        for name in ("first", "second"):
            m.submodules[name] = part = Module()
            flop = Signal(name=f"{name}_flop")
            part.d.pim += flop.eq(flop ^ (name == self._moves))
        return m


@pytest.mark.parametrize("moves", ["first", "second"])
@pytest.mark.parametrize("engine", ["pdr", "bmc"])
def test_a_move_in_any_instance_is_found(moves, engine, tmp_path):
    still = "idle_pim: an edge without input changes no state"
    model = Model(Quiescence(Pair(moves), inputs=[]))
    assert len(model.still[still]) == len(model.assertions[still]) == 2
    result = prove(model, still, tmp_path, engine=engine, depth=4)
    assert result.verdict == "refuted"
    assert result.moved == (f"unit.{moves}.{moves}_flop",)
    assert prove(Model(Quiescence(Pair("none"), inputs=[])), still, tmp_path).verdict == "proved"


def test_a_domain_without_flip_flops_has_nothing_to_keep_still():
    class Still(Properties):
        def check(self, m):
            m.d.npu += Signal(name="observer").eq(1)
            self.keep_still(m, "npu", Const(1), "npu is still")

    with pytest.raises(ValueError, match="'npu is still': the domain npu has no flip-flop"):
        Model(Still(Counter()))


class Relay(wiring.Component):
    """A register between two streams; a faulty one lets go too early."""

    source: stream.Interface
    sink: stream.Interface

    def __init__(self, *, faulty: bool = False) -> None:
        self._faulty = faulty
        super().__init__({"source": In(stream.Signature(2)), "sink": Out(stream.Signature(2))})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.source.ready.eq(self.sink.ready | ~self.sink.valid)
        with m.If(self.source.ready | self._faulty):
            m.d.pim += [
                self.sink.valid.eq(self.source.valid),
                self.sink.payload.eq(self.source.payload),
            ]
        return m


def test_offers_stay_or_a_unit_is_found_out(tmp_path):
    name = "sink: an offer that is not taken stays, with its payload"
    model = Model(Offers(Relay()))
    assert prove(model, name, tmp_path).verdict == "proved"
    assert reach(model, "sink is stalled", tmp_path, depth=4).verdict == "reached"
    assert prove(Model(Offers(Relay(faulty=True))), name, tmp_path).verdict == "refuted"


class Crossing(wiring.Component):
    """Bits from one clock domain to another."""

    source: stream.Interface
    sink: stream.Interface

    def __init__(self) -> None:
        super().__init__({"source": In(stream.Signature(1)), "sink": Out(stream.Signature(1))})
        self.idle_pim = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = self.fifo = fifo = AsyncFIFO(
            width=1, depth=2, w_domain="npu", r_domain="pim"
        )
        m.d.comb += [
            fifo.w_data.eq(self.source.payload),
            fifo.w_en.eq(self.source.valid),
            self.source.ready.eq(fifo.w_rdy),
            self.sink.payload.eq(fifo.r_data),
            self.sink.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.sink.ready),
        ]
        m.d.comb += self.idle_pim.eq(~self.sink.valid)
        return m


class InOrder(Properties):
    """Bits come out in the order in which they went in."""

    def check(self, m):
        sent, got, wrong = Signal(2), Signal(2), Signal()
        bits = Signal(4)
        m.d.npu += sent.eq(sent + self.transfer(self.unit.source))
        m.d.pim += got.eq(got + self.transfer(self.unit.sink))
        with m.If(self.transfer(self.unit.source)):
            m.d.npu += bits.bit_select(sent, 1).eq(self.unit.source.payload)
        m.d.comb += wrong.eq(self.unit.sink.payload != bits.bit_select(got, 1))
        m.d.comb += [
            Assert(~(self.unit.sink.valid & wrong), "each bit is the one that was sent"),
            Assert(~self.unit.sink.valid | (sent != got), "no bit that was not sent"),
            Cover(got == 3, "three bits have crossed"),
        ]


def test_two_clocks_interleave_in_every_way(tmp_path):
    model = Model(InOrder(Crossing()))
    assert {"edge_npu", "edge_pim"} < set(model.inputs)
    for name in model.assertions:
        result = prove(model, name, tmp_path, timeout_s=60)
        assert result.verdict == "proved", str(result)
    assert reach(model, "three bits have crossed", tmp_path, depth=24).verdict == "reached"


def test_another_domain_moves_synchronisers_and_what_follows_them(tmp_path):
    still = "idle_pim: an edge without input changes no state"
    result = prove(Model(Quiescence(Crossing(), inputs=[])), still, tmp_path)
    assert result.verdict == "refuted"
    assert all(name.startswith("unit.fifo.") for name in result.moved)

    settled = r"stage\d+|r_rst(\$\d+)?"
    model = Model(Quiescence(Crossing(), inputs=[], settled=settled))
    assert list(model.assertions) == [still]
    assert prove(model, still, tmp_path).verdict == "proved"
    with pytest.raises(ValueError, match="no flip-flop is called 'stages'"):
        Model(Quiescence(Crossing(), inputs=[], settled="stages"))


def test_a_state_settles_in_rounds_whatever_the_clocks(tmp_path):
    class Idle(Crossing):
        sink_taken: Value

        def elaborate(self, platform):
            m = super().elaborate(platform)
            self.idle_npu = Signal(init=1)
            return m

    inputs = {"npu": ["source"], "pim": ["sink_taken"]}
    for rounds, verdict in ((4, "proved"), (3, "refuted")):
        unit = Idle()
        unit.sink_taken = unit.sink.ready & unit.sink.valid
        model = Model(Settling(unit, inputs, rounds))
        name = f"npu: idle without input for {rounds} rounds, no state changes"
        assert prove(model, name, tmp_path).verdict == verdict
        assert reach(model, "an input ends it", tmp_path, depth=24).verdict == "reached"


def test_observers_in_the_domain_step_see_every_edge(tmp_path):
    class Edges(Properties):
        def check(self, m):
            turns = Signal(2)
            m.d.step += turns.eq(turns + self.edge("pim"))
            clocked = Signal(2)
            m.d.pim += clocked.eq(clocked + 1)
            m.d.comb += Assert(turns == clocked, "every edge is counted")
            m.d.comb += Cover(turns == 3, "three edges")

    model = Model(Edges(Crossing()))
    assert {"edge_npu", "edge_pim"} < set(model.inputs)
    assert "edge_step" not in model.inputs
    assert prove(model, "every edge is counted", tmp_path).verdict == "proved"
    assert reach(model, "three edges", tmp_path, depth=4).depth == 4


def test_a_cut_lets_gates_and_flip_flops_be_anything_and_leaves_constants(tmp_path):
    class Cut(Properties):
        def check(self, m):
            constant = Signal(2)
            m.d.comb += constant.eq(2)
            self.cut(m, self.unit.value)
            self.cut(m, self.unit.idle_pim)
            self.cut(m, constant)
            m.d.comb += [
                Assert((self.unit.value == 0) | ~self.unit.idle_pim, "idle at zero"),
                Assert(self.unit.value != 7, "never seven"),
                Assert(constant == 2, "a constant"),
            ]

    model = Model(Cut(Counter()))
    assert prove(model, "idle at zero", tmp_path).depth == 1
    assert prove(model, "never seven", tmp_path).depth == 1
    assert prove(model, "a constant", tmp_path).verdict == "proved"


def test_statements_of_one_name_are_one_property(tmp_path):
    class Twins(Properties):
        def check(self, m):
            m.d.comb += [
                Assert(self.unit.value <= 5, "small"),
                Assert(self.unit.value <= 4, "small"),
                Assert(self.unit.value != 7, "odd"),
                Assert(self.unit.value != 6, "odd"),
            ]

    model = Model(Twins(Counter()))
    assert prove(model, "small", tmp_path).verdict == "refuted"
    assert prove(model, "odd", tmp_path).verdict == "proved"


def test_properties_outside_comb_or_without_a_name_are_refused():
    class Clocked(Properties):
        def check(self, m):
            m.d.pim += Assert(self.unit.value != 7, "clocked")

    class Nameless(Properties):
        def check(self, m):
            m.d.comb += Assert(self.unit.value != 7, "")

    with pytest.raises(YosysError, match="'clocked' belongs into the domain comb"):
        Model(Clocked(Counter()))
    with pytest.raises(YosysError, match="a property of kind assert has no message"):
        Model(Nameless(Counter()))


def test_a_missing_tool_is_one_clear_line(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "ahasd.sim.formal.netlist.find_spec",
        lambda name: None if name == "pyosys" else find(name),
    )
    with pytest.raises(UserError, match=r"^proofs need pyosys, .* pip install -e '\.\[formal\]'$"):
        Model(Claims(Counter()))
