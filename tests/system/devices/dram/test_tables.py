# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import fields
from pathlib import Path

import pytest

from ahasd.system.devices.dram.rules import Constraint
from ahasd.system.devices.dram.tables import MEMORIES, TABLES
from ahasd.system.devices.dram.timing import Timing
from ahasd.system.toml import known

PAGE = (Path(__file__).parents[4] / "docs" / "dram.md").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_the_code_computes(name):
    begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
    assert PAGE.count(begin) == 1
    shown = PAGE.partition(begin)[2].partition(end)[0]
    assert shown == TABLES[name]()


def test_the_page_has_no_marked_table_without_a_generator():
    assert re.findall(r"<!-- begin: (\S+) -->", PAGE) == list(TABLES)


def test_the_page_names_every_packaged_memory():
    assert sorted(MEMORIES) == known("dram")
    assert [name for name in MEMORIES if f"`{name}`" not in PAGE] == []


def test_the_page_explains_every_value_and_every_constraint():
    names = [field.name for field in fields(Timing)] + [each.name for each in Constraint]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
