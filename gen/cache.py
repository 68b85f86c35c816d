# SPDX-License-Identifier: Apache-2.0
"""The folder that keeps what is made of sources: compiled units, synthesis results."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return where they are kept: `$AHASD_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("AHASD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ahasd"
