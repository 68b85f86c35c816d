# SPDX-License-Identifier: Apache-2.0
"""What is known of cells, made up."""

from dataclasses import asdict
from typing import Any

import pytest

from ahasd.system.matrix.cells import CONFIGURATIONS, Cell

PAIR = "tiny-draft:tiny-target"


@pytest.fixture
def found() -> Any:
    """Return a function that makes what is known of a cell whose run has some figures."""

    def make(
        configuration: str,
        speed: float,
        pair: str = PAIR,
        seed: int = 0,
        rule: str = "svip",
        mj: float = 100.0,
        lossless: str = "tokens",
        **more: Any,
    ) -> dict[str, Any]:
        cell = Cell(pair=pair, rule=rule, configuration=configuration, seed=seed)
        energy = {"device": {"mj_per_token": mj}, "wall": {"mj_per_token": 2 * mj}}
        return {
            "cell": asdict(cell),
            "metrics": {
                "scheme": CONFIGURATIONS[configuration]["scheme"],
                "throughput_tokens_s": speed,
                "acceptance_rate": 0.5,
                "energy": {"mid": energy},
                **more,
            },
            "pass_shares": {"weights.memory": 1.0},
            "lossless": lossless,
            "timing": {"wall_s": 2.0, "taken_over": False},
        }

    return make


@pytest.fixture
def columns() -> Any:
    """Return a function that gives a table's columns by header; equal headers are numbered."""

    def of(table: Any) -> dict[str, list[str]]:
        told: dict[str, list[str]] = {}
        for column in table.columns:
            name = column.header
            while name in told:
                name += "'"
            told[name] = list(column.cells)
        return told

    return of
