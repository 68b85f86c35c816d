# SPDX-License-Identifier: Apache-2.0
"""Write the generated parts of README and docs.

They are everything between `<!-- begin: x -->` markers, the plots `docs/numerics.svg` and
`docs/area-*.svg`, and a timing diagram `docs/units/x.svg` for every WaveJSON file
`docs/units/x.wave.json`.

python docs/generate.py           rewrite them
python docs/generate.py --record  run the ablation first, and keep its figures in ablation.json
python docs/generate.py --matrix FILE  keep the figures of a matrix.json in docs/matrix.json first
python docs/generate.py --check   exit 1 if one is out of date
"""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import wavedrom
from rich.console import Console
from rich.table import Table

from ahasd.cli.area_plots import plots as area_plots
from ahasd.gen.emit import write
from ahasd.rtl.aau.encodings import Op
from ahasd.rtl.aau.numerics import DEFAULT
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.aau.scalar_programs import program_cycles
from ahasd.rtl.aau.schedule import APPLY
from ahasd.rtl.configs import UNITS
from ahasd.rtl.parts import PARTS
from ahasd.synth import tables as synthesis
from ahasd.synth.fpga import report as fpga_report
from ahasd.synth.fpga.boards import BOARDS
from ahasd.synth.power.tables import command_table, origin_line, power_table
from ahasd.synth.record import read as read_record
from ahasd.synth.timing_tables import path_table, timing_table
from ahasd.system.compare import ablation, ablation_table, tvc_table
from ahasd.system.config import RunConfig, load_config
from ahasd.system.devices.aau_tables import LANES, lanes_us
from ahasd.system.devices.aau_tables import TABLES as AAU_TABLES
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.pool import DevicePool
from ahasd.system.devices.tables import PAIRS, TABLES
from ahasd.system.drafting.tables import TABLES as DRAFTING_TABLES
from ahasd.system.energy.tables import TABLES as ENERGY_TABLES
from ahasd.system.matrix import page as matrix_page
from ahasd.system.numerics.effect import effect_table
from ahasd.system.numerics.operation_tables import TABLES as OPERATIONS_TABLES
from ahasd.system.numerics.primitive_plot import errors_svg
from ahasd.system.numerics.primitive_tables import TABLES as NUMERICS_TABLES
from ahasd.system.reference import key_table
from ahasd.system.report import devices
from ahasd.system.report import table as run_table
from ahasd.system.results import document, provenance
from ahasd.system.schemes.names import SCHEMES, Scheme
from ahasd.system.simulate import Outcome, prepare, simulate
from ahasd.system.stats import metrics
from ahasd.system.validation.record import markdown as validation_markdown
from ahasd.system.workload.trace import Trace

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
POOL = DevicePool()
ABLATION = DOCS / "ablation.json"
VALIDATION = DOCS / "validation.json"
AAU_DECISIONS = DOCS / "aau_decisions.json"
MATRIX = DOCS / "matrix.json"
SYNTHESIS = ROOT / "synth" / "results"
MARKED = re.compile(r"<!-- begin: (?P<name>[\w-]+) -->\n.*?\n?<!-- end: (?P=name) -->", re.DOTALL)


def units() -> str:
    """Return the table of hardware units; sizes are on their pages."""
    rows = []
    for unit in UNITS.values():
        paper = unit.load_golden()(unit.configurations["paper"])
        rows.append(
            (
                f"[`{unit.name}`](docs/units/{unit.name}.md)",
                unit.does,
                ", ".join(unit.domains),
                f"{paper.latency}, {paper.interval}",
            )
        )
    header = ("unit", "does", "clocks", "latency, interval (cycles, `paper`)")
    return markdown_table(header, rows, text_columns=3)


@cache
def prepared() -> tuple[RunConfig, Trace, RankMap]:
    """Return the default workload."""
    config = load_config("default", {})
    trace, ranks = prepare(config)
    return config, trace, ranks


@cache
def outcome(scheme: Scheme) -> Outcome:
    """Return a run of the default workload."""
    config = prepared()[0].with_scheme(scheme)
    if scheme.startswith("gpu"):
        config = config.model_copy(update={"gpu": config.gpu.model_copy(update={"offload": True})})
    return simulate(config, *prepare(config), pool=POOL)


