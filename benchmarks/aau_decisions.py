# SPDX-License-Identifier: Apache-2.0
"""What the AAU's arithmetic changes in the decisions that are made with its entropies.

For steps of the shipped trace, logits of the whole vocabulary are built that have the trace's two
largest probabilities and entropy (docs/numerics.md), and go through the golden model of the AAU.
Writes docs/aau_decisions.json, which `python docs/generate.py` shows.

    python benchmarks/aau_decisions.py [one row in so many]
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ahasd.system.numerics.effect import measure
from ahasd.system.workload.source import open_trace

RECORD = Path(__file__).resolve().parents[1] / "docs" / "aau_decisions.json"


def main() -> None:
    """Measure and write."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    trace = open_trace("smollm2-rtn4", seed=0)
    jobs = len(os.sched_getaffinity(0))
    print(f"{trace.source}: one row in {every} of {trace.rows}, in {jobs} processes")
    found = measure(trace, every, jobs)
    record = {"date": datetime.now(UTC).date().isoformat(), **found}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {RECORD}")


if __name__ == "__main__":
    main()
