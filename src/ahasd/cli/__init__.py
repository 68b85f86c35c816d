# SPDX-License-Identifier: Apache-2.0
"""The command line."""

import io
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    0: done; 1: `doctor` misses something; 2: something that the user can mend, told in one line;
    130: interrupted; 141: nobody reads the output any more. Anything else that goes wrong is a
    fault of ours and shows its traceback.
    """
    try:
        # Here, not above: an interrupt while the libraries load is one line, too.
        from cyclopts import CycloptsError

        from ahasd import UserError
        from ahasd.cli.app import app

        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            result = app(
                sys.argv[1:] if arguments is None else list(arguments),
                exit_on_error=False,
                print_error=False,
                result_action="return_value",
            )
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
        except (UserError, CycloptsError) as error:
            told = " ".join(str(error).split()).replace("Unused Tokens", "unexpected arguments")
            print(f"error: {told}", *getattr(error, "__notes__", ()), sep="\n", file=sys.stderr)
            return 2
        return result if isinstance(result, int) else 0
    except KeyboardInterrupt as interrupt:
        print(f"interrupted: {str(interrupt) or 'nothing was written'}", file=sys.stderr)
        return 130
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            # Files are read and written where errors are told; what is left is the output itself.
            sys.stdout = None
            print(f"error: cannot write the output: {error.strerror or error}", file=sys.stderr)
            return 2
        # Python flushes at exit and would complain again.
        sys.stdout = None
        return 141