def schemes() -> str:
    """Return every scheme on the default workload."""
    rows = []
    for scheme, does in SCHEMES.items():
        found = metrics(outcome(scheme))
        rows.append(
            (
                f"`{scheme}`: {does}",
                f"{found['throughput_tokens_s']:.2f}",
                f"{found['mean_acceptance_length_tokens']:.2f}",
                f"{found['drafted_per_token']:.2f}" if "pim" in found else "-",
                f"{found['flushed_per_token']:.2f}" if "pim" in found else "-",
                devices(scheme),
                f"{found['npu']['busy']:.1%}",
                f"{found['pim']['busy']:.1%}" if "pim" in found else "-",
            )
        )
    header = (
        "scheme",
        "tokens/s",
        "tokens/pass",
        "drafted/token",
        "flushed/token",
        "verifier / drafter",
        "verifier busy",
        "drafter busy",
    )
    return markdown_table(header, rows)


def printed(*tables: Table) -> str:
    """Return tables as a terminal shows them, in a code block."""
    text = io.StringIO()
    console = Console(file=text, width=80)
    for each in tables:
        console.print(each)
    return "```text\n" + "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n```"


def run_output() -> str:
    """Return what `ahasd run` prints."""
    config, trace, _ = prepared()
    outcomes = [outcome(config.scheme), outcome("sync")]
    return printed(run_table(document(config, trace, outcomes, [0.0, 0.0])))


def ablation_output() -> str:
    """Return what `ahasd compare --ablation` printed when it was recorded."""
    steps = json.loads(ABLATION.read_text(encoding="utf-8"))["steps"]
    return printed(ablation_table(steps), tvc_table(steps))


def record_ablation() -> None:
    """Run the ablation and keep its figures: fifteen runs are too many for every generation."""
    config, trace, ranks = prepared()
    steps = ablation(config, trace, ranks)
    told = {"config": config.substance(), "steps": steps, "provenance": provenance()}
    ABLATION.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def matrix() -> str:
    """Return what `ahasd compare` printed when it was recorded."""
    tables, lines = matrix_page.of_page(json.loads(MATRIX.read_text(encoding="utf-8")))
    return printed(*tables) + "\n\n" + "\n".join(f"- {line}" for line in lines)


def record_matrix(path: Path) -> None:
    """Keep of a matrix.json what the page shows."""
    kept = matrix_page.compact(json.loads(path.read_text(encoding="utf-8")))
    MATRIX.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def validation() -> str:
    """Return the tables of what `ahasd devices --validate --json` printed when it was recorded."""
    return validation_markdown(json.loads(VALIDATION.read_text(encoding="utf-8")))


def aau_decisions() -> str:
    """Return what `benchmarks/aau_decisions.py` found."""
    return effect_table(json.loads(AAU_DECISIONS.read_text(encoding="utf-8")))


def recorded(kind: str, label: str, **which: Any) -> list[dict[str, Any]]:
    """Return the rows of a record of synthesis that have these values."""
    rows = read_record(SYNTHESIS / f"{kind}-{label}.json", kind)
    return [row for row in rows if all(row[key] == value for key, value in which.items())]


def aau_lanes() -> str:
    """Return time and area of the AAU by its lanes."""
    rows = []
    for lanes in LANES:
        changes = {} if lanes == AauParams().lanes else {"lanes": str(lanes)}
        found = recorded("area", "paper-ge", unit="aau", memories="flops", overrides=changes)
        # Lanes are kept apart, if there are several: only so are all sizes alike.
        area_kge = f"{found[-1]['ge'] / 1000:.0f}" if found else "not recorded"
        times = (f"{each:.0f}" for each in lanes_us(lanes))
        rows.append((str(lanes), area_kge, *times))
    header = ("lanes", "kGE", *(f"{draft}, us" for draft, _ in PAIRS))
    return markdown_table(header, rows, text_columns=0)


def text_table(table: synthesis.TextTable) -> str:
    """Return a table of synthesis in Markdown, with its note below."""
    shown = markdown_table(table.header, table.rows, text_columns=table.texts)
    return f"{shown}\n\n{table.note}" if table.note else shown


