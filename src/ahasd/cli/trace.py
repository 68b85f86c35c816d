# SPDX-License-Identifier: Apache-2.0
"""`ahasd trace`: traces of draft and target models."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from ahasd import UserError
from ahasd.cli.options import whole

if TYPE_CHECKING:
    from ahasd.system.workload.synthetic import Size

trace = App(
    name="trace",
    help="Look at, check and make traces of a draft and a target model (docs/trace.md).",
)

Whole = Annotated[int, Parameter(converter=whole)]
OptionalWhole = Annotated[int | None, Parameter(converter=whole)]
Flag = Annotated[bool, Parameter(negative=())]


@trace.command
def info(
    source: str,
    /,
    *,
    seed: Whole = 0,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Show what a trace says about its pair.

    Acceptance by step of a draft and by entropy, statistics of the entropy, and how well the
    draft's signals tell right tokens from wrong ones.

    For example:

    - `ahasd trace info smollm2-rtn4`
    - `ahasd trace info synthetic:code --json`

    Parameters
    ----------
    source
        A packaged trace, the path of an .npz file, or the name of a trace that is made on the
        spot: synthetic:PRESET, iid:ALPHA, mix:EASY/HARD/TOKENS/TOKENS, length:AL,
        ngram:COUPLING.
    seed
        Of a trace that is made on the spot.
    json_
        Print JSON instead of tables.
    """
    from ahasd.system.workload.source import open_trace
    from ahasd.system.workload.summary import summarise

    opened = open_trace(source, seed=seed)
    summary = summarise(opened)
    if json_:
        import json
        from dataclasses import asdict

        told = {
            "schema": "ahasd-trace-info/1",
            "source": opened.source,
            "rows": opened.rows,
            "header": dict(opened.header),
            "summary": asdict(summary),
        }
        print(json.dumps(told, indent=2))
        return
    from rich.console import Console

    from ahasd.system.workload.summary_text import tables

    console = Console()
    for each in tables(opened, summary):
        console.print(each)


@trace.command
def validate(source: str, /, *, seed: Whole = 0) -> int:
    """Check a trace against every rule of its schema; one line for each that is broken.

    Exit code 2 if any is broken.

    For example:

    - `ahasd trace validate my/pair.npz`
    - `ahasd trace validate iid:0.8`

    Parameters
    ----------
    source
        As for `ahasd trace info`.
    seed
        Of a trace that is made on the spot.
    """
    from ahasd.system.workload.source import is_made, open_trace
    from ahasd.system.workload.trace import read_parts
    from ahasd.system.workload.validate import problems

    if is_made(source):  # whoever makes a trace checks it; the first broken rule is raised
        print(f"{source}: valid, {open_trace(source, seed=seed).rows} rows")
        return 0
    header, columns = read_parts(source)
    found = list(problems(source, header, columns))
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    if found:
        return 2
    print(f"{source}: valid, {columns['seq'].size} rows")
    return 0


@trace.command
def synth(
    source: str = "",
    /,
    *,
    seed: Whole = 0,
    requests: OptionalWhole = None,
    tokens: OptionalWhole = None,
    k_max: OptionalWhole = None,
    prompt_len: OptionalWhole = None,
    out: Path | None = None,
    force: Flag = False,
) -> None:
    """Write a synthetic trace. Without a name, list the presets and what they rest on.

    Acceptance of a preset is an estimate unless it says `measured`: look at results with 0.05 more
    and less, too.

    For example:

    - `ahasd trace synth`
    - `ahasd trace synth chat --requests 40 --tokens 400`
    - `ahasd trace synth opt-1.3b-6.7b-qa@0.73 --out more.npz`
    - `ahasd trace synth 0.2/1.1/0.45`
    - `ahasd trace synth iid:0.8`
    - `ahasd trace synth length:3.2`

    Parameters
    ----------
    source
        PRESET; PRESET@ALPHA, with another acceptance; PI0/M/KAPPA, a model's own parameters;
        iid:ALPHA, independent acceptance; mix:EASY/HARD/TOKENS/TOKENS, easy and hard stretches;
        length:AL, a fixed acceptance length.
    seed
        Of every random draw.
    requests
        How many; 16 by default.
    tokens
        Target tokens of each; 256 by default.
    k_max
        Steps of a rollout; 32 by default.
    prompt_len
        Prompt tokens of each; 128 by default.
    out
        File to write, SOURCE.npz by default; .npz is added to another name.
    force
        Replace the file.
    """
    from ahasd.system.workload.presets import PRESETS
    from ahasd.system.workload.source import is_made
    from ahasd.system.workload.synthetic import Size

    if not source:
        from rich.console import Console

        from ahasd.system.workload.summary_text import preset_table

        Console().print(preset_table())
        return
    name = source if is_made(source) else f"synthetic:{source}"
    if name.startswith("ngram:"):
        raise UserError(f"{source} is no synthetic trace; use `ahasd trace ngram`")
    size = _size(Size(), requests, tokens, k_max, prompt_len)
    _write(name, seed, size, out, force=force)
    chosen = PRESETS.get(name.partition(":")[2])
    if chosen:
        low, high = chosen.band
        print(f"look at {name}@{low:.3f} and {name}@{high:.3f}, too")


