# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from ahasd.system.energy.account import FATES
from ahasd.system.energy.table import EnergyTable
from ahasd.system.energy.tables import TABLES
from ahasd.system.toml import known

PAGE = (Path(__file__).parents[3] / "docs" / "energy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_the_code_computes(name):
    begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
    assert PAGE.count(begin) == 1
    assert PAGE.partition(begin)[2].partition(end)[0] == TABLES[name]()


def test_the_page_has_every_table_every_row_and_every_fate():
    assert re.findall(r"<!-- begin: (\S+) -->", PAGE) == list(TABLES)
    assert [name for name in known("energy") if f"energy-{name}" not in TABLES] == []
    keys = [key for key in EnergyTable.model_fields if key != "name"]
    assert [key for key in (*keys, *FATES) if f"`{key}`" not in PAGE] == []