def area() -> str:
    """Return the area of the units, and what becomes of the paper's claim."""
    rows = [row for row in recorded("area", "paper-ge") if row["unit"] in UNITS]
    table = text_table(synthesis.summary_table(rows))
    verdicts = [
        synthesis.verdict_line([row for row in rows if row["memories"] == kind])
        for kind in ("macros", "flops")
    ]
    return "\n\n".join((table, *verdicts))


def area_by_library() -> str:
    """Return gates of the units that were synthesised with every library."""
    found = {
        path.stem.removeprefix("area-paper-"): {
            row["unit"]: row["ge"]
            for row in read_record(path, "area")
            if row["memories"] == "flops" and not row["overrides"]
        }
        for path in sorted(SYNTHESIS.glob("area-paper-*.json"))
    }
    ge = found.pop("ge")
    units = [unit for unit in ge if all(unit in rows for rows in found.values())]
    rows = [
        (
            f"`{unit}`",
            f"{ge[unit] / 1000:.2f}",
            *(f"{of[unit] / 1000:.2f} ({of[unit] / ge[unit] - 1:+.0%})" for of in found.values()),
        )
        for unit in units
    ]
    return markdown_table(("kGE", "ge", *found), rows)


def area_of_dies() -> str:
    """Return the share of dies and ranks, with memories as flip-flops and with macros."""
    return "\n\n".join(
        f"Memories as {kind}:\n\n"
        + text_table(synthesis.die_table(recorded("area", "paper-ge", memories=kind)))
        for kind in ("flops", "macros")
        if recorded("area", "paper-ge", memories=kind, unit="ahasd")
    )


def area_of_parts() -> str:
    """Return the parts of the top and of the AAU."""
    rows = synthesis.standard(recorded("area", "paper-ge"))
    tables = (synthesis.parts_table(rows[unit, "macros"]) for unit in ("ahasd", "aau"))
    return "\n\n".join(f"{table.title}:\n\n{text_table(table)}" for table in tables)


def area_of_standing_alone() -> str:
    """Return the parts of the AAU that can be had by name."""
    rows = [row for row in recorded("area", "paper-ge") if row["unit"] in PARTS]
    return text_table(synthesis.area_table(rows))


def area_of_memories() -> str:
    """Return what became of every memory."""
    rows = recorded("area", "paper-ge", memories="macros")
    once = [row for row in rows if row["unit"] != "ahasd" and not row["overrides"]]
    return text_table(synthesis.memory_table(once))


def paths() -> str:
    """Return the longest paths of the units, by library."""
    told = []
    for path in sorted(SYNTHESIS.glob("timing-paper-*.json")):
        rows = read_record(path, "timing")
        told.append(f"With `{rows[0]['library']['name']}`, {rows[0]['library']['node_nm']} nm:")
        told += [text_table(timing_table(rows)._replace(note=""))]
        told += [text_table(path_table(rows))]
    return "\n\n".join(told)


def power() -> str:
    """Return the power of the units in a run, by library."""
    told = []
    for path in sorted(SYNTHESIS.glob("power-*.json")):
        rows = read_record(path, "power")
        told.append(f"With `{rows[0]['library']['name']}`, {rows[0]['library']['node_nm']} nm:")
        commands = command_table(rows)
        told += [text_table(table) for table in (power_table(rows), commands) if table.rows]
        told += [origin_line(rows)]
    return "\n\n".join(told)


def fpga(table: Callable[[list[dict[str, Any]]], synthesis.TextTable]) -> str:
    """Return a table of the builds for FPGAs."""
    return text_table(table([row for board in BOARDS for row in recorded(fpga_report.KIND, board)]))


def packing(port: dict[str, Any], name: str = "", offset: int = 0) -> str:
    """Tell what the bits of a port, or of a field of it, mean; the lowest first."""
    if "fields" in port:
        return ", ".join(
            packing(field, f"{name}.{field['name']}".lstrip("."), offset + field["offset"])
            for field in port["fields"]
        )
    high = offset + port["width"] - 1
    bits = f"{name} [{offset if high == offset else f'{high}:{offset}'}]" if name else ""
    values = ", ".join(f"{value} {member}" for member, value in port.get("values", {}).items())
    return f"{bits} ({values})" if bits and values else bits or values


