# SPDX-License-Identifier: Apache-2.0
"""The command line."""

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from ahasd import UserError, __version__
from ahasd.cli.doctor import doctor
from ahasd.cli.gen import gen
from ahasd.cli.run import run

app = App(
    name="ahasd",
    help="Hardware generator and RTL-in-the-loop simulator for speculative decoding in memory.",
    version=f"ahasd {__version__}",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)
app.command(run)
app.command(gen)
app.command(doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0, 2 for what the user can mend, 130.

    Anything else that goes wrong is a fault of ours and shows its traceback.
    """
    try:
        result = app(
            sys.argv[1:] if arguments is None else list(arguments),
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except (UserError, CycloptsError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130
    return result if isinstance(result, int) else 0
