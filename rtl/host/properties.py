# SPDX-License-Identifier: Apache-2.0
"""What is proved of the host interface.

Each side is proved to do its part whatever the other does (`Serving`, `Answering`, `Reading`), and
the crossings to carry what enters, unchanged and in time, whatever surrounds them (`Crossing`).
`Room` and `Settling` assume nothing. The sides assume that a crossing has room, which is `Room`,
and `Serving` that an answer follows a request, which `Answering` and `Crossing` give; `Crossing`
that one request or answer is under way at a time, which the sides give. These rest on each other
for earlier cycles only, so nothing goes in a circle.

So every request gets one response, in a bounded number of cycles as long as both clocks run and
units take commands: each side serves within its cycles below, and two edges of the reader bring
on offer what enters a crossing.
"""

from functools import partial

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Signal, Value
from amaranth.lib import stream

from ahasd.rtl.host.map import Kind, Register
from ahasd.rtl.host.params import block
from ahasd.rtl.host.pim_side import COMMANDS
from ahasd.rtl.host.unit import HostUnit
from ahasd.rtl.lib.properties import Proof, Properties, Settling

SERVING_CYCLES = 2
"""Cycles within which a request that can be served is: the first may go to the other kind."""

ANSWERING_CYCLES = 3
"""The same in the PIM's domain: two commands of a unit, and the answer."""


def register(name: str) -> Register:
    """Return a register of the PIM's block."""
    return next(each for each in block("pim") if each.name == f"pim.{name}")


class Serving(Properties):
    """The NPU's half alone: requests, responses, and what goes to the other domain."""

    unit: HostUnit

    def check(self, m: Module) -> None:
        """Count requests and responses of each channel, and requests in the other domain."""
        unit = self.unit.npu_side
        for value in (unit.requests.ready, unit.answers.valid, unit.answers.payload):
            self.cut(m, value)
        aw, w, b, ar, r = (
            self.transfer(each) for each in (unit.aw, unit.w, unit.b, unit.ar, unit.r)
        )
        addresses, data, reads = (Signal(2, name=name) for name in ("addresses", "data", "reads"))
        away = Signal(2)
        m.d.npu += [
            addresses.eq(addresses + aw - b),
            data.eq(data + w - b),
            reads.eq(reads + ar - r),
            away.eq(away + self.transfer(unit.requests) - self.transfer(unit.answers)),
        ]
        m.d.comb += [
            Assume(unit.requests.ready, "there is room for a request"),
            Assume(~unit.answers.valid | away.any(), "an answer follows a request"),
        ]
        write_due = addresses.any() & data.any() & ~unit.b.valid
        read_due = reads.any() & ~unit.r.valid
        self._in_time(m, "write", write_due & ~away.any())
        self._in_time(m, "read", read_due & ~away.any())
        waits = unit.answers.valid & ~unit.answers.ready
        overtakes = unit.r.valid & ~self.past(m, unit.r.valid, "npu")
        overtaken = Signal(2)
        with m.If(~(addresses.any() & data.any()) | unit.b.valid):
            m.d.npu += overtaken.eq(0)
        with m.Elif(overtakes & ~overtaken[1]):
            m.d.npu += overtaken.eq(overtaken + 1)
        m.d.comb += [
            Assert(
                ~unit.b.valid | (addresses.any() & data.any()), "b: no response without a write"
            ),
            Assert(~unit.r.valid | reads.any(), "r: no response without a read"),
            Assert(
                (addresses <= 2) & (data <= 2) & (reads <= 2),
                "no more than one request waits behind one whose response is not taken",
            ),
            Assert(~away[1], "no more than one request is in the other domain"),
            Assert(~waits, "an answer is taken at once"),
            Assert(~overtaken[1], "no two reads are answered while a write waits"),
            Assert(self.stays(m, unit.b, "npu"), "b: an offer that is not taken stays, unchanged"),
            Assert(self.stays(m, unit.r, "npu"), "r: an offer that is not taken stays, unchanged"),
            Assert(
                ~(self.transfer(unit.requests) & unit.requests.payload.write)
                | (addresses.any() & data.any()),
                "no write goes to the other domain before its address and data came",
            ),
            Cover((addresses == 2) & (reads == 2) & away.any(), "all slots are full"),
            Cover(unit.b.valid & unit.r.valid & unit.b.ready & unit.r.ready, "both are answered"),
            Cover(overtaken[0] & away.any(), "a write waits behind a read"),
        ]

    def _in_time(self, m: Module, name: str, due: Value) -> None:
        """Demand that a request that can be served is, soon."""
        waited = Signal(range(SERVING_CYCLES + 2), name=f"waited_{name}")
        with m.If(due & (waited <= SERVING_CYCLES)):
            m.d.npu += waited.eq(waited + 1)
        with m.Elif(~due):
            m.d.npu += waited.eq(0)
        m.d.comb += Assert(
            waited <= SERVING_CYCLES,
            f"a {name} is served within {SERVING_CYCLES} cycles, unless the other domain serves",
        )