def ports(unit: str) -> str:
    """Return the port table of a unit in its paper configuration."""
    with TemporaryDirectory() as folder:
        _, manifest = write(unit, "paper", Path(folder))
        listed = json.loads(manifest.read_text())["ports"]
    rows = [
        (f"`{port['name']}`", port["direction"], str(port["width"]), packing(port))
        for port in listed
    ]
    return markdown_table(("port", "direction", "bits", "packing"), rows, text_columns=4)


def aau_cycles() -> str:
    """Return the cycles of the AAU's passes and programs with default numerics."""
    rows, passes = [], AauParams().passes
    for op in Op:
        first, second = (
            f"{do.interval}, {do.latency}" if do else "" for do in (passes.get(op), APPLY.get(op))
        )
        rows.append((f"`{op.name}`", first, str(program_cycles(op, DEFAULT) or ""), second))
    header = ("`op`", "first pass", "program", "second or only pass")
    return markdown_table(header, rows)


GENERATED: dict[str, Callable[[], str]] = {
    **TABLES,
    **ENERGY_TABLES,
    **DRAFTING_TABLES,
    **NUMERICS_TABLES,
    **OPERATIONS_TABLES,
    **AAU_TABLES,
    "aau-decisions": aau_decisions,
    "aau-lanes": aau_lanes,
    "units": units,
    "schemes": schemes,
    "run": run_output,
    "ablation": ablation_output,
    "matrix": matrix,
    "keys": key_table,
    "validation": validation,
    "area": area,
    "area-libraries": area_by_library,
    "area-dies": area_of_dies,
    "area-parts": area_of_parts,
    "area-memories": area_of_memories,
    "area-alone": area_of_standing_alone,
    "area-history": lambda: text_table(
        synthesis.history_table(read_record(SYNTHESIS / "history-paper-ge.json", "history"))
    ),
    "area-boundaries": lambda: text_table(synthesis.boundary_table(recorded("area", "paper-ge"))),
    "area-blocks": lambda: text_table(synthesis.block_table(recorded("blocks", "default-ge"))),
    "timing": paths,
    "fpga-boards": lambda: text_table(fpga_report.board_table(list(BOARDS.values()))),
    "fpga-cells": partial(fpga, fpga_report.use_table),
    "fpga-clocks": partial(fpga, fpga_report.clock_table),
    "fpga-bitstreams": partial(fpga, fpga_report.bitstream_table),
    "power": power,
    "aau-cycles": aau_cycles,
    **{f"{page.stem}-ports": partial(ports, page.stem) for page in (DOCS / "units").glob("*.md")},
}


def pages() -> Iterator[Path]:
    """Yield every page that has a generated part."""
    for path in (ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))):
        if set(MARKED.findall(path.read_text(encoding="utf-8"))) & set(GENERATED):
            yield path


def filled(text: str) -> str:
    """Return a page with its generated parts made anew; other parts stay."""

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in GENERATED:
            return match[0]
        return f"<!-- begin: {name} -->\n{GENERATED[name]()}\n<!-- end: {name} -->"

    return MARKED.sub(replace, text)


def drawn(wave: str) -> str:
    """Return the SVG of a timing diagram in WaveJSON, on white."""
    drawing = wavedrom.render(wave)
    assert drawing is not None
    drawing.elements.insert(1, drawing.rect(size=("100%", "100%"), fill="white"))
    text = io.StringIO()
    drawing.write(text, pretty=True, indent=0)
    return text.getvalue()


def outputs() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with what it should hold."""
    for page in pages():
        yield page, filled(page.read_text(encoding="utf-8"))
    yield DOCS / "numerics.svg", errors_svg()
    for name, text in area_plots(recorded("area", "paper-ge")).items():
        yield DOCS / f"{name}.svg", text
    for wave in sorted(DOCS.glob("units/*.wave.json")):
        yield wave.with_suffix("").with_suffix(".svg"), drawn(wave.read_text(encoding="utf-8"))


def main() -> int:
    """Rewrite the files, or check them."""
    check = "--check" in sys.argv
    if "--record" in sys.argv:
        record_ablation()
    if "--matrix" in sys.argv:
        record_matrix(Path(sys.argv[sys.argv.index("--matrix") + 1]))
    stale = False
    for path, text in outputs():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale = True
        print(f"{path.relative_to(ROOT)} {'is out of date' if check else 'rewritten'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    return int(stale and check)


if __name__ == "__main__":
    sys.exit(main())
