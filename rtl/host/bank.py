# SPDX-License-Identifier: Apache-2.0
"""The registers of one clock domain, decoded and stored."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.host import layouts
from ahasd.rtl.host.map import WORD_BITS, WORD_BYTES, Kind, Register
from ahasd.rtl.host.params import HostParams, Response, block, fields


class Bank(wiring.Component):
    """Answer an access within its cycle, and store what it writes at the edge.

    Parameters
    ----------
    params
        Sizes.
    domain
        Clock domain; names the block, too.

    Members
    -------
    enable : in
        There is an access.
    access : ACCESS, in
        What it wants.
    answer : READ, out
        Contents and response.
    control, flags : out
        Fields of these kinds.
    set : in
        Flags that are set in this cycle, which a clear in the same cycle does not prevent.
    events, status : in
        Steps of the counters, and fields of kind status.
    commanded : out
        Bit for each register of kind command: it is written in this cycle.
    operand : out
        What is written, 0 where the strobe is low.
    """

    enable: Signal
    access: data.View
    answer: data.View
    control: data.View
    flags: data.View
    set: data.View
    events: data.View
    status: data.View
    commanded: Signal
    operand: Signal

    def __init__(self, params: HostParams, domain: str) -> None:
        self._params = params
        self._domain = domain
        self._commands = [each for each in block(domain) if each.kind is Kind.COMMAND]
        # Kept for the proofs (properties.py); no ports.
        self.counters: dict[str, Signal] = {}
        flags = self._structure(Kind.FLAGS)
        super().__init__(
            {
                "enable": In(1),
                "access": In(layouts.ACCESS),
                "answer": Out(layouts.READ),
                "control": Out(self._structure(Kind.CONTROL)),
                "flags": Out(flags),
                "set": In(flags),
                "events": In(layouts.structure(f"{domain}_events")),
                "status": In(layouts.structure(f"{domain}_status")),
                "commanded": Out(len(self._commands)),
                "operand": Out(WORD_BITS),
            }
        )

    def _structure(self, kind: Kind) -> data.StructLayout:
        found = fields(self._domain, kind)
        return data.StructLayout({name: field.width for name, (_, field) in found.items()})

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        access = self.access
        mask = Signal(WORD_BITS)
        high = Signal(WORD_BITS)
        reads = Signal()
        writes = Signal()
        m.d.comb += [
            mask.eq(Cat(access.strb[i].replicate(8) for i in range(WORD_BYTES))),
            self.operand.eq(access.data & mask),
            reads.eq(self.enable & ~access.write),
            writes.eq(self.enable & access.write),
            self.answer.resp.eq(Response.DECERR),
        ]
        words: dict[int, Value] = {}
        refused = {"ro": access.write, "wo": ~access.write}
        resp = {}
        for register in block(self._domain):
            chosen = Signal(name=f"{register.name.partition('.')[2].lower()}_chosen")
            m.d.comb += chosen.eq(access.word == register.words[0])
            if register.kind is Kind.COUNTER:
                counter = self._count(m, register)
                with m.If(chosen & reads):
                    m.d[self._domain] += high.eq(counter[WORD_BITS:])
                words |= zip(register.words, (counter[:WORD_BITS], high), strict=True)
            else:
                words[register.words[0]] = self._hold(m, register, chosen & writes, mask)
            for word in register.words:
                resp[word] = Mux(refused.get(register.access, 0), Response.SLVERR, Response.OKAY)
        with m.Switch(access.word):
            for word, contents in words.items():
                with m.Case(word):
                    m.d.comb += [self.answer.data.eq(contents), self.answer.resp.eq(resp[word])]
        return m

    def _count(self, m: Module, register: Register) -> Signal:
        """Let a counter count, and return it."""
        name = register.pin(register.fields[0])
        counter = Signal(self._params.counter_width, name=name, init=self._params.counter_start)
        split = len(self.events[name])
        low = Signal(split + 1, name=f"{name}_low")
        m.d.comb += low.eq(counter[:split] + self.events[name])
        self.counters[name] = counter
        m.d[self._domain] += counter.eq(Cat(low[:split], counter[split:] + low[split]))
        return counter

    def _hold(self, m: Module, register: Register, writes: Value, mask: Signal) -> Value:
        """Let a register that is no counter do what its kind does; return its contents."""
        contents = Signal(WORD_BITS, name=register.name.partition(".")[2].lower())
        if register.kind is Kind.COMMAND:
            m.d.comb += self.commanded[self._commands.index(register)].eq(writes)
            return contents
        for field in register.fields:
            name = register.pin(field)
            bits = slice(field.low, field.low + field.width)
            operand = self.operand[bits]
            value = Signal(field.width, name=name, init=field.reset)
            match register.kind:
                case Kind.CONTROL:
                    m.d.comb += self.control[name].eq(value)
                    with m.If(writes):
                        m.d[self._domain] += value.eq(value & ~mask[bits] | operand)
                case Kind.FLAGS:
                    m.d.comb += self.flags[name].eq(value)
                    m.d[self._domain] += value.eq(
                        value & ~(operand & writes.replicate(field.width)) | self.set[name]
                    )
                case Kind.STATUS:
                    m.d.comb += value.eq(self.status[name])
            m.d.comb += contents[bits].eq(value)
        return contents
