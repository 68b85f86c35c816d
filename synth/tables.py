# SPDX-License-Identifier: Apache-2.0
"""Records of synthesis as tables: header and rows of text, for terminal and pages alike."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ahasd.synth.hierarchy import NONE
from ahasd.synth.history import changes
from ahasd.synth.memories import FLOPS, MACROS
from ahasd.synth.nodes import CLAIM_PERCENT, DIES, DIES_PER_RANK, PAPER_MM2
from ahasd.synth.silicon import CONVERSIONS, shares_percent, silicon_mm2, verdict


class TextTable(NamedTuple):
    """A table; the first `texts` columns are words, the others figures."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    texts: int = 1
    note: str = ""


def span(low: float, high: float, digits: int = 3) -> str:
    """Return a range as text, a single figure if both ends look alike."""
    left, right = f"{low:.{digits}f}", f"{high:.{digits}f}"
    return left if left == right else f"{left}-{right}"


def label(row: dict[str, Any]) -> str:
    """Return a row's unit, with what was changed and what memories are if not flip-flops."""
    changes = [f"{key}={value}" for key, value in row["overrides"].items()]
    kind = [] if row["memories"] == FLOPS else [f"({row['memories']})"]
    apart = [f"({kept(row)})"] if row["kept"] else []
    return " ".join([row["unit"], *changes, *kind, *apart])


def kept(row: dict[str, Any]) -> str:
    """Return which parts of a row's unit were mapped with their boundaries kept."""
    return f"{', '.join(row['kept'])} kept apart"


