# SPDX-License-Identifier: Apache-2.0
"""Decide properties with ABC; counterexamples are replayed and become waveforms."""

import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ahasd.rtl.configs import Unit
from ahasd.rtl.lib.properties import Engine, Proof
from ahasd.sim.formal.aig import FALSE, replay
from ahasd.sim.formal.model import Model
from ahasd.sim.formal.netlist import tool
from ahasd.sim.formal.waves import write_waves

Verdict = Literal["proved", "bounded", "refuted", "reached", "unreachable", "undecided"]

GRACE_S = 10
"""Time after its own time-out at which the engine is stopped [s]."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What is known of one property.

    Parameters
    ----------
    name
        Of the property.
    verdict
        Of an assertion: `proved` in every cycle, `bounded` in the first `depth` cycles, `refuted`.
        Of a cover: `reached`, `unreachable`. Either is `undecided` when time or depth ran out.
    engine
        `pdr` or `bmc`.
    depth
        Cycles: of a trace its length, else those that were looked at; None if without a bound.
    seconds
        Time that the engine took.
    waves
        Waveform of a counterexample, or of how a cover is reached.
    moved
        Flip-flops that move at the end of it although they should be still.
    """

    name: str
    verdict: Verdict
    engine: Engine
    depth: int | None
    seconds: float
    waves: Path | None = None
    moved: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it is as it should be."""
        return self.verdict in ("proved", "bounded", "reached")

    def __str__(self) -> str:
        parts = [f"{self.name!r} is {self.verdict}", f"by {self.engine}"]
        if self.depth is not None:
            parts.append(f"at {self.depth} cycles")
        if self.moved:
            parts.append(f"moving {', '.join(self.moved)}")
        if self.waves is not None:
            parts.append(f"see {self.waves}")
        return ", ".join(parts)


class EngineError(RuntimeError):
    """The engine failed, or its trace does not do what it claims."""


def prove(
    model: Model,
    name: str,
    folder: Path,
    *,
    engine: Engine = "pdr",
    depth: int | None = None,
    timeout_s: int = 60,
) -> Result:
    """Decide an assertion.

    Parameters
    ----------
    model
        The unit with its properties.
    name
        Of the assertion.
    folder
        Where the waveform of a counterexample goes.
    engine
        `pdr` decides without a bound (property-directed reachability), `bmc` looks at the first
        cycles only (bounded model checking).
    depth
        Cycles for `bmc`.
    timeout_s
        Time for the engine [s].

    Raises
    ------
    UserError
        pyosys is missing.
    EngineError
        The engine failed.
    """
    violations = model.assertions[name]
    if engine == "bmc":  # takes the first trace that violates any of them
        violations = [model.aig.any(violations)]
    results: list[Result] = []
    for bad in violations:
        results.append(_decide(model, name, bad, folder, engine, depth, timeout_s))
        if not results[-1].holds:
            break
    return replace(results[-1], seconds=sum(result.seconds for result in results))


def reach(
    model: Model,
    name: str,
    folder: Path,
    *,
    engine: Engine = "bmc",
    depth: int | None = None,
    timeout_s: int = 60,
) -> Result:
    """Decide a cover; parameters and exceptions as for `prove`."""
    result = _decide(model, name, model.covers[name], folder, engine, depth, timeout_s)
    verdicts: dict[Verdict, Verdict] = {"refuted": "reached", "proved": "unreachable"}
    return replace(result, verdict=verdicts.get(result.verdict, "undecided"))


def _decide(
    model: Model,
    name: str,
    bad: int,
    folder: Path,
    engine: Engine,
    depth: int | None,
    timeout_s: int,
) -> Result:
    """Tell whether a literal can ever be true."""
    if engine == "bmc" and depth is None:
        raise ValueError(f"bmc of {name!r} needs a depth")
    if bad == FALSE:
        return Result(name=name, verdict="proved", engine=engine, depth=None, seconds=0.0)
    text, inputs = model.aig.aiger(bad, model.registers)
    begin = time.perf_counter()
    said, trace = _run(text, engine, depth, timeout_s)
    seconds = time.perf_counter() - begin
    match said.split():
        case ["snl_UNSAT", *_]:
            return Result(name=name, verdict="proved", engine=engine, depth=None, seconds=seconds)
        case ["snl_UNK", last, *_]:
            seen = int(last) + 1
            verdict = "bounded" if engine == "bmc" and seen == depth else "undecided"
            return Result(name=name, verdict=verdict, engine=engine, depth=seen, seconds=seconds)
        case ["snl_SAT", *_, last]:
            length = int(last) + 1
        case _:
            raise EngineError(f"{engine} of {name!r} ended without an answer: {said!r}")
    steps: list[dict[int, bool | None]] = [
        {literal: trace[cycle * len(inputs) + i] == "1" for i, literal in enumerate(inputs)}
        for cycle in range(length)
    ]
    cycles = replay(model.aig, model.registers, steps)
    if not cycles[-1][bad]:
        raise EngineError(f"the trace of {engine} does not show {name!r}")
    moved = tuple(
        flop.names[0]
        for flop in model.still.get(name, ())
        if cycles[-1][flop.now] != cycles[-1][flop.data]
    )
    return Result(
        name=name,
        verdict="refuted",
        engine=engine,
        depth=len(cycles),
        seconds=seconds,
        waves=write_waves(model, cycles, folder, name),
        moved=moved,
    )


def _run(text: bytes, engine: Engine, depth: int | None, timeout_s: int) -> tuple[str, str]:
    """Run ABC on an AIGER file; return its status line, and its trace as bits if there is one."""
    command = f"pdr -T {timeout_s}" if engine == "pdr" else f"bmc3 -F {depth} -T {timeout_s}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bad.aig").write_bytes(text)
        script = f"read_aiger bad.aig; {command}; write_status status; write_cex -a trace"
        try:
            done = subprocess.run(
                [tool("yosys-abc"), "-c", script],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s + GRACE_S,
            )
        except subprocess.TimeoutExpired:
            return "snl_UNK -1", ""
        status, trace = folder / "status", folder / "trace"
        if done.returncode or not status.exists():
            raise EngineError(f"ABC failed with code {done.returncode}: {done.stdout.strip()}")
        # The trace's first line is the initial state.
        lines = trace.read_text().splitlines()[1:] if trace.exists() else []
        return status.read_text().splitlines()[0], "".join(lines)


def decide(unit: Unit, proof: Proof, folder: Path) -> list[Result]:
    """Decide every assertion and every cover of a proof.

    Parameters
    ----------
    unit
        Entry of the catalogue.
    proof
        One of the unit's.
    folder
        Where waveforms go.

    Raises
    ------
    ValueError
        There are assumptions, and no cover shows that they can be met.
    UserError
        pyosys is missing.
    """
    model = _model(unit, proof, proof.configuration)
    if model.assumptions and (not model.covers or proof.cover_configuration):
        raise ValueError(f"no cover shows that {model.assumptions} can be met")
    results = [
        prove(
            model, name, folder, engine=proof.engine, depth=proof.depth, timeout_s=proof.timeout_s
        )
        for name in model.assertions
    ]
    if proof.cover_configuration is not None:
        model = _model(unit, proof, proof.cover_configuration)
    return results + [
        reach(model, name, folder, depth=proof.cover_depth, timeout_s=proof.timeout_s)
        for name in model.covers
    ]


def _model(unit: Unit, proof: Proof, configuration: str) -> Model:
    return Model(proof.properties(unit.load_hardware()(unit.configurations[configuration])))
