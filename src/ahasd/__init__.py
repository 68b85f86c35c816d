# SPDX-License-Identifier: Apache-2.0
"""AHASD: hardware generator and system simulator for speculative decoding in memory."""

from importlib.metadata import version

__version__ = version("ahasd")


class UserError(Exception):
    """Report something the user can mend: one line that names the rule, the value and the remedy.

    The command line prints it after `error:`, its notes (a table of what was wanted, say) below,
    and exits with code 2; nothing else is caught there, so that a fault of ours still shows its
    traceback.
    """
