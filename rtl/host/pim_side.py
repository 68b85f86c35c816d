# SPDX-License-Identifier: Apache-2.0
"""The PIM half of the host interface: the registers of that domain, and commands to its units."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.edc.params import Command as EdcCommand
from ahasd.rtl.gtsu.params import Command as GtsuCommand
from ahasd.rtl.host import layouts
from ahasd.rtl.host.bank import Bank
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.params import ERRORS, PRELOAD, HostParams, fields
from ahasd.rtl.tvc.params import Command as TvcCommand

COMMANDS = {"edc_command": EdcCommand, "tvc_command": TvcCommand, "gtsu_command": GtsuCommand}
"""Streams in the order of the bits of the register COMMAND; of each, a bit for each command."""


class PimSide(wiring.Component):
    """Serve one request at a time; offer what it commands, and answer once that was taken.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    requests : stream of ACCESS, in
        From the other domain.
    answers : stream of READ, out
        To it.
    error : out
        An error is shown by a unit, a cycle later.
    """

    requests: stream.Interface
    answers: stream.Interface
    control: data.View
    edc_command: stream.Interface
    tvc_command: stream.Interface
    gtsu_command: stream.Interface
    tvc_record: stream.Interface
    events: data.View
    status: data.View
    error: Signal
    idle: Signal

    def __init__(self, params: HostParams) -> None:
        self.params = params
        super().__init__(
            {
                "requests": In(stream.Signature(layouts.ACCESS)),
                "answers": Out(stream.Signature(layouts.READ)),
                "control": Out(layouts.structure("control")),
                **{name: Out(stream.Signature(shape)) for name, shape in COMMANDS.items()},
                "tvc_record": Out(stream.Signature(layouts.RECORD)),
                "events": In(layouts.structure("pim_events")),
                "status": In(layouts.structure("pim_status")),
                "error": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        m = Module()
        m.submodules.bank = self.bank = bank = Bank(self.params, "pim")
        answering = Signal()
        answer = Signal(layouts.READ)
        pending = Signal(2 * len(COMMANDS))
        record_pending = Signal()
        record = Signal(data.StructLayout({"table": 2, "length": 16}))
        m.d.comb += [
            self.requests.ready.eq(~answering),
            bank.enable.eq(self.requests.valid & ~answering),
            bank.access.eq(self.requests.payload),
            bank.events.eq(self.events),
            bank.status.eq(self.status),
            self.answers.payload.eq(answer),
            self.answers.valid.eq(answering & ~pending.any() & ~record_pending),
        ]
        m.d.comb += [
            self.control[name].eq(bank.control[name])
            for name in fields("pim", Kind.CONTROL)
            if name != PRELOAD
        ]
        with m.If(self.answers.valid & self.answers.ready):
            m.d.pim += answering.eq(0)

        for i, name in enumerate(COMMANDS):
            offer = getattr(self, name)
            pair = pending[2 * i : 2 * i + 2]
            m.d.comb += [offer.valid.eq(pair.any()), offer.payload.eq(~pair[0])]
            with m.If(offer.ready):
                m.d.pim += pair.eq(pair & (pair - 1))
        m.d.comb += [
            self.tvc_record.valid.eq(record_pending),
            self.tvc_record.payload.table.eq(record.table),
            self.tvc_record.payload.cycles.eq(bank.control[PRELOAD]),
            self.tvc_record.payload.length.eq(record.length),
        ]
        with m.If(self.tvc_record.ready):
            m.d.pim += record_pending.eq(0)

        with m.If(bank.enable):
            m.d.pim += [answering.eq(1), answer.eq(bank.answer)]
        with m.If(bank.commanded[0]):
            m.d.pim += pending.eq(bank.operand)
        with m.If(bank.commanded[1]):
            m.d.pim += [
                record_pending.eq(1),
                record.table.eq(bank.operand[:2]),
                record.length.eq(bank.operand[16:]),
            ]

        found = Signal()
        m.d.comb += [
            found.eq(Cat(self.status[name] for name in ERRORS).any()),
            self.idle.eq(~answering & ~self.requests.valid & (found == self.error)),
        ]
        m.d.pim += self.error.eq(found)
        return m
