# SPDX-License-Identifier: Apache-2.0
"""Golden models behind their pins of what sums up a row, edge by edge."""

from collections import deque
from collections.abc import Iterator, Mapping

from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import EXPONENT_WIDTH
from ahasd.rtl.aau.reals import real_width
from ahasd.rtl.aau.sums import Sums, joined, no_sums, rebase, term, whole, wrap

Pins = Mapping[str, int]


def packed(sums: Sums, params: AauParams) -> int:
    """Return sums as they are on the wires."""
    low = sums.reference & ((1 << params.reference_width) - 1)
    middle = sums.a & ((1 << params.a_width) - 1)
    return low | (middle | sums.b << params.a_width) << params.reference_width


def unpacked(pin: int, params: AauParams) -> Sums:
    """Return the sums on the wires."""
    behind = pin >> params.reference_width
    return Sums(
        wrap(pin, params.reference_width), wrap(behind, params.a_width), behind >> params.a_width
    )


class BlockSumGolden:
    """The sum of a beat's terms."""

    latency = 2
    interval = 1

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self._line: deque[int] = deque()

    def step(self, pins: Pins, clocks: int = 1) -> dict[str, int]:
        """Take an edge; return the outputs just before it, none before a sum is there."""
        full = len(self._line) == self.latency
        params = self.params
        width = params.numerics.term_width + 2 + params.lanes.bit_length() - 1
        outputs = {"total": self._line[0] & ((1 << width) - 1)} if full else {}
        if clocks and pins["enable"]:
            if full:
                self._line.popleft()
            self._line.append(sum(self._terms(pins)))
        return outputs

    def _terms(self, pins: Pins) -> Iterator[int]:
        """Yield the terms of lanes with a number."""
        params, numerics = self.params, self.params.numerics
        width = 2 * real_width(numerics)
        product_size = width + EXPONENT_WIDTH + 3  # with sign, infinite and nan
        power_size = numerics.mantissa_width + numerics.integer_width
        level = wrap(pins["level"], params.reference_width + 1)
        for lane in range(params.lanes):
            if not pins["active"] >> lane & 1:
                continue
            if pins["of_power"]:
                power = pins["power"] >> power_size * lane & ((1 << power_size) - 1)
                mantissa = power & ((1 << numerics.mantissa_width) - 1)
                down = level + (power >> numerics.mantissa_width)
                yield int(term(mantissa, numerics.mantissa_width - 1, down, params))
            else:
                product = pins["product"] >> product_size * lane
                mantissa = product & ((1 << width) - 1)
                down = level - wrap(product >> width, EXPONENT_WIDTH)
                below = product >> (width + EXPONENT_WIDTH) & 1
                yield int(term(mantissa, width - 2, down, params)) * (-1) ** below


class RowStateGolden:
    """The sums of a row, to which those of beats and of other parts are added."""

    latency = 1
    interval = 1

    def __init__(self, params: AauParams) -> None:
        self.params = params
        self._sums = Sums(0, 0, 0)
        self._before = 0
        self._rises: deque[int] = deque()  # of the beats whose sums are to come

    def step(self, pins: Pins, clocks: int = 1) -> dict[str, int]:
        """Take an edge; return the outputs just before it."""
        params, sums = self.params, self._sums
        op = Op.LAYERNORM
        if pins["powers"]:
            op = Op.STATISTICS if pins["weighted"] else Op.SOFTMAX
        level = whole(sums.reference, op, params)
        level_pin = level & ((1 << params.reference_width) - 1)
        outputs = {"sums": packed(sums, params), "level": level_pin}
        if not clocks:
            return outputs
        given = unpacked(pins["given"], params)
        if pins["importing"] and pins["add"]:
            self._sums = joined(sums._replace(reference=self._before), given, op, params)
        elif pins["enable"] and pins["add"]:
            a, b = rebase(sums.a, sums.b, self._rises.popleft(), op)
            a = wrap(a + given.a, params.a_width)
            self._sums = Sums(sums.reference, a, (b + given.b) & ((1 << params.b_width) - 1))
        if (pins["enable"] or pins["importing"]) and pins["raise_reference"]:
            self._before = sums.reference
            self._sums = self._sums._replace(reference=max(sums.reference, given.reference))
            if pins["enable"]:
                self._rises.append(whole(self._sums.reference, op, params) - level)
        if pins["clear"]:
            self._sums = no_sums(params)
        return outputs