@trace.command
def ngram(
    *,
    coupling: Literal["greedy", "gumbel", "maximal"] = "gumbel",
    seed: Whole = 0,
    requests: OptionalWhole = None,
    tokens: OptionalWhole = None,
    k_max: OptionalWhole = None,
    prompt_len: OptionalWhole = None,
    out: Path | None = None,
    force: Flag = False,
) -> None:
    """Write a trace of a pair of n-gram models, trained at once on text that comes with Python.

    Needs no download and a few seconds. The text, and so the trace, depends on Python's version.

    For example:

    - `ahasd trace ngram`
    - `ahasd trace ngram --coupling maximal --seed 1 --out pair.npz`

    Parameters
    ----------
    coupling
        How draft and target choose: greedy, their likeliest tokens; gumbel, sampled with the same
        noise; maximal, speculative sampling, which accepts most.
    seed
        Of prompts and of what is sampled.
    requests
        How many; 12 by default.
    tokens
        Target tokens of each; 100 by default.
    k_max
        Steps of a rollout; 16 by default.
    prompt_len
        Prompt tokens of each; 128 by default.
    out
        File to write, ngram-COUPLING.npz by default; .npz is added to another name.
    force
        Replace the file.
    """
    from ahasd.system.workload.ngram_pair import NGRAM_SIZE

    size = _size(NGRAM_SIZE, requests, tokens, k_max, prompt_len)
    _write(f"ngram:{coupling}", seed, size, out, force=force)


@trace.command
def plot(
    source: str,
    /,
    *,
    seed: Whole = 0,
    out: Path = Path("trace.svg"),
    force: Flag = False,
) -> None:
    """Draw what `info` shows. Needs matplotlib.

    For example:

    - `ahasd trace plot smollm2-rtn4`
    - `ahasd trace plot synthetic:chat --out chat.png`

    Parameters
    ----------
    source
        As for `ahasd trace info`.
    seed
        Of a trace that is made on the spot.
    out
        File to write: .svg or .png.
    force
        Replace the file.
    """
    from ahasd.system.workload.plots import write_plot
    from ahasd.system.workload.source import open_trace
    from ahasd.system.workload.summary import summarise

    _check_new(out, force=force)
    opened = open_trace(source, seed=seed)
    write_plot(opened, summarise(opened), out)
    print(f"see {out}")


def _size(
    default: "Size",
    requests: int | None,
    tokens: int | None,
    k_max: int | None,
    prompt_len: int | None,
) -> "Size":
    """Return the default with what was asked for."""
    from dataclasses import replace

    asked = {"requests": requests, "tokens": tokens, "k_max": k_max, "prompt_len": prompt_len}
    return replace(default, **{key: value for key, value in asked.items() if value is not None})


def _write(name: str, seed: int, size: "Size", out: Path | None, *, force: bool) -> None:
    """Make a trace and write it, and say what was written."""
    import re

    from ahasd.system.workload.source import open_trace
    from ahasd.system.workload.summary import summarise
    from ahasd.system.workload.trace import save_trace

    path = out or Path(re.sub(r"[^A-Za-z0-9.@]+", "-", name) + ".npz")
    if path.suffix != ".npz":
        path = path.with_name(f"{path.name}.npz")
    _check_new(path, force=force)
    made = open_trace(name, seed=seed, size=size)
    save_trace(made, path)
    acceptance = summarise(made).alpha
    print(f"{path}: {len(made.requests)} requests, {made.rows} rows, acceptance {acceptance:.3f}")
    if "evidence" in made.header:
        print(f"evidence: {made.header['evidence']}")


def _check_new(path: Path, *, force: bool) -> None:
    """Refuse to replace a file.

    Raises
    ------
    UserError
        It is there.
    """
    if path.exists() and not force:
        raise UserError(
            f"{path} is there already; choose another --out, or replace it with --force"
        )
