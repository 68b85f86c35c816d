# SPDX-License-Identifier: Apache-2.0
"""`ahasd power`: the power of units by synthesis and a run."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def power(
    *units: str,
    run: Path,
    library: str = "osu018",
    liberty: Annotated[list[Path] | None, Parameter(negative=())] = None,
    out: Path = Path("runs/synth"),
    no_cache: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Synthesise hardware units, drive their gates with the pins of a run, and show their power.

    The pins are those that `ahasd run --activity` kept in RUN/activity. The outputs of the gates
    are compared with those of the RTL at every recorded edge; a difference stops the command. The
    changes of every net and the cycles of the clocks are weighed with the library's tables, and
    energy of a library of another node is scaled to 28 nm. Delays are zero and wires are missing;
    leakage at 28 nm is assumed. Of the AAU, whose commands ran once each, power is weighed by the
    cycles that the run has of them. OUT/power-CONFIG-LIBRARY.json keeps a row for each unit.

    For example:

    - `ahasd run --activity --tokens 64 --name mine`
    - `ahasd power --run runs/mine`
    - `ahasd power edc --run runs/mine --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz`

    Parameters
    ----------
    units
        Units of the catalogue; all whose pins were recorded by default.
    run
        Folder of a run.
    library
        osu018 (of Debian's qflow-tech-osu018); ge has no power.
    liberty
        A Liberty file, compressed or not, in place of the library; may be given several times.
    out
        Folder of the records; synth/results, in a checkout, refreshes those that docs show.
    no_cache
        Map everything anew.
    """
    from rich.console import Console

    from ahasd.cli.synthesis import chosen, show
    from ahasd.rtl.configs import UNITS
    from ahasd.synth.library import load
    from ahasd.synth.power.activity import read as read_activity
    from ahasd.synth.power.power import power as power_of
    from ahasd.synth.power.tables import command_table, origin_line, power_table
    from ahasd.synth.record import merge, read, record_path, update

    cells = load(library, liberty or ())
    folder = run / "activity"
    wanted = units or [name for name in UNITS if (folder / f"{name}.npz").exists()]
    rows = []
    for unit, _ in chosen(wanted or ["ahasd"]):  # its file is missing, too, which is then told
        activity = read_activity(folder / f"{unit}.npz")
        path = record_path(out, "power", activity.header["configuration"], cells)
        read(path, "power")  # what is no record is told before the work
        rows.append(power_of(activity, cells, cached=not no_cache))
        update(path, "power", lambda held: merge(held, rows[-1:]))
    show(power_table(rows), command_table(rows))
    console = Console()
    console.print(origin_line(rows), markup=False, highlight=False)
    see = record_path(out, "power", rows[0]["configuration"], cells)
    console.print(f"see {see}", markup=False, highlight=False, soft_wrap=True)
