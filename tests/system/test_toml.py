# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field, model_validator

from ahasd import UserError
from ahasd.system.toml import TomlModel, find, known, load, read_toml, validated, with_overrides


class Engine(TomlModel):
    power_kw: float = Field(gt=0, le=500, description="power, kW")
    fuel: Literal["petrol", "diesel"] = "diesel"
    cylinders: int = Field(default=4, ge=1)


class Car(TomlModel):
    name: str = Field(min_length=1)
    engine: Engine
    spare: Engine | None = None
    doors: int | None = Field(default=None, ge=2)
    trailers: list[Engine] = Field(default_factory=list)

    @model_validator(mode="after")
    def _lada_is_small(self) -> "Car":
        if self.name == "lada" and self.engine.power_kw > 100:
            raise ValueError(f"power_kw = {self.engine.power_kw} is too much for a lada")
        return self


GOOD = {"name": "a", "engine": {"power_kw": 80}}


def message(action, *arguments) -> str:
    with pytest.raises(UserError) as caught:
        action(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_good_data_gives_a_frozen_model_with_its_defaults():
    car = validated(Car, GOOD, "car.toml")
    assert car.engine == Engine(power_kw=80.0, fuel="diesel", cylinders=4)
    with pytest.raises(Exception, match="frozen"):
        car.__setattr__("name", "b")


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"engine.fule": "diesel"}, "unknown key engine.fule; did you mean engine.fuel?"),
        ({"spare.power_kw": 1.0, "spare.fule": "x"}, "spare.fule; did you mean spare.fuel?"),
        ({"colour": "red"}, "unknown key colour; known here: name, engine, spare, doors, trailers"),
        ({"engine.zzz": 1}, "unknown key engine.zzz; known here: power_kw, fuel, cylinders"),
        ({"engine": {}}, "missing key engine.power_kw (power, kW)"),
        ({"spare": {"fuel": "diesel"}}, "missing key spare.power_kw (power, kW)"),
        ({"trailers": [{}]}, "missing key trailers.0.power_kw (power, kW)"),
        ({"trailers": [{"fule": "x", "power_kw": 1}]}, "did you mean trailers.0.fuel?"),
        ({"engine.power_kw": "fast"}, "power_kw = 'fast': must be a finite number > 0 and <= 500"),
        ({"engine.power_kw": "0"}, "engine.power_kw = 0: must be a finite number > 0 and <= 500"),
        ({"engine.power_kw": 501.0}, "= 501.0: must be a finite number > 0 and <= 500"),
        ({"engine.power_kw": "inf"}, "engine.power_kw = inf: must be a finite number > 0"),
        ({"engine.power_kw": "nan"}, "engine.power_kw = nan: must be a finite number > 0"),
        ({"engine.power_kw": '"80"'}, "engine.power_kw = '80': must be a finite number"),
        ({"engine.cylinders": "4.0"}, "engine.cylinders = 4.0: must be a whole number >= 1"),
        ({"engine.cylinders": "true"}, "engine.cylinders = True: must be a whole number >= 1"),
        ({"doors": "1"}, "doors = 1: must be a whole number >= 2"),
        ({"engine.fuel": "gas"}, "engine.fuel = 'gas': must be 'petrol' or 'diesel'"),
        ({"engine": 3}, "engine = 3: must be a table"),
        ({"name": "4"}, "name = 4: must be a valid string"),
        ({"name": "lada", "engine.power_kw": 200.0}, "power_kw = 200.0 is too much for a lada"),
    ],
)
def test_each_fault_is_one_line_with_source_key_value_and_remedy(overrides, told):
    text = message(validated, Car, with_overrides(GOOD, overrides), "car.toml")
    assert text.startswith("car.toml: ")
    assert told in text


def test_a_missing_table_is_told_by_its_name():
    assert message(validated, Car, {"name": "a"}, "car.toml") == "car.toml: missing key engine"


