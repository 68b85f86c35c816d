# SPDX-License-Identifier: Apache-2.0
"""Layout, wheel contents, documents: what the tree promises about itself."""

import json
import re
import subprocess
import sys
import zipfile
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from ahasd.system.matrix.cells import Cell
from ahasd.system.matrix.page import KEPT
from ahasd.system.matrix.run import run_matrix
from ahasd.system.stats import flat

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("rtl", "gen", "sim", "tb", "system", "synth")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True
    )
    return [Path(line) for line in listed.stdout.splitlines()]


@cache
def generator():
    spec = spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_source_folder_is_linked_into_the_package(folder):
    link = ROOT / "src" / "ahasd" / folder
    assert link.is_symlink()
    assert link.readlink() == Path("../..") / folder


def test_the_wheel_holds_every_file_of_the_tree_and_no_other(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = set()
    for path in tracked():
        is_record = path.match("synth/results/power-*.json")
        if is_record or path.suffix in (".py", ".rdl", ".toml", ".npz", ".typed"):
            if path.parts[0] in FOLDERS:
                expected.add(f"ahasd/{path}")
            elif path.parts[:2] == ("src", "ahasd") and path.parts[2] not in FOLDERS:
                expected.add(str(Path(*path.parts[1:])))
    assert packed == expected


@pytest.mark.full
def test_every_generated_file_is_up_to_date():
    for path, text in generator().outputs():
        name = path.relative_to(ROOT)
        assert path.read_text(encoding="utf-8") == text, f"{name}: run `python docs/generate.py`"


@pytest.mark.full
def test_the_recorded_ablation_is_of_these_sources():
    made = generator()
    recorded = json.loads(made.ABLATION.read_text("utf-8"))
    config = made.prepared()[0]
    # Keys that came later have their defaults, which changed nothing: the figures say so.
    assert flat(recorded["config"]).items() <= flat(config.substance()).items()
    (step,) = (each for each in recorded["steps"] if each["step"] == "+ TVC")
    found = json.loads(json.dumps(made.metrics(made.outcome(config.scheme))))
    assert step["metrics"] == found, "run `python docs/generate.py --record`"
    assert all(each["checked"] for each in recorded["steps"])


@pytest.mark.parametrize("name", ["gpu-sd", pytest.param("+ TVC", marks=pytest.mark.full)])
def test_the_recorded_matrix_is_of_these_sources(name, tmp_path):
    recorded = json.loads(generator().MATRIX.read_text("utf-8"))
    (kept,) = (
        each
        for each in recorded["cells"]
        if (each["cell"]["configuration"], each["cell"]["rule"]) == (name, "adaedl")
        and each["cell"]["pair"] == "llama2-7b:llama2-13b"
    )
    (found,) = run_matrix(
        [Cell(**kept["cell"])], recorded["base"], recorded["settings"], tmp_path, jobs=1
    )
    known = flat(found["metrics"])
    again = {key: known[key] for key in KEPT if key in known}
    assert kept["metrics"] == again, "run `ahasd compare`, then `python docs/generate.py --matrix`"
    assert len(recorded["cells"]) == 60
    assert all(each["lossless"] == "tokens" for each in recorded["cells"])


def test_every_generated_part_is_shown_once():
    made = generator()
    shown = [name for page in made.pages() for name in made.MARKED.findall(page.read_text("utf-8"))]
    assert sorted(shown) == sorted(made.GENERATED)


def test_every_page_of_a_unit_shows_its_timing_diagrams():
    for wave in (ROOT / "docs" / "units").glob("*.wave.json"):
        name = wave.name.removesuffix(".wave.json")
        assert f"]({name}.svg)" in (wave.parent / f"{name}.md").read_text("utf-8")


def test_packing_names_every_field_down_to_the_last():
    packing = generator().packing
    entry = {"name": "epoch", "offset": 3, "width": 4}
    event = {"name": "event", "offset": 0, "width": 1, "values": {"START": 0, "VERDICT": 1}}
    batch = {"name": "batch", "offset": 1, "width": 2}
    report = {"name": "report", "offset": 0, "width": 3, "fields": [event, batch]}
    assert packing({"width": 7, "fields": [report, entry]}) == (
        "report.event [0] (0 START, 1 VERDICT), report.batch [2:1], epoch [6:3]"
    )
    assert packing({"width": 2, "values": {"A": 0, "B": 2}}) == "0 A, 2 B"
    assert packing({"width": 9}) == ""


def test_the_readme_has_the_two_commands_and_ci_runs_them():
    readme = (ROOT / "README.md").read_text()
    for command in (
        "python3 -m venv .venv && .venv/bin/pip install --quiet -e . && .venv/bin/ahasd run",
        "python3 -m venv .venv && .venv/bin/pip install --quiet -e '.[dev]' && .venv/bin/pytest",
    ):
        assert readme.count(f"\n{command}\n") == 1
        assert command not in (ROOT / ".ci" / "run").read_text(), "CI takes it from the README"


def test_every_example_in_the_readme_is_a_command_that_exists():
    from ahasd.cli.app import app

    readme = (ROOT / "README.md").read_text()
    examples = re.findall(r"^\.venv/bin/ahasd ([^#\n]+)", readme, flags=re.MULTILINE)
    assert len(examples) >= 4
    for example in examples:
        app.parse_args(example.split(), exit_on_error=False, print_error=False)


@pytest.mark.parametrize("page", [path for path in tracked() if path.suffix == ".md"], ids=str)
def test_every_link_in_a_page_leads_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert (ROOT / page.parent / target).exists(), f"{page}: {target}"


def test_every_source_file_names_its_licence():
    bare = [
        path
        for path in tracked()
        if path.suffix in (".py", ".toml")
        and path.name != "pyproject.toml"
        and "SPDX-License-Identifier: Apache-2.0" not in (ROOT / path).read_text()[:200]
    ]
    assert bare == []


def test_no_source_silences_a_check():
    marks = ("# " + "noqa", "# type" + ": ignore", "# pyright" + ": ignore", "TO" + "DO")
    found = [
        (path, mark)
        for path in tracked()
        if path.suffix == ".py"
        for mark in marks
        if mark in (ROOT / path).read_text()
    ]
    assert found == []


def test_the_changelog_has_a_place_for_what_is_not_released():
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text()