def standard(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return a row for every unit as it is, by unit and memories.

    Where it is recorded with and without kept boundaries, that is the one without.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if not row["overrides"]:
            key = row["unit"], row["memories"]
            if key not in found or row["boundaries"] == NONE:
                found[key] = row
    return found


def area_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return units with their gates, memories and area by conversion."""
    shown = []
    for row in rows:
        whole = row["configuration"] == "paper" and not row["overrides"]
        paper = PAPER_MM2.get(row["unit"]) if whole else None
        shown.append(
            (
                label(row),
                f"{row['ge'] / 1000:.2f}",
                f"{row['flops']:,}",
                f"{sum(memory['bits'] for memory in row['memory']):,}",
                *(
                    span(*(1000 * mm2 for mm2 in row["silicon_mm2"][conversion]), digits=1)
                    for conversion in CONVERSIONS
                ),
                "-" if paper is None else f"{1000 * paper:.0f}",
            )
        )
    header = ("unit", "kGE", "flip-flops", "memory bits", "logic", "DRAM", "x10", "`paper`")
    kinds = sorted({row["memories"] for row in rows})
    note = f"Areas in 1000 um2: {', '.join(CONVERSIONS.values())}. Memories as {', '.join(kinds)}."
    return TextTable("Area", header, shown, note=note)


def summary_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return a line for each unit: its gates with memories as flip-flops and with macros, its area.

    The area is that with macros; where no such row is recorded, that with flip-flops, marked.
    """
    of = standard(rows)
    shown = []
    for unit in dict.fromkeys(unit for unit, _ in of):
        flops, macros = of.get((unit, FLOPS)), of.get((unit, MACROS))
        row = macros or flops
        if row is None:
            continue
        paper = PAPER_MM2.get(unit)
        kind = "" if macros else " (flip-flops)"
        bits = f" + {row['macro_bits']:,} bits" if row["macro_bits"] else ""
        shown.append(
            (
                f"`{unit}`" + (f", {kept(row)}" if row["kept"] else ""),
                "-" if flops is None else f"{flops['ge'] / 1000:.2f}",
                "-" if macros is None else f"{macros['ge'] / 1000:.2f}{bits}",
                *(
                    span(*row["silicon_mm2"][conversion], digits=4) + kind
                    for conversion in CONVERSIONS
                ),
                "-" if paper is None else f"{paper:.2f}",
            )
        )
    header = (
        "unit",
        "kGE, memories as flip-flops",
        "kGE, with latch arrays and macros",
        *(f"mm2 of the latter, {how}" for how in CONVERSIONS.values()),
        "mm2, `paper`",
    )
    return TextTable("Area", header, shown)


def history_table(held: Sequence[dict[str, Any]]) -> TextTable:
    """Return how areas changed, the newest change first."""
    shown = [
        (
            line["date"],
            line["version"],
            label(line),
            f"{before['ge'] / 1000:.2f}",
            f"{line['ge'] / 1000:.2f}",
            f"{line['ge'] / before['ge'] - 1:+.1%}",
            f"{line['macro_bits'] - before['macro_bits']:+,}",
        )
        for before, line in changes(held)
    ]
    header = ("date", "version", "unit", "kGE before", "kGE", "change", "macro bits")
    return TextTable("Changes of area", header, shown, 3)


def memory_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return every memory, with what it became and why not what was asked for."""
    shown = [
        (
            label(row),
            memory["name"],
            memory["as"],
            memory["why"] or "-",
            f"{memory['words']:,} x {memory['width']}",
            f"{memory['bits']:,}",
        )
        for row in rows
        for memory in row["memory"]
    ]
    return TextTable("Memories", ("unit", "memory", "as", "because", "size", "bits"), shown, 4)


def parts_table(row: dict[str, Any]) -> TextTable:
    """Return the parts of a unit; with kept boundaries they add up to a little more than it has."""
    whole = sum(row["parts"].values())
    shown = [
        (part, f"{ge / 1000:.2f}", f"{ge / whole:.1%}")
        for part, ge in sorted(row["parts"].items(), key=lambda item: -item[1])
    ]
    without = "with those of equal parts" if row["kept"] else "without boundaries"
    note = f"Together {whole / 1000:.2f} kGE; {without} {row['ge'] / 1000:.2f} kGE."
    return TextTable(f"Parts of {label(row)}", ("part", "kGE", "share"), shown, note=note)


def whole(rows: Sequence[dict[str, Any]]) -> tuple[float, int, str]:
    """Return gates and macro bits of all that a rank needs, and what that is.

    That is the top and, as far as there is one, the attention unit.
    """
    counted = [row for (unit, _), row in standard(rows).items() if unit in ("ahasd", "aau")]
    names = " + ".join(row["unit"] for row in counted)
    missing = "" if any(row["unit"] == "aau" for row in counted) else ", without the AAU"
    return (
        sum(row["ge"] for row in counted),
        sum(row["macro_bits"] for row in counted),
        f"{names}{missing}",
    )


def boundary_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return what kept boundaries cost, where a unit was mapped both ways."""
    key = itemgetter("unit", "memories", "overrides")
    shown = [
        (
            label(apart),
            f"{apart['ge'] / 1000:.2f}",
            f"{flat['ge'] / 1000:.2f}",
            f"{apart['ge'] / flat['ge'] - 1:+.1%}",
        )
        for apart in rows
        for flat in rows
        if apart["kept"] and flat["boundaries"] == NONE and key(apart) == key(flat)
    ]
    header = ("unit", "kGE", "without boundaries", "more")
    return TextTable("What boundaries cost", header, shown)


def die_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return what all of it is of dies and ranks, by conversion, with the verdict on the claim."""
    ge, macro_bits, what = whole(rows)
    shares = shares_percent(silicon_mm2(ge, macro_bits))
    shown = [
        (
            f"{die.name}, {die.mm2:g} mm2" if "mm2" not in die.name else die.name,
            *(
                f"{span(*share['of_die'], digits=2)} / {span(*share['of_rank'], digits=2)}"
                f" {verdict(share['of_die'])}"
                for share in shares
                if share["die"] == die.name
            ),
            " / ".join(
                f"{PAPER_MM2['total'] / mm2:.2%}"[:-1] for mm2 in (die.mm2, DIES_PER_RANK * die.mm2)
            ),
        )
        for die in DIES
    ]
    header = ("% of a die / of a rank", *CONVERSIONS.values(), "`paper`")
    note = (
        f"{what}: {ge / 1000:.1f} kGE. Claim: below {CLAIM_PERCENT:g} % of the die;"
        f" `paper`: its {PAPER_MM2['total']:g} mm2."
    )
    return TextTable("Of a DRAM die", header, shown, note=note)


def verdict_line(rows: Sequence[dict[str, Any]]) -> str:
    """Return the verdict on the paper's claim in a sentence."""
    ge, macro_bits, what = whole(rows)
    told = []
    for conversion, mm2 in silicon_mm2(ge, macro_bits).items():
        found = {die.name: verdict([100 * x / die.mm2 for x in mm2]) for die in DIES}
        kinds = sorted(set(found.values()))
        told.append(
            f"{CONVERSIONS[conversion]}: {kinds[0]} on every die"
            if len(kinds) == 1
            else f"{CONVERSIONS[conversion]}: "
            + "; ".join(
                f"{kind} on {', '.join(die for die, each in found.items() if each == kind)}"
                for kind in kinds
            )
        )
    macros = f" and {macro_bits:,} bits in macros" if macro_bits else ""
    kinds = ", ".join(sorted({row["memories"] for row in rows}))
    return (
        f"Below {CLAIM_PERCENT:g} % of the DRAM die ({what}, {ge / 1000:.1f} kGE{macros};"
        f" memories as {kinds})? "
        + ". ".join(text[0].upper() + text[1:] for text in told)
        + f". `paper`: {PAPER_MM2['total']:.2f} mm2 with the AAU, 2.68 %."
    )


def block_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return building blocks beside their estimates."""
    shown = []
    for row in rows:
        estimate = row["estimate_ge"]
        counted = row.get("counted_ge")
        shown.append(
            (
                row["block"],
                row["agrees_in"] or "no count",
                f"{row['ge']:,.0f}",
                f"{row['ge'] / estimate - 1:+.0%}",
                f"{row['logic_ge']:,.0f}",
                "-" if counted is None else f"{counted:,.0f}",
                f"{estimate:,}",
            )
        )
    header = ("block", "within 15 % in", "GE", "off", "logic", "counted", "estimate")
    note = (
        "Logic: cells without registers. Counted: as the estimate counts, transistors of generic"
        " gates over four and 5.5 for a flip-flop."
    )
    return TextTable("Building blocks", header, shown, 2, note)
