# SPDX-License-Identifier: Apache-2.0
"""What was proved, when and with which tools: a JSON file, and its table for people."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from ahasd.rtl.configs import Unit
from ahasd.rtl.lib.properties import Proof
from ahasd.sim.formal.prove import Result

SCHEMA = "ahasd-proofs/1"
TOOLS = ("amaranth", "pyosys")


def proofs(unit: Unit) -> tuple[Proof, ...]:
    """Return a unit's proofs: `PROOFS` of its module `properties`, if it has one."""
    name = f"ahasd.rtl.{unit.name}.properties"
    return import_module(name).PROOFS if find_spec(name) else ()


def rows(unit: Unit, proof: Proof, results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return the records of a proof's results, in the order of the results."""
    found = []
    for result in results:
        cover = result.verdict in ("reached", "unreachable")
        used = (proof.cover_configuration if cover else None) or proof.configuration
        found.append(
            {
                "unit": unit.name,
                "property": result.name,
                "verdict": result.verdict,
                "engine": result.engine,
                "depth_cycles": result.depth,
                "configuration": used,
                "parameters": asdict(unit.configurations[used]),
                "seconds": round(result.seconds, 1),
            }
        )
    return found


def document(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the file for these records, dated today."""
    return {
        "schema": SCHEMA,
        "date": date.today().isoformat(),
        "tools": {name: version(name) for name in TOOLS},
        "proofs": found,
    }


def timeless(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records without what differs from run to run."""
    return [{key: row[key] for key in row if key != "seconds"} for row in found]


def tables(recorded: Mapping[str, Any]) -> str:
    """Return a record as Markdown: for each unit its properties, then its covers."""
    tools = ", ".join(f"{name} {number}" for name, number in recorded["tools"].items())
    lines = [f"Decided on {recorded['date']} with {tools}."]
    units: dict[str, list[dict[str, Any]]] = {}
    for row in recorded["proofs"]:
        units.setdefault(row["unit"], []).append(row)
    for unit, found in units.items():
        lines += ["", f"### `{unit}`", ""]
        used = {row["configuration"]: row["parameters"] for row in found}
        for name, parameters in used.items():
            sizes = ", ".join(f"{key} {value}" for key, value in _flat(parameters))
            lines.append(f"- `{name}`: {sizes}")
        lines += ["", "| property | verdict | engine | configuration | seconds |"]
        lines.append("| --- | --- | --- | --- | ---: |")
        for row in found:
            lines.append(
                f"| {row['property']} | {_verdict(row)} | `{row['engine']}`"
                f" | `{row['configuration']}` | {row['seconds']} |"
            )
    return "\n".join(lines)


def _flat(parameters: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield parameters, those of parts with the part's name before them."""
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _verdict(row: Mapping[str, Any]) -> str:
    match row["verdict"]:
        case "proved":
            return "proved, unbounded"
        case "bounded":
            return f"holds for {row['depth_cycles']} cycles"
        case "reached":
            return f"reached in {row['depth_cycles']} cycles"
    return row["verdict"]
