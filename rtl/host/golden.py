# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the host interface in plain integers."""

from collections.abc import Mapping

from ahasd.rtl.host.map import BLOCK_WIDTH, WORD_BITS, WORD_BYTES, WORD_WIDTH, Kind, Register
from ahasd.rtl.host.params import (
    BLOCKS,
    ERRORS,
    PRELOAD,
    HostParams,
    Response,
    block,
    fields,
    pack,
    unpack,
    widths,
)
from ahasd.rtl.lib.crossing import AsyncFifoGolden, SynchronizerGolden

PIM, NPU = 1, 2
"""Bits of the clock mask."""

WORD_MASK = (1 << WORD_BITS) - 1

ERROR_MASK = pack("pim_status", **dict.fromkeys(ERRORS, 1))
"""Bits of `pim_status` that are errors."""

COMMANDS = 0b111111
"""Bits of the register COMMAND, two for each unit."""

RECORD = 0xFFFF_0003
"""Bits of the register TVC_PRELOAD."""


def _mask(strobe: int) -> int:
    """Return the bits that a byte strobe lets through."""
    return sum(0xFF << 8 * i for i in range(WORD_BYTES) if strobe >> i & 1)


def _second(pair: int) -> int:
    """Return the command on offer of a unit's two: 0 goes first, and 1 stands where none does."""
    return int(not pair & 1)


class Bank:
    """The registers of one domain.

    Parameters
    ----------
    params
        Sizes.
    domain
        Which.
    """

    def __init__(self, params: HostParams, domain: str) -> None:
        self._domain = domain
        self._words = {
            word: (register, part)
            for register in block(domain)
            for part, word in enumerate(register.words)
        }
        self._wrap = 1 << params.counter_width
        self._steps = widths(f"{domain}_events")
        self.control = {
            name: field.reset for name, (_, field) in fields(domain, Kind.CONTROL).items()
        }
        self.flags = dict.fromkeys(fields(domain, Kind.FLAGS), 0)
        self.counters = dict.fromkeys(fields(domain, Kind.COUNTER), params.counter_start)
        self._high = 0

    def access(
        self, write: int, word: int, data: int, strobe: int, status: int
    ) -> tuple[int, Response, str, int]:
        """Take an access; return data, response, and the register commanded with its operand."""
        if word not in self._words:
            return 0, Response.DECERR, "", 0
        register, part = self._words[word]
        shown = self._show(register, status)
        answer = shown & WORD_MASK
        if register.kind is Kind.COUNTER:
            if part:
                answer = self._high
            elif not write:
                self._high = shown >> WORD_BITS
        allowed = register.access != "ro" if write else register.access != "wo"
        if not allowed:
            return answer, Response.SLVERR, "", 0
        mask = _mask(strobe)
        if write:
            for field in register.fields:
                name = register.pin(field)
                written = mask >> field.low & field.limit
                value = data >> field.low & written
                if register.kind is Kind.CONTROL:
                    self.control[name] = self.control[name] & ~written | value
                elif register.kind is Kind.FLAGS:
                    self.flags[name] &= ~value
            if register.kind is Kind.COMMAND:
                return answer, Response.OKAY, register.name, data & mask
        return answer, Response.OKAY, "", 0

    def _show(self, register: Register, status: int) -> int:
        """Return the contents of a register."""
        match register.kind:
            case Kind.CONTROL:
                values = self.control
            case Kind.FLAGS:
                values = self.flags
            case Kind.COUNTER:
                values = self.counters
            case Kind.STATUS:
                values = unpack(f"{self._domain}_status", status)
            case Kind.CONSTANT:
                return register.reset
            case Kind.COMMAND:
                return 0
        return sum(values[register.pin(field)] << field.low for field in register.fields)

    def count(self, events: int) -> None:
        """Add what a cycle's events say."""
        if events:
            for name, step in unpack(f"{self._domain}_events", events).items():
                if step and name in self.counters:
                    self.counters[name] = (self.counters[name] + step) % self._wrap

    @property
    def state(self) -> tuple[object, ...]:
        """Every flip-flop."""
        return (
            tuple(self.control.values()),
            tuple(self.flags.values()),
            tuple(self.counters.values()),
            self._high,
        )


