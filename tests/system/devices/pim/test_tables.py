# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from ahasd.system.devices.pim.tables import TABLES

PAGE = (Path(__file__).parents[4] / "docs" / "pim.md").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_the_code_computes(name):
    begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
    assert PAGE.count(begin) == 1
    assert PAGE.partition(begin)[2].partition(end)[0] == TABLES[name]()


def test_the_page_has_no_marked_table_without_a_generator():
    assert re.findall(r"<!-- begin: (\S+) -->", PAGE) == list(TABLES)