class Answering(Properties):
    """The PIM's half alone: answers, and any one command from its write to its unit."""

    unit: HostUnit

    def check(self, m: Module) -> None:
        """Count requests and answers; follow the commands of any one bit, and measurements."""
        unit = self.unit.pim_side
        for value in (unit.requests.valid, unit.requests.payload, unit.answers.ready):
            self.cut(m, value)
        came, went = self.transfer(unit.requests), self.transfer(unit.answers)
        open_request, expected = Signal(), Signal()
        m.d.pim += open_request.eq((open_request | came) & ~went)
        access = unit.requests.payload
        m.d.comb += Assume(unit.answers.ready, "there is room for an answer")

        command, preload = register("COMMAND"), register("TVC_PRELOAD")
        bit = self.constant(m, "bit", 3)
        bits = len(command.fields)
        m.d.comb += Assume(bit < bits, "the bit is one of the register's")
        written = came & access.write & (access.word == command.words[0]) & access.strb[0]
        asked = written & access.data.bit_select(bit, 1)
        given = Signal()
        offers = [getattr(unit, name) for name in COMMANDS]
        for i, offer in enumerate(offers):
            with m.If(bit[1:] == i):
                m.d.comb += given.eq(self.transfer(offer) & (offer.payload == bit[0]))
        due, record_due = Signal(), Signal()
        m.d.pim += due.eq((due | asked) & ~given)
        recorded = self.transfer(unit.tvc_record)
        preloads = came & access.write & (access.word == preload.words[0])
        m.d.pim += record_due.eq((record_due | preloads) & ~recorded)

        streams = [*offers, unit.tvc_record]
        stalled = Cat(each.valid & ~each.ready for each in streams).any()
        waited = Signal(range(ANSWERING_CYCLES + 2))
        m.d.comb += expected.eq(open_request & ~stalled)
        with m.If(expected & (waited <= ANSWERING_CYCLES)):
            m.d.pim += waited.eq(waited + 1)
        with m.Elif(~open_request):
            m.d.pim += waited.eq(0)
        m.d.comb += [
            Assert(~unit.answers.valid | open_request, "no answer without a request"),
            Assert(~(came & open_request), "requests are taken one at a time"),
            Assert(
                waited <= ANSWERING_CYCLES,
                f"a request is answered within {ANSWERING_CYCLES} cycles, beside those in which a"
                " unit does not take a command",
            ),
            Assert(~given | due, "a command is given only if its bit was written, and once"),
            Assert(~recorded | record_due, "a measurement is given only if one was written, once"),
            Assert(
                ~unit.answers.valid | ~(due | record_due),
                "the answer to a command comes after it was given",
            ),
            *(
                Assert(
                    self.stays(m, getattr(unit, name)),
                    f"{name}: an offer that is not taken stays, with its payload",
                )
                for name in (*COMMANDS, "tvc_record")
            ),
            Cover(given & self.past(m, stalled), "a command is taken after a stall"),
            Cover(recorded & self.past(m, stalled), "a measurement is taken after a stall"),
        ]


