# SPDX-License-Identifier: Apache-2.0
"""AHASD: hardware generator and system simulator for speculative decoding in memory."""

import shlex
import sys
from importlib.metadata import version

__version__ = version("ahasd")


class UserError(Exception):
    """Report something the user can mend: one line that names the rule, the value and the remedy.

    The command line prints it after `error:`, its notes (a table of what was wanted, say) below,
    and exits with code 2; nothing else is caught there, so that a fault of ours still shows its
    traceback.
    """


def install_hint(extra: str = "") -> str:
    """Return the command, to be given in the checkout, that installs the package with an extra."""
    what = f"'.[{extra}]'" if extra else "."
    return f"{shlex.quote(sys.executable)} -m pip install -e {what}"


def package_hint(package: str) -> str:
    """Return the command that installs a package of which only the files are needed."""
    return f"{shlex.quote(sys.executable)} -m pip install --no-deps {package}"
