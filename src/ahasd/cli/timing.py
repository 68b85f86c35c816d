# SPDX-License-Identifier: Apache-2.0
"""`ahasd timing`: the longest paths of units by synthesis."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ahasd.cli.options import assignments


def timing(
    *units: str,
    config: Annotated[str, Parameter(name=("--config", "--configuration"))] = "paper",
    library: str = "osu018",
    liberty: Annotated[list[Path] | None, Parameter(negative=())] = None,
    memories: Literal["flops", "latches", "macros"] = "flops",
    boundaries: Literal["none", "repeated"] | None = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    out: Path = Path("runs/synth"),
    no_cache: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Synthesise hardware units and show their longest path against their clock.

    The clocks are 800 MHz (PIM) and 1 GHz (NPU) at 28 nm; times of a library of another node are
    scaled. ABC tells the logic between registers, without clock-to-output, setup and wires;
    where OpenSTA is installed (`sta`), it tells the path with the first two, so that a clock can be
    said to be met. OUT/timing-CONFIG-LIBRARY.json keeps a row for each unit.

    For example:

    - `ahasd timing gtsu`
    - `ahasd timing --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz`

    Parameters
    ----------
    units
        Units of the catalogue, or parts of the AAU; by default all units on a DRAM die.
    config
        Configuration to start from: paper, small or test.
    library
        osu018 (of Debian's qflow-tech-osu018); ge has no times.
    liberty
        A Liberty file, compressed or not, in place of the library; may be given several times.
    memories
        What memories become, as for `ahasd area`.
    boundaries
        What is kept apart, as for `ahasd area`. Where something is, OpenSTA alone sees the path.
    set_
        A parameter, as key=value; may be given several times.
    out
        Folder of the records; synth/results, in a checkout, refreshes those that docs show.
    no_cache
        Map everything anew.
    """
    from rich.console import Console

    from ahasd.cli.synthesis import chosen, show
    from ahasd.synth.library import load
    from ahasd.synth.record import merge, read, record_path, update
    from ahasd.synth.timing import timing as timing_of
    from ahasd.synth.timing_tables import path_table, timing_table

    cells = load(library, liberty or ())
    path = record_path(out, "timing", config, cells)
    read(path, "timing")  # what is no record is told before the work
    rows = []
    for unit, _ in chosen(units):
        row = timing_of(
            unit,
            config,
            cells,
            overrides=assignments(set_ or ()),
            memories=memories,
            boundaries=boundaries,
            cached=not no_cache,
        )
        rows.append(row)
        update(path, "timing", lambda held, row=row: merge(held, [row]))
    show(timing_table(rows), path_table(rows))
    Console().print(f"see {path}", markup=False, highlight=False, soft_wrap=True)
