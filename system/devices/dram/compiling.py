# SPDX-License-Identifier: Apache-2.0
"""How the engine's inner loops are compiled, and where the machine code is kept."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit

from ahasd.sim.rtl.build import cache_folder


@cache
def _folder() -> str:
    """Return a folder that no other version of any compiled function here has."""
    sources = sorted(Path(__file__).parent.glob("*kernel*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    return str(cache_folder() / "dram" / digest[:16])


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of a kernel file, and keep its code until any kernel file here changes.

    Numba alone watches the file of the function only, not those of the functions that it calls.
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = _folder()
    try:
        return njit(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
