# SPDX-License-Identifier: Apache-2.0
"""The Liberty library osu018 as Debian has it, with the areas of its layouts.

They are the same in the two files but for three cells: in Liberty the latch has none, a NAND3X1 is
larger than its layout and an OAI21X1 smaller than a NAND2X1, which a mapper for area falls for.
"""

import re
from pathlib import Path

FOLDER = Path("/usr/share/qflow/tech/osu018")
"""Where Debian's package qflow-tech-osu018 puts it."""
LIBERTY, LAYOUTS = FOLDER / "osu018_stdcells.lib", FOLDER / "osu018_stdcells.lef"

_SIZE = re.compile(
    r"^MACRO\s+(?P<cell>\w+).*?^\s*SIZE\s+(?P<width>[\d.]+)\s+BY\s+(?P<height>[\d.]+)\s*;",
    re.MULTILINE | re.DOTALL,
)
_AREA = re.compile(r"^(cell\s*\((\w+)\).*?\barea\s*:\s*)([\d.]+)", re.MULTILINE | re.DOTALL)


def corrected(liberty: str, layouts: str) -> str:
    """Return a Liberty text with the areas of cells that a LEF text has the sizes of."""
    areas = {
        found["cell"]: f"{float(found['width']) * float(found['height']):g}"
        for found in _SIZE.finditer(layouts)
    }
    return _AREA.sub(lambda found: found[1] + areas.get(found[2], found[3]), liberty)
