# SPDX-License-Identifier: Apache-2.0
"""Yosys passes of the package pyosys, which maps to cells and carries ABC, in a process apart."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ahasd import UserError, install_hint
from ahasd.gen.yosys import YosysError

RUN = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""


def tools() -> dict[str, str]:
    """Return the versions of what shapes a netlist.

    Raises
    ------
    UserError
        pyosys is missing.
    """
    try:
        return {name: version(name) for name in ("amaranth", "pyosys")}
    except PackageNotFoundError:
        raise UserError(
            f"synthesis needs pyosys, which is missing: {install_hint('synth')}"
        ) from None


def run(commands: Sequence[str], folder: Path) -> str:
    """Run passes in a folder, which is where they write and keep temporary files; return the log.

    Raises
    ------
    YosysError
        Yosys failed; the message is its own.
    """
    done = subprocess.run(
        [sys.executable, "-c", RUN, *commands],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
        raise YosysError("\n".join(said) or done.stderr.strip() or f"code {done.returncode}")
    return done.stdout
