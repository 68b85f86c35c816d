# SPDX-License-Identifier: Apache-2.0
"""Decide the properties of the units and record the results in docs/proofs.json and proofs.md.

python docs/prove.py            all units
python docs/prove.py edc gtsu   these; the records of the others stay
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ahasd.rtl.configs import UNITS
from ahasd.sim.formal.prove import decide
from ahasd.sim.formal.record import document, proofs, rows, tables

DOCS = Path(__file__).resolve().parent
RECORD, PAGE = DOCS / "proofs.json", DOCS / "proofs.md"
BEGIN, END = "<!-- begin: proofs -->\n", "\n<!-- end: proofs -->"


def filled(page: str, recorded: dict) -> str:
    """Return the page with the tables of a record."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + tables(recorded) + END + tail


def main() -> int:
    """Prove, print and record; exit 1 if a property does not hold."""
    chosen = sys.argv[1:] or list(UNITS)
    decided: dict[str, list[dict[str, Any]]] = {}
    holds = True
    for name in chosen:
        unit = UNITS[name]
        decided[name] = []
        for proof in proofs(unit):
            results = decide(unit, proof, Path(tempfile.gettempdir()) / "ahasd-proofs" / unit.name)
            for result in results:
                print(f"{unit.name}: {result}")
            holds = holds and all(result.holds for result in results)
            decided[name] += rows(unit, proof, results)
    if holds:
        before = json.loads(RECORD.read_text())["proofs"] if RECORD.exists() else []
        kept = {name: [row for row in before if row["unit"] == name] for name in UNITS}
        recorded = document([row for found in (kept | decided).values() for row in found])
        RECORD.write_text(json.dumps(recorded, indent=1) + "\n")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), recorded), encoding="utf-8")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