class HostGolden:
    """What the host interface does, edge by edge.

    Outputs but for the idle ones depend on its own state only.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.

    Attributes
    ----------
    changed
        Whether the last edge changed any flip-flop or memory word.
    """

    latency = 2
    interval = 2

    def __init__(self, params: HostParams) -> None:
        self.params = params
        self.changed = False
        self._requests = AsyncFifoGolden(2)
        self._answers = AsyncFifoGolden(2)
        # NPU side
        self._npu_bank = Bank(params, "npu")
        self._aw_full = self._w_full = self._ar_full = False
        self._aw = self._w = self._ar = 0
        self._b_valid = self._r_valid = False
        self._b = self._r = 0
        self._busy = False
        self._writing = False
        self._error_seen = SynchronizerGolden()
        self._error_before = 0
        # PIM side
        self._pim_bank = Bank(params, "pim")
        self._answering = False
        self._answer = 0
        self._pending = 0
        self._record_pending = False
        self._record = 0
        self._error = 0
        self._control = self._packed_control()
        self._before = self._state()

    def step(self, pins: Mapping[str, int], clocks: int) -> dict[str, int]:
        """Take one edge of one domain or both.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            Bit 0 the PIM's edge, bit 1 the NPU's.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        before = self._before
        pim, npu = bool(clocks & PIM), bool(clocks & NPU)
        error = self._error
        outputs: dict[str, int] = {}
        answer, request_read = self._pim(pins, outputs, pim)
        request, answer_read = self._npu(pins, outputs, npu, error)
        self._requests.step(write_edge=npu, read_edge=pim, write=request, read=request_read)
        self._answers.step(write_edge=pim, read_edge=npu, write=answer, read=answer_read)
        self._before = self._state()
        self.changed = self._before != before
        return outputs

    def _pim(
        self, pins: Mapping[str, int], outputs: dict[str, int], edge: bool
    ) -> tuple[int | None, bool]:
        """Take the PIM side's edge; return the answer that leaves and whether a request enters."""
        pending = self._pending
        cycles = self._pim_bank.control[PRELOAD]
        taking = self._requests.read_ready and not self._answering
        error = int(pins["pim_status"] & ERROR_MASK != 0)
        outputs |= {
            "control": self._control,
            "edc_command__valid": int(pending & 0b11 != 0),
            "edc_command__payload": _second(pending),
            "tvc_command__valid": int(pending >> 2 & 0b11 != 0),
            "tvc_command__payload": _second(pending >> 2),
            "gtsu_command__valid": int(pending >> 4 & 0b11 != 0),
            "gtsu_command__payload": _second(pending >> 4),
            "tvc_record__valid": int(self._record_pending),
            "tvc_record__payload": self._record & 3 | cycles << 2 | self._record >> 16 << 34,
            "idle_pim": int(
                not self._answering and not self._requests.read_ready and error == self._error
            ),
        }
        if not edge:
            return None, False

        answer = None
        answered = self._answering and not pending and not self._record_pending
        if answered and self._answers.write_ready:
            answer = self._answer
            self._answering = False
        for i, name in enumerate(("edc_command", "tvc_command", "gtsu_command")):
            pair = pending >> 2 * i & 0b11
            if pair and pins[f"{name}__ready"]:
                self._pending &= ~((pair & -pair) << 2 * i)
        if self._record_pending and pins["tvc_record__ready"]:
            self._record_pending = False
        if taking:
            request = self._requests.data
            word = request >> 1 & ((1 << WORD_WIDTH) - 1)
            data = request >> 1 + WORD_WIDTH & WORD_MASK
            strobe = request >> 1 + WORD_WIDTH + WORD_BITS
            found, response, command, operand = self._pim_bank.access(
                request & 1, word, data, strobe, pins["pim_status"]
            )
            self._control = self._packed_control()
            self._answering = True
            self._answer = found | response << WORD_BITS
            if command == "pim.COMMAND":
                self._pending = operand & COMMANDS
            elif command == "pim.TVC_PRELOAD":
                self._record_pending = True
                self._record = operand & RECORD
        self._pim_bank.count(pins["pim_events"])
        self._error = error
        return answer, taking

    def _packed_control(self) -> int:
        control = self._pim_bank.control
        return pack("control", **{name: control[name] for name in control if name != PRELOAD})

    def _npu(
        self, pins: Mapping[str, int], outputs: dict[str, int], edge: bool, error: int
    ) -> tuple[int | None, bool]:
        """Take the NPU side's edge; return the request that leaves and whether an answer enters."""
        flags = self._npu_bank.flags
        enables = self._npu_bank.control
        error_rises = self._error_seen.value and not self._error_before
        outputs |= {
            "aw__ready": int(not self._aw_full),
            "w__ready": int(not self._w_full),
            "ar__ready": int(not self._ar_full),
            "b__valid": int(self._b_valid),
            "b__payload": self._b,
            "r__valid": int(self._r_valid),
            "r__payload": self._r,
            "irq": int(any(flags[name] and enables[name] for name in flags)),
            "idle_npu": int(
                not self._busy
                and not self._ar_full
                and not (self._aw_full and self._w_full)
                and not self._b_valid
                and not self._r_valid
                and self._error_seen.value == self._error_before
            ),
        }
        if not edge:
            return None, False

        free = not self._busy and self._requests.write_ready
        write = free and self._aw_full and self._w_full and not self._b_valid
        read = free and self._ar_full and not self._r_valid and not write
        address = self._aw if write else self._ar
        block_number = address >> BLOCK_WIDTH
        word = address >> 2 & ((1 << WORD_WIDTH) - 1)
        data, strobe = self._w & WORD_MASK, self._w >> WORD_BITS
        answer_read = self._busy and self._answers.read_ready

        if pins["b__ready"]:
            self._b_valid = False
        if pins["r__ready"]:
            self._r_valid = False
        request = None
        if answer_read:
            self._busy = False
            self._respond(self._writing, self._answers.data)
        if write or read:
            if block_number == BLOCKS["pim"]:
                request = write | word << 1 | data << 1 + WORD_WIDTH
                request |= strobe << 1 + WORD_WIDTH + WORD_BITS
                self._busy = True
            elif block_number == BLOCKS["npu"]:
                found, response, _, _ = self._npu_bank.access(
                    int(write), word, data, strobe, pins["npu_status"]
                )
                self._respond(write, found | response << WORD_BITS)
            else:
                self._respond(write, Response.DECERR << WORD_BITS)
            self._writing = write
        if write:
            self._aw_full = self._w_full = False
        elif read:
            self._ar_full = False
        if outputs["aw__ready"] and pins["aw__valid"]:
            self._aw_full, self._aw = True, pins["aw__payload"]
        if outputs["w__ready"] and pins["w__valid"]:
            self._w_full, self._w = True, pins["w__payload"]
        if outputs["ar__ready"] and pins["ar__valid"]:
            self._ar_full, self._ar = True, pins["ar__payload"]

        events = pins["npu_events"]
        if events:
            seen = unpack("npu_events", events)
            flags["draft_ready"] |= seen["draft_ready"]
            flags["feedback_taken"] |= seen["feedback_accepted"]
        if error_rises:
            flags["error"] = 1
        self._npu_bank.count(events)
        self._error_before = self._error_seen.value
        self._error_seen.step(error)
        return request, answer_read

    def _respond(self, write: bool, answer: int) -> None:
        """Offer a response."""
        if write:
            self._b_valid = True
            self._b = answer >> WORD_BITS
        else:
            self._r_valid = True
            self._r = answer

    def _state(self) -> tuple[object, ...]:
        """Every flip-flop; memories change only together with one of them."""
        return (
            self._requests.state,
            self._answers.state,
            self._npu_bank.state,
            (self._aw_full, self._w_full, self._ar_full, self._aw, self._w, self._ar),
            (self._b_valid, self._r_valid, self._b, self._r),
            (self._busy, self._writing, self._error_seen.state, self._error_before),
            self._pim_bank.state,
            (self._answering, self._answer, self._pending, self._error),
            (self._record_pending, self._record),
        )
