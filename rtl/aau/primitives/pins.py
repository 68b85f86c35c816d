# SPDX-License-Identifier: Apache-2.0
"""Golden models of the primitives behind their pins, edge by edge."""

from collections import deque
from collections.abc import Mapping

from ahasd.rtl.aau.numerics import Numerics
from ahasd.rtl.aau.primitives.exp2.golden import exp2
from ahasd.rtl.aau.primitives.log2.golden import logarithm
from ahasd.rtl.aau.primitives.recip.golden import recip
from ahasd.rtl.aau.primitives.rsqrt.golden import rsqrt
from ahasd.rtl.aau.primitives.sigmoid.golden import sigmoid

Pins = Mapping[str, int]


class PipelineGolden:
    """A function of the input pins, `latency` enabled edges later.

    Parameters
    ----------
    numerics
        Widths and tables.
    """

    latency = 1
    interval = 1

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        self._line: deque[dict[str, int]] = deque()

    def function(self, pins: Pins) -> dict[str, int]:
        """Return the output pins that belong to input pins."""
        raise NotImplementedError

    def step(self, pins: Pins, clocks: int = 1) -> dict[str, int]:
        """Take an edge; return the outputs just before it, none while the pipeline fills."""
        full = len(self._line) == self.latency
        outputs = self._line[0] if full else {}
        if clocks and pins["enable"]:
            if full:
                self._line.popleft()
            self._line.append(self.function(pins))
        return outputs


class Exp2Golden(PipelineGolden):
    """See `exp2`."""

    def function(self, pins: Pins) -> dict[str, int]:
        """See `PipelineGolden`."""
        power = exp2(pins["depth"], self.numerics)
        return {"power": int(power.mantissa) | int(power.shift) << self.numerics.mantissa_width}


class Log2Golden(PipelineGolden):
    """See `logarithm`."""

    def function(self, pins: Pins) -> dict[str, int]:
        """See `PipelineGolden`."""
        return {"result": int(logarithm(pins["mantissa"], self.numerics))}


class RecipGolden(PipelineGolden):
    """See `recip`."""

    def function(self, pins: Pins) -> dict[str, int]:
        """See `PipelineGolden`."""
        return {"result": int(recip(pins["mantissa"], self.numerics))}


class RsqrtGolden(PipelineGolden):
    """See `rsqrt`."""

    def function(self, pins: Pins) -> dict[str, int]:
        """See `PipelineGolden`."""
        return {"result": int(rsqrt(pins["mantissa"], pins["odd"], self.numerics))}


class SigmoidGolden(PipelineGolden):
    """See `sigmoid`: a power and a reciprocal, with steps before, between and behind."""

    latency = 5

    def function(self, pins: Pins) -> dict[str, int]:
        """See `PipelineGolden`."""
        width = self.numerics.scaled_width
        scaled = pins["scaled"] - ((pins["scaled"] >> (width - 1)) << width)
        return {"result": int(sigmoid(scaled, self.numerics))}
