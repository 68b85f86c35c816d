# SPDX-License-Identifier: Apache-2.0
"""Our PIM kernels beside PIMSimulator (HBM-PIM) and AttAcc (HBM3-PIM), command level.

AttAcc reads keys and values with units at every bank of a channel, a row of 32 bursts at a time,
a head to a channel. Its transfers to and from the units have paths of their own, and hide behind
the MACs of another head: heads of a channel are taken two at a time, and an odd one's move of its
probabilities into the units is in the open. Its units at the stack's buffer read burst by burst.
"""

from dataclasses import dataclass, replace

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.stream import SequentialRead, play
from ahasd.system.devices.dram.timing import Timing, load_timing
from ahasd.system.devices.pim.hbm_pim import elementwise, gemv
from ahasd.system.devices.pim.program import Packer, Program
from ahasd.system.validation.rows import Row

HBM_PIM = "PIMSimulator"
ATTACC = "AttAcc"

# Outputs, inputs, vectors, and cycles measured on it with 64 channels.
_GEMV = (
    (4096, 1024, 1, 3662),
    (1024, 1024, 1, 3662),
    (4096, 4096, 1, 13166),
    (8192, 8192, 1, 51905),
    (4096, 4096, 2, 26337),
)
# Name, vectors read, and cycles measured on it for 2 Mi elements on 64 channels.
_ELEMENTWISE = (("ADD and MUL", 2, 5926), ("RELU", 1, 4037))
_ELEMENTS = 2**21

# Tokens of the cache, heads of a stack, and cycles: measured on it, then from the log of its runs
# that is published with it.
_BANK = (
    (2048, 64, 16161),
    (128, 101, 1960),
    (256, 101, 3301),
    (128, 461, 8434),
    (248, 461, 14498),
    (128, 2050, 38732),
    (192, 2050, 52298),
    (248, 2050, 65518),
)
_BUFFER_CYCLES = 144_953

# Attention of GPT-175B in a step of one sequence, ms: 96 layers, 96 heads on eight devices of five
# stacks, a prompt of 2,048 and four tokens; without its power limit, and with it.
_STEP_FREE_MS, _STEP_MS = 0.217, 0.361
_LAYERS, _STEP_HEADS, _STEP_CONTEXT = 96, 3, 2050


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack of AttAcc's: HBM3 whose MACs are at the banks.

    Parameters
    ----------
    channels
        Channels of two pseudo-channels of two ranks.
    banks_in_group, lanes
        Banks of a group, over which an element of a head is spread; FP16 elements of a burst.
    token_groups
        Bank groups of a channel, over which tokens are spread.
    """

    channels: int = 16
    banks_in_group: int = 4
    lanes: int = 16
    token_groups: int = 16

    def program(self, timing: Timing, context: int, heads: int, head_dim: int) -> Program:
        """Return what the busiest channel does for so many heads of the stack."""
        per_channel = -(-heads // self.channels)
        columns = -(-context // self.token_groups)
        pieces = -(-head_dim // (self.banks_in_group * self.lanes))
        moved = timing.bank_groups * 2 * -(-columns // self.lanes)
        packer = Packer(timing)
        for head in range(per_channel):
            packer.mac(columns * pieces)
            packer.next_row()
            if head == per_channel - 1 and per_channel % 2:
                packer.transfer(Op.WRB, moved)
            packer.mac(columns * pieces)
            packer.next_row()
        return Program(timing, packer.packed())


def attacc_bank_cycles(
    context: int, heads: int, *, head_dim: int = 128, mac_cycles: int = 6
) -> int:
    """Return the clock cycles of attention with units at the banks of one stack.

    Parameters
    ----------
    context
        Tokens of the cache, at least 1.
    heads
        Heads of the stack, at least 1.
    head_dim
        Elements of a head.
    mac_cycles
        Cycles from MACab to MACab: 6 by its power limit, 4 without.
    """
    timing = replace(load_timing("hbm3-5200"), channels=1, t_mac=mac_cycles)
    return play(FastEngine(timing), Stack().program(timing, context, heads, head_dim)).cycles


def attacc_buffer_cycles(context: int, heads: int, *, head_dim: int = 128) -> int:
    """Return the clock cycles of attention with units at the buffer; arguments as above.

    Both pseudo-channels of a channel are read alike, a burst at a time.
    """
    timing = replace(load_timing("hbm3-5200"), channels=1)
    stack = Stack()
    head_bytes = 2 * context * head_dim * 2
    bursts = -(-heads // stack.channels) * head_bytes // 2 // timing.burst_bytes
    return play(FastEngine(timing), SequentialRead(timing, bursts)).cycles


def hbm_pim_engine() -> FastEngine:
    """Return one pseudo-channel of the memory that PIMSimulator models."""
    return FastEngine(replace(load_timing("hbm2"), channels=1))


def rows() -> list[Row]:
    """Return a row for each published figure whose access pattern our commands have."""
    return [*_hbm_pim_rows(), *_attacc_rows()]


def _hbm_pim_rows() -> list[Row]:
    made = [
        Row(
            peer=HBM_PIM,
            case=f"GEMV {outputs} x {inputs}" + (f", {batch} vectors" if batch > 1 else ""),
            unit="cycles",
            theirs=theirs,
            ours=gemv(hbm_pim_engine(), outputs, inputs, batch=batch).cycles,
        )
        for outputs, inputs, batch, theirs in _GEMV
    ]
    made += [
        Row(
            peer=HBM_PIM,
            case=f"{name}, 2 Mi elements",
            unit="cycles",
            theirs=theirs,
            ours=elementwise(hbm_pim_engine(), _ELEMENTS, operands=operands).cycles,
        )
        for name, operands, theirs in _ELEMENTWISE
    ]
    return made


def _attacc_rows() -> list[Row]:
    made = [
        Row(
            peer=ATTACC,
            case=f"units at banks, {context} tokens, {heads} heads",
            unit="cycles",
            theirs=theirs,
            ours=attacc_bank_cycles(context, heads),
        )
        for context, heads, theirs in _BANK
    ]
    made.append(
        Row(
            peer=ATTACC,
            case="units at the buffer, 2048 tokens, 64 heads",
            unit="cycles",
            theirs=_BUFFER_CYCLES,
            ours=attacc_buffer_cycles(2048, 64),
        )
    )
    eight = step_ms(mac_cycles=8) / _STEP_MS - 1
    made += [
        Row(
            peer=ATTACC,
            case="gpt-175b, 1 sequence, attention at banks, no power limit",
            unit="ms",
            theirs=_STEP_FREE_MS,
            ours=step_ms(mac_cycles=4),
        ),
        Row(
            peer=ATTACC,
            case="gpt-175b, 1 sequence, attention at banks",
            unit="ms",
            theirs=_STEP_MS,
            ours=step_ms(mac_cycles=6),
            reason=f"MACs 8 cycles apart, as its trace generator notes, give {eight:+.1%}; the 6 "
            "of its timing file fit its 64 heads and its log",
        ),
    ]
    return made


def step_ms(*, mac_cycles: int) -> float:
    """Return our time of the attention in a step of GPT-175B, ms."""
    timing = load_timing("hbm3-5200")
    cycles = attacc_bank_cycles(_STEP_CONTEXT, _STEP_HEADS, mac_cycles=mac_cycles)
    return timing.time_ps(_LAYERS * cycles) / 1e9