def test_a_misspelt_key_is_told_before_the_missing_one_and_the_rest_is_counted():
    data = {"name": "", "engine": {"power": 80, "fuel": "gas"}}
    text = message(validated, Car, data, "car.toml")
    assert text == (
        "car.toml: unknown key engine.power; did you mean engine.power_kw? (and 3 more)"
    )


def test_a_single_fault_is_not_counted():
    text = message(validated, Car, GOOD | {"colour": 1}, "car.toml")
    assert "more)" not in text


def test_a_long_value_does_not_flood_the_message():
    text = message(validated, Car, GOOD | {"engine": ["x" * 1000] * 1000}, "car.toml")
    assert len(text) < 300


def test_overrides_parse_toml_and_fall_back_to_text():
    changed = with_overrides(
        GOOD,
        {
            "engine.power_kw": "2.5",
            "engine.cylinders": "6",
            "engine.fuel": "per_rank",
            "flag": "true",
            "quoted": '"4"',
            "empty": "",
            "new.deep.key": "1",
            "number": 7,
            "two_lines": "1\nother = 2",
        },
    )
    assert changed == {
        "name": "a",
        "engine": {"power_kw": 2.5, "cylinders": 6, "fuel": "per_rank"},
        "flag": True,
        "quoted": "4",
        "empty": "",
        "new": {"deep": {"key": 1}},
        "number": 7,
        "two_lines": "1\nother = 2",
    }


def test_overrides_leave_the_original_alone():
    original = {"engine": {"power_kw": 80}}
    with_overrides(original, {"engine.power_kw": "1"})
    assert original == {"engine": {"power_kw": 80}}


@pytest.mark.parametrize("key", ["", "a..b", ".a", "a."])
def test_an_override_key_with_an_empty_part_is_refused(key):
    assert f"override key {key!r} has an empty part" in message(with_overrides, {}, {key: "1"})


def test_an_override_through_a_value_is_refused():
    text = message(with_overrides, GOOD, {"engine.power_kw.unit": "1"})
    assert "engine.power_kw is a value, not a table" in text


def test_a_packaged_name_is_found():
    assert read_toml(find("platforms", "mobile-paper"), "platform")["name"] == "mobile-paper"


@pytest.mark.parametrize("path", ["mine.toml", "./mine", "folder/mine.toml"])
def test_a_path_is_taken_as_given(path):
    assert find("platforms", path) == Path(path)


def test_an_unknown_name_lists_the_known_ones():
    text = message(find, "models", "opt-13b")
    assert "unknown model 'opt-13b'" in text
    assert ", ".join(known("models")) in text


def test_known_names_are_sorted_and_without_suffix():
    assert known("models") == sorted(known("models"))
    assert "opt-1.3b" in known("models")


def test_a_users_file_is_loaded_with_overrides(tmp_path):
    file = tmp_path / "car.toml"
    file.write_text('name = "a"\n[engine]\npower_kw = 80\n')
    assert load(Car, "cars", str(file)).engine.power_kw == 80
    assert load(Car, "cars", str(file), {"engine.power_kw": "90"}).engine.power_kw == 90
    text = message(load, Car, "cars", str(file), {"engine.power": "90"})
    assert text.startswith(f"car {file}: unknown key engine.power;")


def test_malformed_toml_is_told_with_its_place(tmp_path):
    file = tmp_path / "car.toml"
    file.write_text("name = 'a'\n[engine\n")
    text = message(read_toml, file, "car")
    assert re.match(rf"car file {re.escape(str(file))} is not valid TOML: .*line 2", text)


def test_a_missing_file_is_told(tmp_path):
    text = message(read_toml, tmp_path / "none.toml", "car")
    assert text == f"cannot read car file {tmp_path / 'none.toml'}: no such file or directory"


def test_a_folder_is_not_a_file(tmp_path):
    assert "is a directory" in message(read_toml, tmp_path, "car")


def test_a_file_in_another_encoding_is_told(tmp_path):
    file = tmp_path / "car.toml"
    file.write_bytes(b"name = '\xe4'\n")
    assert "is not UTF-8 text: save it as UTF-8" in message(read_toml, file, "car")
