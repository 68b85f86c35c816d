# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

import pytest

from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.tables import TABLES
from ahasd.system.platform import Npu, Pim, Platform
from ahasd.system.toml import known

PAGE = (Path(__file__).parents[3] / "docs" / "platforms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_the_code_computes(name):
    begin, end = f"<!-- begin: {name} -->\n", f"\n<!-- end: {name} -->"
    assert PAGE.count(begin) == 1
    shown = PAGE.partition(begin)[2].partition(end)[0]
    assert shown == TABLES[name]()


def test_the_page_has_no_marked_table_without_a_generator():
    assert re.findall(r"<!-- begin: (\S+) -->", PAGE) == list(TABLES)


def test_the_page_explains_every_key_of_a_platform():
    fields = [name for model in (Platform, Pim, Npu) for name in model.model_fields]
    assert [name for name in fields if f"{name}`" not in PAGE] == []


@pytest.mark.parametrize("kind", ["platforms", "models"])
def test_the_page_names_every_packaged_file(kind):
    assert [name for name in known(kind) if f"`{name}`" not in PAGE] == []


def test_a_table_pads_its_cells_and_aligns_numbers_to_the_right():
    assert markdown_table(("name", "n"), [("a", "10"), ("longer", "2")]) == "\n".join(
        ["| name   |  n |", "| ------ | -: |", "| a      | 10 |", "| longer |  2 |"]
    )


def test_text_columns_are_set_to_the_left():
    assert markdown_table(("a", "b"), [("x", "long")], text_columns=2) == "\n".join(
        ["| a | b    |", "| - | ---- |", "| x | long |"]
    )


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        markdown_table(("a", "b"), [("only one",)])
