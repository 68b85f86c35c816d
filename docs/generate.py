# SPDX-License-Identifier: Apache-2.0
"""Write the generated parts of README and docs: everything between `<!-- begin: x -->` markers.

python docs/generate.py          rewrite the pages
python docs/generate.py --check  exit 1 if a page is out of date
"""

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from ahasd.gen.emit import write
from ahasd.rtl.configs import UNITS
from ahasd.system.config import SCHEMES, load_config
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.tables import TABLES
from ahasd.system.reference import key_table
from ahasd.system.report import table
from ahasd.system.results import document
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/configuration.md", "docs/platforms.md", "docs/units/edc.md")


def units() -> str:
    """Return the table of hardware units."""
    rows = []
    for unit in UNITS.values():
        hardware = unit.load_hardware()
        for name, params in unit.configurations.items():
            sizes = ", ".join(f"{key} {value}" for key, value in vars(params).items())
            timing = f"{hardware.latency}, {hardware.interval}"
            rows.append((f"`{unit.name}`", unit.does, f"`{name}`", sizes, timing))
    header = ("unit", "does", "configuration", "parameters", "latency, interval (cycles)")
    return markdown_table(header, rows, text_columns=4)


def schemes() -> str:
    """Return the four schemes on the default workload."""
    config = load_config("default", {"backend.edc": "golden"})
    trace, ranks = prepare(config)
    rows = []
    for scheme, does in SCHEMES.items():
        found = metrics(simulate(config.with_scheme(scheme), trace, ranks))
        rows.append(
            (
                f"`{scheme}`: {does}",
                f"{found['throughput_tokens_s']:.2f}",
                f"{found['mean_acceptance_length_tokens']:.2f}",
                f"{found['drafted_per_token']:.2f}" if "pim" in found else "-",
                f"{found['flushed_per_token']:.2f}" if "pim" in found else "-",
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
        "NPU busy",
        "PIM busy",
    )
    return markdown_table(header, rows)


def run_output() -> str:
    """Return what `ahasd run` prints, in a code block.

    The golden model stands in for the compiled unit: results are equal, and the page can be made
    where there is no compiler.
    """
    config = load_config("default", {"backend.edc": "golden"})
    trace, ranks = prepare(config)
    outcomes = [simulate(config.with_scheme(each), trace, ranks) for each in ("async-edc", "sync")]
    told = document(config, trace, outcomes, [0.0, 0.0])
    told["backend"]["edc"] = load_config("default", {}).backend.edc
    text = io.StringIO()
    Console(file=text, width=80).print(table(told))
    return "```text\n" + "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n```"


def edc_ports() -> str:
    """Return the port table of the EDC in its paper configuration."""
    with TemporaryDirectory() as folder:
        _, manifest = write("edc", "paper", Path(folder))
        ports = json.loads(manifest.read_text())["ports"]
    rows = []
    for port in ports:
        packing = ", ".join(
            f"{field['name']} [{field['offset'] + field['width'] - 1}:{field['offset']}]"
            for field in port.get("fields", ())
        )
        values = ", ".join(f"{value} {name}" for name, value in port.get("values", {}).items())
        rows.append((f"`{port['name']}`", port["direction"], str(port["width"]), packing + values))
    return markdown_table(("port", "direction", "bits", "packing"), rows, text_columns=4)


GENERATED: dict[str, Callable[[], str]] = {
    **TABLES,
    "units": units,
    "schemes": schemes,
    "run": run_output,
    "edc-ports": edc_ports,
    "keys": key_table,
}


def filled(text: str) -> str:
    """Return a page with its generated parts made anew."""

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- begin: {name} -->\n{GENERATED[name]()}\n<!-- end: {name} -->"

    pattern = r"<!-- begin: (?P<name>[\w-]+) -->\n.*?\n?<!-- end: (?P=name) -->"
    return re.sub(pattern, replace, text, flags=re.DOTALL)


def main() -> int:
    """Rewrite the pages, or check them."""
    stale = []
    for page in PAGES:
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if before != after:
            stale.append(page)
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    for page in stale:
        print(f"{page} {'is out of date' if '--check' in sys.argv else 'rewritten'}")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