class Reading(Properties):
    """The PIM's half alone: one counter, read in two words while it counts."""

    unit: HostUnit

    def check(self, m: Module) -> None:
        """Count its events apart from it; remember the count at each read of its low word."""
        unit = self.unit.pim_side
        for value in (unit.requests.valid, unit.requests.payload):
            self.cut(m, value)
        params = self.unit.params
        counters = [each for each in block("pim") if each.kind is Kind.COUNTER]
        low, high = register("SWITCHES").words
        access = unit.requests.payload
        reads = self.transfer(unit.requests) & ~access.write
        counter = unit.bank.counters["switches"]
        count = Signal(params.counter_width, init=params.counter_start)
        m.d.pim += count.eq(count + unit.events.switches)
        kept = Signal(params.counter_width)
        whole = Signal()
        with m.If(reads & (access.word == low)):
            m.d.pim += [kept.eq(counter), whole.eq(1)]
        with m.Elif(reads & access.word.matches(*(each.words[0] for each in counters))):
            m.d.pim += whole.eq(0)
        answered = unit.answers.payload.data
        was_low = self.past(m, reads & (access.word == low))
        was_high = self.past(m, reads & whole & (access.word == high))
        m.d.comb += [
            Assert(counter == count, "a counter is the number of its events"),
            Assert(
                ~was_low | (answered == kept[: len(answered)]),
                "the low word is that of the counter as it stood at the read",
            ),
            Assert(
                ~was_high | (answered == kept[len(answered) :]),
                "the high word after it belongs to the same reading",
            ),
            Cover(was_high & (answered != counter[len(answered) :]), "a carry comes between them"),
        ]


class Crossing(Properties):
    """Both crossings, between what enters and what leaves them."""

    unit: HostUnit

    def check(self, m: Module) -> None:
        """Follow what enters to where it leaves."""
        unit = self.unit
        self._cross(m, "requests", unit.npu_side.requests, "npu", unit.pim_side.requests, "pim")
        self._cross(m, "answers", unit.pim_side.answers, "pim", unit.npu_side.answers, "npu")

    def _cross(
        self,
        m: Module,
        name: str,
        source: stream.Interface,
        write: str,
        sink: stream.Interface,
        read: str,
    ) -> None:
        """Let one entry at a time through, as both sides do."""
        for value in (source.valid, source.payload, sink.ready):
            self.cut(m, value)
        sent, got = Signal(name=f"{name}_sent"), Signal(name=f"{name}_got")
        known = self.past(m, self.past(m, sent, read), read)
        payload = Signal(len(Value.cast(source.payload)))
        m.d[write] += sent.eq(sent ^ self.transfer(source))
        m.d[read] += got.eq(got ^ self.transfer(sink))
        with m.If(self.transfer(source)):
            m.d[write] += payload.eq(source.payload)
        m.d.comb += [
            Assume(~source.valid | (sent == got), f"{name}: one at a time"),
            Assert(
                sink.valid == (known != got),
                f"{name}: what entered two edges of the reader ago is on offer, and no more",
            ),
            *(
                Assert(
                    ~sink.valid | (Value.cast(sink.payload)[i] == payload[i]),
                    f"{name}: what enters leaves unchanged",
                )
                for i in range(len(payload))
            ),
            Cover(self.transfer(sink) & payload[0], f"{name}: one leaves"),
        ]


class Room(Properties):
    """The whole unit."""

    unit: HostUnit

    def check(self, m: Module) -> None:
        """Look at the entrances of both crossings."""
        requests, answers = self.unit.npu_side.requests, self.unit.pim_side.answers
        m.d.comb += [
            Assert(requests.ready, "there is room for a request"),
            Assert(answers.ready, "there is room for an answer"),
            Cover(self.transfer(answers), "an answer enters"),
        ]


INPUTS = {"pim": ("pim_events",), "npu": ("aw", "w", "ar", "npu_events")}

ROUNDS = 4
"""The fewest after which nothing moves: two stages of a synchroniser, and two registers behind."""

PROOFS = (
    Proof(properties=Serving, configuration="test", cover_depth=16),
    Proof(properties=Answering, configuration="test", cover_depth=16),
    Proof(properties=Reading, configuration="test", cover_depth=24),
    Proof(properties=Crossing, configuration="test", cover_depth=24),
    Proof(properties=Room, configuration="test", cover_depth=24),
    Proof(
        properties=partial(Settling, inputs=INPUTS, rounds=ROUNDS),
        configuration="test",
        cover_depth=24,
    ),
)
