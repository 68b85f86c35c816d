# SPDX-License-Identifier: Apache-2.0
"""Proofs of a unit, and of a unit with a fault, for the tests of every unit."""

import json
import sys
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS, Unit
from ahasd.rtl.lib.properties import Proof, Properties
from ahasd.rtl.parts import CATALOGUE
from ahasd.sim.formal.model import Model
from ahasd.sim.formal.prove import Result, decide, prove
from ahasd.sim.formal.record import rows, timeless

RECORD = Path(__file__).resolve().parents[2] / "docs" / "proofs.json"


@pytest.fixture
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """Read what docs/proofs.json says of a unit."""

    def read(name: str) -> list[dict[str, Any]]:
        return [row for row in json.loads(RECORD.read_text())["proofs"] if row["unit"] == name]

    return read


@pytest.fixture
def holds_as_recorded(tmp_path: Path, recorded: Callable[..., Any]) -> Callable[[str, Proof], None]:
    """Decide a proof: all of it must hold, and be what docs/proofs.json says."""

    def check(name: str, proof: Proof) -> None:
        results = decide(UNITS[name], proof, tmp_path)
        assert [str(result) for result in results if not result.holds] == []
        found = timeless(rows(UNITS[name], proof, results))
        known = timeless(recorded(name))
        missing = [row for row in found if row not in known]
        assert missing == [], f"run `python docs/prove.py {name}`"

    return check


@pytest.fixture
def mutant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Unit]:
    """Change a text in the source of one of a unit's modules, until the test ends.

    Whatever has imported the classes of that module gets the changed ones.
    """

    def make(name: str, before: str, after: str, file: str = "unit") -> Unit:
        unit = CATALOGUE[name]
        unit.load_hardware()
        original = sys.modules[f"ahasd.rtl.{unit.source}.{file}"]
        source = (files("ahasd.rtl") / unit.source / f"{file.replace('.', '/')}.py").read_text()
        assert source.count(before) == 1, f"the source has changed: {before!r}"
        changed = ModuleType(f"{name}_{file}_mutant")
        exec(compile(source.replace(before, after), changed.__name__, "exec"), changed.__dict__)
        importers = [module for key, module in sys.modules.items() if key.startswith("ahasd.rtl.")]
        for module in importers:
            for attribute, value in list(vars(module).items()):
                if getattr(value, "__module__", None) == original.__name__:
                    monkeypatch.setattr(module, attribute, getattr(changed, value.__name__))
        return unit

    return make


@pytest.fixture
def refute(tmp_path: Path) -> Callable[..., list[Result]]:
    """Try to prove properties of a unit in a configuration, and expect counterexamples.

    With a depth, in as many cycles: where proving takes long what holds in spite of the fault.
    """

    def check(
        unit: Unit,
        properties: Callable[[Any], Properties],
        names: Iterable[str],
        configuration: str = "test",
        depth: int | None = None,
    ) -> list[Result]:
        model = Model(properties(unit.load_hardware()(unit.configurations[configuration])))
        engine = "pdr" if depth is None else "bmc"
        results = [prove(model, name, tmp_path, engine=engine, depth=depth) for name in names]
        for result in results:
            assert result.verdict == "refuted", str(result)
            assert result.waves is not None
            assert result.waves.exists()
        return results

    return check
