# SPDX-License-Identifier: Apache-2.0
"""y = W x on one rank: INT8 weights, one or more tokens, inputs in chunks as the buffer allows.

Every bank holds rows of W, that is outputs. A *group* is one output in each bank: its columns are
read one after another, each a burst of weights for a burst's worth of inputs, and its results are
read out before the accumulators serve the next group. All inputs of a chunk are in the buffer
while the groups pass; results of a chunk that is not the last are sums to be added up outside.

Groups that do not go evenly into the ranks are split by inputs: every rank has the same share of
their columns, in one piece or in two, and the sums are added up outside as well.
"""

from dataclasses import dataclass

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.devices.pim.program import Packer, Segment
from ahasd.system.devices.pim.unit import RESULT_BYTES


@dataclass(frozen=True, kw_only=True)
class Gemv:
    """One rank's share of a matrix.

    Parameters
    ----------
    outputs, inputs
        Rows of the matrix, and its columns; at least 1.
    ranks
        Ranks that share it evenly, at least 1.
    tokens
        Input vectors that pass together, at least 1; weights are read once for all.
    input_bytes
        Bytes of one input: 1 for INT8, 2 for FP16.
    buffer_bytes
        Input buffer of the unit, shared by the tokens.

    Raises
    ------
    ValueError
        A number is out of range.
    """

    outputs: int
    inputs: int
    ranks: int = 1
    tokens: int = 1
    input_bytes: int = 1
    buffer_bytes: int = 16_384

    def __post_init__(self) -> None:
        for name in ("outputs", "inputs", "ranks", "tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} must be at least 1")
        if self.input_bytes not in (1, 2):
            raise ValueError(f"input_bytes = {self.input_bytes} must be 1 (INT8) or 2 (FP16)")

    def chunks(self, timing: Timing) -> list[int]:
        """Return the inputs of every chunk; all but the last are whole bursts of weights.

        Raises
        ------
        ValueError
            The buffer does not hold a burst's worth of inputs for every token.
        """
        per_input = self.tokens * self.input_bytes
        fits = self.buffer_bytes // per_input // timing.burst_bytes * timing.burst_bytes
        if not fits:
            raise ValueError(
                f"{self.tokens} tokens of {timing.burst_bytes} inputs of {self.input_bytes} bytes "
                f"exceed buffer_bytes = {self.buffer_bytes}: pass fewer tokens together or choose "
                "a larger platform.pim.input_buffer_bytes"
            )
        whole, rest = divmod(self.inputs, fits)
        return [fits] * whole + [rest] * (rest > 0)

    def load_bursts(self, timing: Timing, inputs: int) -> int:
        """Return the bursts that bring so many inputs of every token into the buffer."""
        return -(-inputs * self.tokens * self.input_bytes // timing.burst_bytes)

    def groups(self, timing: Timing) -> int:
        """Return the groups of one output in every bank, of all ranks."""
        return -(-self.outputs // timing.banks)

    def mac_count(self, timing: Timing) -> int:
        """Return the MACab commands of all ranks."""
        columns = sum(-(-inputs // timing.burst_bytes) for inputs in self.chunks(timing))
        return self.groups(timing) * columns

    def segments(self, timing: Timing) -> list[Segment]:
        """Return the commands, without the loads of the first chunk: those are an exchange."""
        results = -(-timing.banks * self.tokens * RESULT_BYTES // timing.burst_bytes)
        whole, split = divmod(self.groups(timing), self.ranks)
        packer = Packer(timing)
        for number, inputs in enumerate(self.chunks(timing)):
            if number:
                packer.transfer(Op.WRB, self.load_bursts(timing, inputs))
            columns = -(-inputs // timing.burst_bytes)
            left = -(-split * columns // self.ranks)
            # Where several groups are split, the busiest rank has the end of one, the begin of one.
            pieces = [left] if split < 2 or left < 2 else [left // 2, left - left // 2]
            for piece in [columns] * whole + pieces:
                packer.mac(piece)
                packer.transfer(Op.RDB, results if piece else 0)
        return packer.packed()
