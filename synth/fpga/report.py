# SPDX-License-Identifier: Apache-2.0
"""What nextpnr tells of a design, and tables of it."""

import re
from collections.abc import Sequence
from typing import Any

from ahasd.synth.fpga.boards import Board
from ahasd.synth.tables import TextTable

KIND = "fpga"
"""Of records."""

USED = re.compile(r"^Info:\s+(\w+):\s*(\d+)/\s*(\d+)\s+\d+%", re.MULTILINE)
"""A line of nextpnr's log on utilisation."""

CLOCK = re.compile(r"(\w+)_clk$")
"""The end of a clock's net."""

MADE = re.compile(r"(_(TRELLIS|SB|LUT|L6MUX|PFUMX|CCU2C)[A-Z0-9_a-z]*$|\$\d+)")
"""What the mapper adds to a name."""

SHOWN = {
    "ICESTORM_LC": "logic cells",
    "ICESTORM_RAM": "block RAMs",
    "TRELLIS_COMB": "LUTs",
    "TRELLIS_FF": "flip-flops",
    "TRELLIS_RAMW": "distributed RAMs",
    "DP16KD": "block RAMs",
    "EHXPLLL": "PLLs",
}
"""Kinds of cells in the tables, by nextpnr's names."""


def over(log: str) -> list[str]:
    """Name the kinds of cells of which a design needs more than there are, from nextpnr's log."""
    return [
        f"{used} of {available} {SHOWN.get(kind, kind)}, {int(used) / int(available) - 1:.0%} over"
        for kind, used, available in USED.findall(log)
        if int(used) > int(available)
    ]


def utilisation(told: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the cells that a design uses, and how many there are, by nextpnr's kind."""
    return {kind: use for kind, use in sorted(told["utilization"].items()) if use["used"]}


def clocks_mhz(told: dict[str, Any], *, shared: bool) -> dict[str, dict[str, float]]:
    """Return the rate of each clock that is reached, and the one that was asked for.

    Parameters
    ----------
    told
        nextpnr's report.
    shared
        Both domains have the same clock.
    """
    return {
        clock(net, shared=shared): {
            "achieved": round(rate["achieved"], 2),
            "asked": round(rate["constraint"], 2),
        }
        for net, rate in sorted(told["fmax"].items())
    }


def critical_paths(told: dict[str, Any], *, shared: bool) -> list[dict[str, Any]]:
    """Return the longest path within each clock: its ends, delays [ns], and cells on it.

    Parameters are those of `clocks_mhz`.
    """
    found = []
    for path in told["critical_paths"]:
        edge, _, net = path["from"].partition(" ")
        steps = path["path"]
        if path["from"] != path["to"] or edge != "posedge" or not steps:
            continue
        logic_ns = sum(step["delay"] for step in steps if step["type"] != "routing")
        found.append(
            {
                "clock": clock(net, shared=shared),
                "from": register(steps[0]["from"]["cell"]),
                "to": register(steps[-1]["to"]["cell"]),
                "delay_ns": round(sum(step["delay"] for step in steps), 2),
                "logic_ns": round(logic_ns, 2),
                "cells": sum(step["type"] == "logic" for step in steps),
            }
        )
    return sorted(found, key=lambda path: path["clock"])


def clock(net: str, *, shared: bool) -> str:
    """Return the domain of a clock's net, whichever of the names that it has the tools took."""
    found = CLOCK.search(net)
    domain = found[1] if found else net
    return "npu, pim" if shared and domain in ("npu", "pim") else domain


def register(cell: str) -> str:
    """Return what a cell holds or drives, from the name that the mapper made of it."""
    return MADE.sub("", cell)


def board_table(boards: Sequence[Board]) -> TextTable:
    """Return the boards."""
    shown = [
        (
            f"`{board.name}`",
            board.does,
            f"`{board.configuration}`",
            f"{board.clock_hz / 1e6:g}",
            f"{board.pim_hz / 1e6:g}",
        )
        for board in boards
    ]
    header = ("board", "what it is", "configuration", "NPU clock, MHz", "PIM clock, MHz")
    return TextTable("Boards", header, shown, texts=3)


def use_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return what designs take of their FPGAs."""
    shown = [
        (
            f"`{row['board']}`",
            f"`{row['configuration']}`",
            SHOWN[kind],
            f"{use['used']:,}",
            f"{use['available']:,}",
            f"{use['used'] / use['available']:.0%}",
        )
        for row in rows
        for kind, use in row["utilisation"].items()
        if kind in SHOWN and use["used"]
    ]
    header = ("board", "configuration", "cells", "used", "available", "share")
    return TextTable("FPGA: cells", header, shown, texts=3)


def clock_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return clocks, and bitstreams."""
    shown = []
    for row in rows:
        paths = {path["clock"]: path for path in row["critical_paths"]}
        for clock, mhz in row["clocks_mhz"].items():
            path = paths.get(clock)
            told = "-" if path is None else f"{path['from']} -> {path['to']}"
            delay = "-" if path is None else f"{path['delay_ns']:.1f} ({path['logic_ns']:.1f})"
            shown.append(
                (
                    f"`{row['board']}`",
                    clock,
                    told,
                    delay,
                    f"{mhz['asked']:.1f}",
                    f"{mhz['achieved']:.1f}",
                    "met" if mhz["achieved"] >= mhz["asked"] else "**missed**",
                )
            )
    header = ("board", "clock", "longest path", "ns (in logic)", "MHz asked", "MHz", "")
    return TextTable("FPGA: clocks", header, shown, texts=3)


def bitstream_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return sizes and hashes of bitstreams, and the tools that made them."""
    shown = [
        (
            f"`{row['board']}`",
            f"`{row['bitstream']['sha256'][:16]}`",
            ", ".join(f"{tool} {number}" for tool, number in row["tools"].items()),
            f"{row['bitstream']['bytes']:,}",
        )
        for row in rows
    ]
    return TextTable("FPGA: bitstreams", ("board", "SHA-256", "tools", "bytes"), shown, texts=3)
