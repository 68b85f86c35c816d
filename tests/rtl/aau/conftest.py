# SPDX-License-Identifier: Apache-2.0
"""Random commands with rows for them, and a driver that runs them on engines side by side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from ahasd.rtl.aau.encodings import (
    APPLYING,
    LANE_WIDTH,
    POWERS,
    RESULT_WIDTH,
    Command,
    Op,
    State,
    Summary,
    constant_code,
)
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.primitives.formats import Format
from ahasd.sim.ports import Engine

FP16_SPECIALS = (0x7C00, 0xFC00, 0xFC00, 0x7E01, 0x8000, 0, 0x83FF, 0x7BFF, 0xFBFF)
BF16_SPECIALS = (0x7F80, 0xFF80, 0x7FC0, 0x8000, 0, 1, 0x7F7F)


class Job(NamedTuple):
    """A command, the states that it merges, and its beats as they come, both passes."""

    command: Command
    states: list[State]
    beats: list[int]


def beats(xs: Sequence[int], bs: Sequence[int], cs: Sequence[int], lanes: int) -> list[int]:
    """Pack a row into beats."""
    packed = [x | b << 32 | c << 48 for x, b, c in zip(xs, bs, cs, strict=True)]
    return [
        sum(each << LANE_WIDTH * i for i, each in enumerate(packed[start : start + lanes]))
        for start in range(0, len(packed), lanes)
    ]


def both_passes(command: Command, row: list[int], params: AauParams) -> list[int]:
    """Return a row as often as a command reads it."""
    reduces = command.op in params.passes and command.reduces
    applies = command.op in APPLYING and command.applies and not command.exports
    return row * (bool(reduces) + bool(applies))


class Traffic:
    """Commands from a seed, first `directed` ones if asked for, then random ones.

    States that were exported come back to be merged.
    """

    def __init__(self, params: AauParams, seed: int) -> None:
        self.params = params
        self.directed = directed(params)
        self.rng = Random(seed)
        self.states: list[tuple[int, State]] = []

    def element(self, form: int, *, plain: bool) -> int:
        """Return a code; a plain one is finite."""
        rng = self.rng
        kind = rng.random() if plain else rng.random() ** 2  # what is special is more likely
        while True:
            if form == Format.FP16:
                code = int(np.float16(rng.gauss(0, 3)).view(np.uint16))
                if kind < 0.3:
                    code = rng.getrandbits(16)
                if kind < 0.08:
                    code = rng.choice(FP16_SPECIALS)
                exponent = 0x7C00
            elif form == Format.BF16:
                code = int(np.float32(rng.gauss(0, 3)).view(np.uint32)) >> 16
                if kind < 0.1:
                    code = rng.getrandbits(16)
                if kind < 0.08:
                    code = rng.choice(BF16_SPECIALS)
                exponent = 0x7F80
            else:
                width = Format(form).width
                return rng.getrandbits(width) >> rng.randrange(width) ^ -rng.getrandbits(1) % (
                    1 << width
                )
            if not plain or code & exponent != exponent:
                return code
            kind = rng.random()

    def constant(self) -> int:
        """Return a constant of any sign and several magnitudes."""
        rng = self.rng
        return constant_code(rng.choice((1.0, 1.4427, -0.5, rng.gauss(0, 1), 0.02, 1e-5, 0.0)))

    def job(self, op: Op | None = None) -> Job:
        """Return the next command with all that it reads."""
        rng, params = self.rng, self.params
        op = rng.choice(list(Op)) if op is None else op
        x_format, operand_format = rng.choice((0, 0, 0, 1, 2, 3)), rng.choice((0, 1))
        length = rng.choice((0, 1, 2, 3, *(rng.randrange(1, 10 * params.lanes) for _ in range(3))))
        length = min(length, params.length_max)
        alike = [state for of, state in self.states if of == op]
        merged = rng.choices(alike, k=rng.choice((0, 1, 2, 3))) if alike else []
        k0 = self.constant()
        if op in POWERS:
            k0 = constant_code(abs(rng.gauss(0, 1)) * (2.0**-20 if x_format == 3 else 1))
        command = Command(
            op=op,
            length=length,
            x_format=x_format,
            operand_format=operand_format,
            result_format=rng.choice((0, 1, 2)),
            imports=len(merged),
            reduces=int(rng.random() < 0.9),
            exports=int(rng.random() < 0.3),
            applies=int(rng.random() < 0.9),
            shift=rng.randrange(-32, 32) if rng.random() < 0.3 else 0,
            first_index=rng.randrange(1 << params.index_width),
            k0=k0,
            k1=constant_code(abs(rng.gauss(0, 1))) if rng.random() < 0.5 else self.constant(),
            k2=self.constant(),
        )
        plain = rng.random() < 0.6
        xs = [self.element(x_format, plain=plain) for _ in range(length)]
        if op == Op.ROPE and x_format != Format.INT32:
            xs = [x | self.element(operand_format, plain=plain) << 16 for x in xs]
        bs, cs = (
            [self.element(operand_format, plain=plain) for _ in range(length)] for _ in range(2)
        )
        return Job(command, merged, both_passes(command, beats(xs, bs, cs, params.lanes), params))


def directed(params: AauParams) -> list[Job]:
    """Return commands with rows that random ones rarely are."""
    infinity, mask, least, ties = 0x7C00, 0xFC00, 0xFBFF, constant_code(1 + 2.0**-11)
    zero, one = constant_code(0.0), constant_code(1.0)
    rows = [
        # All so low that they saturate, where a mask would have a part if it were a number.
        (Op.SOFTMAX, one, [least, mask, least, least, mask]),
        (Op.STATISTICS, one, [least, mask, mask, least]),
        (Op.STATISTICS, one, [0x7BFF, 0x3C00, 0x7BFF, 0x7BFE]),
        # A tie but for a bit that is cut off.
        (Op.RELU, ties, [0x3C02, 0xBC02, 0x4002]),
        (Op.RELU, zero, [infinity, mask, one & 0xFFFF]),
        # Each beat comes before all others, and none but the first has a place; a row without list.
        (Op.TOP, one, [0x3C00 + i for i in range(16)]),
        (Op.TOP, one, [0x3C00 - i for i in range(16)]),
        (Op.ADD, one, [infinity, mask, infinity, mask, 0x3C00, 0x8000]),
        (Op.ADD, one, [0xBC00, 0xC000, 0x8000, 0x0000]),
        (Op.SILU, one, [0, 0x8000, 0x3C00, 0xBC00, 0x7BFF]),
        (Op.LAYERNORM, constant_code(-0.25), [0x3C01, 0x3C01, 0x3C01, 0x3C01]),
        (Op.RMSNORM, one, [0x3C00, 0x3C00, 0x0000, 0x0C00]),
        (Op.SUM, one, [0xC000, 0x3C00, 0x0C00, 0xB800]),
        # Halfway between two scaled numbers, for 8 and for 10 bits behind the point.
        (Op.STATISTICS, one, [0x1800, 0x2100, 0x1000, 0x1900, 0x0000]),
        # Its entropy would be below 0 by what tables err.
        (Op.STATISTICS, one, [0x3800]),
        # What is no number, of either sign and above all others, has no part in sums.
        (Op.STATISTICS, one, [0x7E00, 0x3C00, 0xFE00, 0x4000]),
        # Longer than the pipeline: beats are due while results stand.
        (Op.RELU, one, [0x3C00 + i for i in range(48)]),
    ]
    jobs = []
    for op, k0, xs in rows:
        # Of the opposite sign, so that sums cancel; the same for all else.
        others = [x ^ 0x8000 for x in xs]
        command = Command(op=op, length=len(xs), k0=k0, k1=zero, k2=one)
        if op in (Op.SILU, Op.SWIGLU):
            command = replace(command, k1=one)
        addends = others if op is Op.ADD else [0x3C00] * len(xs)
        row = beats(xs, others, addends, params.lanes)
        jobs.append(Job(command, [], both_passes(command, row, params)))
        if op in params.passes:
            exported = replace(command, exports=1)
            jobs.append(Job(exported, [], both_passes(exported, row, params)))
    # Zeros of either sign, in both of a pair: what 0 was added to has none.
    pairs = [0x8000_8000, 0x0000_8000, 0x8000_0000, 0x8000_3C00]
    ones = [0x3C00] * len(pairs)
    rotated = Command(op=Op.ROPE, length=len(pairs))
    jobs.append(Job(rotated, [], beats(pairs, ones, ones, params.lanes)))
    return jobs


@dataclass
class Run:
    """What a command did: its cycles, how many of them were stalls, and what came out."""

    cycles: int = 0
    stalls: int = 0
    results: list[int] = field(default_factory=list)
    exported: list[State] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)

    def codes(self, params: AauParams, length: int) -> list[int]:
        """Return results element by element."""
        mask = (1 << RESULT_WIDTH) - 1
        return [
            self.results[i // params.lanes] >> RESULT_WIDTH * (i % params.lanes) & mask
            for i in range(length)
        ]


class Driver:
    """Engines with the same pins; all outputs must be equal on every edge.

    Parameters
    ----------
    params
        Sizes.
    engines
        The first one answers.
    rng
        Of gaps and stalls.
    """

    def __init__(self, params: AauParams, engines: Sequence[Engine], rng: Random) -> None:
        self.params = params
        self.engines = engines
        self.rng = rng
        self.edges = 0

    def edge(self, pins: dict[str, int], note: Any = None) -> dict[str, int]:
        """One edge."""
        seen = [engine.step(pins, 1, self.edges) for engine in self.engines]
        for other in seen[1:]:
            assert other == seen[0], f"edge {self.edges}: {note}"
        self.edges += 1
        return seen[0]

    def idle_pins(self) -> dict[str, int]:
        """Return pins with nothing offered and everything taken."""
        return {
            **{f"{name}__{part}": 0 for name in ("command", "state_in", "beat") for part in
               ("valid", "payload")},
            **{f"{name}__ready": 1 for name in ("result", "state_out", "summary")},
        }  # fmt: skip

    def run(
        self, job: Job, gap: float = 0.0, stall: float = 0.0, abandon: int | None = None
    ) -> Run:
        """Run a command to its end, or for some edges; note stalls that the driver made."""
        rng, run = self.rng, Run()
        offered = {
            "command": [job.command.pack(self.params)],
            "state_in": [state.pack(self.params) for state in job.states],
            "beat": list(job.beats),
        }
        due = self.params.entries(job.command.op)
        while len(run.exported) + len(run.summaries) < due and run.cycles != abandon:
            pins = self.idle_pins()
            for name, queue in offered.items():
                valid = bool(queue) and rng.random() >= gap
                pins[f"{name}__valid"] = int(valid)
                pins[f"{name}__payload"] = queue[0] if valid else rng.getrandbits(40)
            for name in ("result", "state_out", "summary"):
                pins[f"{name}__ready"] = int(rng.random() >= stall)
            # All steps of a state with sums need it, and it is ready in the last.
            merges = not offered["command"] and offered["state_in"] and job.command.op != Op.TOP
            absent = bool(merges) and not pins["state_in__valid"]
            seen = self.edge(pins, job.command)
            run.cycles += 1
            wants = any(seen[f"{name}__ready"] and not pins[f"{name}__valid"] for name in offered)
            full = any(
                seen[f"{name}__valid"] and not pins[f"{name}__ready"]
                for name in ("result", "state_out", "summary")
            )
            run.stalls += absent or wants or full
            for name, queue in offered.items():
                if pins[f"{name}__valid"] and seen[f"{name}__ready"]:
                    queue.pop(0)
            if seen["result__valid"] and pins["result__ready"]:
                run.results.append(seen["result__payload"])
            if seen["summary__valid"] and pins["summary__ready"]:
                run.summaries.append(Summary.unpack(seen["summary__payload"], self.params))
            if seen["state_out__valid"] and pins["state_out__ready"]:
                run.exported.append(State.unpack(seen["state_out__payload"], self.params))
        if abandon is None:
            assert not any(offered.values()), "all that was offered was taken"
        return run


@pytest.fixture
def traffic() -> Callable[[AauParams, int], Traffic]:
    return Traffic


@pytest.fixture
def drive() -> Callable[..., Driver]:
    def make(params: AauParams, *engines: Engine, seed: int = 0) -> Driver:
        return Driver(params, engines, Random(seed))

    return make
