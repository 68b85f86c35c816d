# SPDX-License-Identifier: Apache-2.0
"""`ahasd compare`: schemes side by side."""

import time
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ahasd import UserError
from ahasd.cli.options import assignments, merged, whole


def compare(
    config: str = "default",
    /,
    *,
    ablation: Annotated[bool, Parameter(negative=())] = False,
    pairs: str | None = None,
    rules: str | None = None,
    configurations: str | None = None,
    best_k: str | None = None,
    seeds: Annotated[int | None, Parameter(converter=whole)] = None,
    jobs: Annotated[int | None, Parameter(converter=whole)] = None,
    rule: str | None = None,
    tokens: Annotated[int | None, Parameter(converter=whole)] = None,
    trace: str | None = None,
    dlm: str | None = None,
    tlm: str | None = None,
    platform: str | None = None,
    backend: Literal["golden", "rtl"] | None = None,
    seed: Annotated[int | None, Parameter(converter=whole)] = None,
    no_check: Annotated[bool, Parameter(negative=())] = False,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    name: str | None = None,
    out: Path = Path("runs"),
    force: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Compare pairs of models, drafting rules and configurations, or what each control unit adds.

    Without `--ablation`, every pair runs with every rule in every configuration, on one trace and
    with common random numbers, as many at once as there are cores. Each finished run is kept in
    OUT/NAME/cells: the same command goes on where an interrupted one was. Without options it is the
    paper's ablation, 60 runs of 1024 tokens: 3 pairs, 4 rules, 5 configurations. Prints tokens a
    second, what each configuration gives over the first beside the paper's figures, which resource
    binds, and the best fixed draft length beside k = 8. Writes OUT/NAME/matrix.json and matrix.csv.

    Configurations: gpu-ar, gpu-sd, npu-ar, npu-sd, pim-ar, pim-sd, specpim, sync, amusd, async,
    "+ AAU", "+ EDC", "+ TVC"; sets of them: ablation, baselines (with "+ TVC"), all. Those of a GPU
    read what does not fit over PCIe; specpim is like SpecPIM, amusd like AMUSD, and neither is the
    same (docs/architecture.md).

    `--ablation` runs drafting ahead without control and with the PIM's non-linear operators on the
    NPU, then with them on AAUs, then with the EDC, then with the TVC (once drafting on where it
    finds no time, as AHASD does, once waiting). Every step runs in the compiled RTL and in the
    golden model, which must give the same run, and must be lossless; and once more as if NPU and
    PIM did not delay each other on the memory.

    Prints a table of the steps, what the TVC did and what binds, and writes
    OUT/NAME/ablation.json.

    For example:

    - `ahasd compare --tokens 256`
    - `ahasd compare --configurations baselines --best-k sync,pim-sd,specpim`
    - `ahasd compare --pairs llama2-7b:llama2-13b --rules svip,fixed --configurations sync,async`
    - `ahasd compare --ablation`
    - `ahasd compare --ablation --rule svip --tokens 256`
    - `ahasd compare test --ablation --set tvc.affine_npu=true`

    Parameters
    ----------
    config
        Packaged run (default, test) or the path of a TOML file; its scheme and baseline are not
        used.
    ablation
        One pair and rule, what each unit adds.
    pairs
        DRAFT:TARGET, several with commas; without it OPT, LLaMA2 and a PaLM-like pair.
    rules
        Drafting rules with commas; without it the paper's four.
    configurations
        Labels and names of sets with commas; without it the five of the paper's ablation.
    best_k
        Configurations whose best fixed draft length is searched, with commas, or none; without it
        sync.
    seeds
        Runs of each cell, with seeds SEED, SEED + 1, ...; over several, means with 95 % intervals.
    jobs
        Processes at once; without it one a core.
    rule
        Drafting rule of the ablation; its options are set as draft.OPTION.
    tokens
        Output tokens.
    trace
        Packaged trace or the path of an .npz file, see docs/trace.md.
    dlm
        Draft model: a packaged shape or the path of a TOML file.
    tlm
        Target model, likewise.
    platform
        Packaged platform or the path of a TOML file.
    seed
        Of every random draw; the first one of a matrix, 0 without it.
    backend
        What the figures are of: rtl or golden. In an ablation the other one checks it.
    no_check
        Do not run the other backend in an ablation.
    set_
        Any configuration key, as key=value; may be given several times.
    name
        Name of the folder.
    out
        Folder that holds it.
    force
        Replace the ablation or matrix of another configuration. Finished runs are kept all the
        same, each for its own.
    """
    given = {
        "draft.rule": rule,
        "workload.tokens": tokens,
        "workload.trace": trace,
        "dlm": dlm,
        "tlm": tlm,
        "platform": platform,
        "backend.ahasd": backend,
        "seed": seed,
        "name": name,
    }
    options = {key: value for key, value in given.items() if value is not None}
    settings = merged(options, assignments(set_ or ()))
    _refuse_without_effect(
        ablation,
        of_matrix={
            "pairs": pairs,
            "rules": rules,
            "configurations": configurations,
            "best-k": best_k,
            "seeds": seeds,
            "jobs": jobs,
        },
        of_ablation={"no-check": no_check or None},
        settings=settings,
    )
    if not ablation:
        for key, remedy in (("dlm", "pairs"), ("tlm", "pairs"), ("draft.rule", "rules")):
            if key in settings:
                raise UserError(f"{key} is one of many in a matrix: give --{remedy}")
        for key in ("seed", "name"):
            settings.pop(key, None)
        _matrix(
            config,
            settings,
            out / (name or "matrix"),
            pairs=_listed(pairs),
            rules=_listed(rules),
            configurations=_listed(configurations),
            best_k=[] if best_k == "none" else _listed(best_k) or ["sync"],
            seeds=_seeds(seed or 0, 1 if seeds is None else seeds),
            jobs=jobs,
            force=force,
        )
        return

    from rich.console import Console

    from ahasd.cli.progress import steps_progress
    from ahasd.system.compare import STEPS, ablation_table, explanations, tvc_table
    from ahasd.system.compare import ablation as run_ablation
    from ahasd.system.config import load_config
    from ahasd.system.results import check_file, check_place, provenance, write_json
    from ahasd.system.simulate import prepare

    resolved = load_config(config, {**settings, "scheme": "ahasd", "baseline": "none"})
    path = out / (name or f"ablation-{resolved.folder_name}") / "ablation.json"
    check_place(path.parent)
    check_file(path, resolved.substance(), force=force)
    loaded, ranks = prepare(resolved)
    runs = len(STEPS) * ((1 if no_check else 2) + resolved.memory.contends)
    with steps_progress(runs, resolved.workload.tokens) as progress:
        steps = run_ablation(resolved, loaded, ranks, check=not no_check, progress=progress)
    told = {
        "schema": "ahasd-ablation/1",
        "config": resolved.substance(),
        "steps": steps,
        "provenance": provenance(),
    }
    write_json(path, told)
    console = Console()
    console.print(ablation_table(steps))
    console.print(tvc_table(steps))
    print("\n".join(explanations(steps)))
    print(f"see {path}")


def _refuse_without_effect(
    ablation: bool,
    *,
    of_matrix: dict[str, Any],
    of_ablation: dict[str, Any],
    settings: dict[str, Any],
) -> None:
    """Refuse what would be passed over."""
    for name, value in (of_matrix if ablation else of_ablation).items():
        if value is not None:
            kind, other = ("ablation", "a matrix") if ablation else ("matrix", "an --ablation")
            raise UserError(
                f"--{name} is of {other} and has no effect on this {kind}: leave it out"
            )
    for key in ("scheme", "baseline"):
        if key in settings:
            raise UserError(
                f"{key} = {settings[key]!r} has no effect, as every configuration has its own:"
                " leave it out"
            )


def _seeds(first: int, count: int) -> list[int]:
    if count < 1:
        raise UserError(f"--seeds {count} must be at least 1")
    return [first + i for i in range(count)]


def _listed(text: str | None) -> list[str] | None:
    """Return what commas part, each once."""
    return None if text is None else list(dict.fromkeys(each.strip() for each in text.split(",")))


def _matrix(
    config: str,
    settings: dict[str, Any],
    folder: Path,
    *,
    pairs: list[str] | None,
    rules: list[str] | None,
    configurations: list[str] | None,
    best_k: list[str],
    seeds: list[int],
    jobs: int | None,
    force: bool,
) -> None:
    """Run a matrix, print it, and keep it."""
    from rich.console import Console

    from ahasd.cli.progress import token_progress
    from ahasd.system.matrix import cells, lengths, page, record, tables
    from ahasd.system.matrix.run import run_matrix
    from ahasd.system.results import check_file, check_place

    if jobs is not None and jobs < 1:
        raise UserError(f"--jobs {jobs} must be at least 1")
    labels = cells.labels(configurations or cells.ABLATION)
    searched = cells.labels(best_k)
    for label in searched:
        if not cells.has_lengths(label):
            raise UserError(f"--best-k: {label} has no draft length; choose another, or none")
    chosen = pairs or list(cells.PAIRS)
    wanted = cells.cells(chosen, rules or cells.RULES, labels, seeds)
    check_place(folder)
    asked = {
        "run": config,
        "settings": settings,
        "pairs": chosen,
        "rules": list(rules or cells.RULES),
        "configurations": labels,
        "best_k": searched,
        "seeds": seeds,
    }
    check_file(folder / "matrix.json", asked, force=force)
    for cell in wanted:
        cells.resolved(cell, config, settings)  # refuses what is wrong before anything is shown
    began = time.perf_counter()
    seen = count()
    fixed = []
    try:
        with token_progress("cells", len(wanted)) as progress:
            found = run_matrix(
                wanted,
                config,
                settings,
                folder,
                jobs=jobs,
                progress=lambda each: progress(next(seen) + 1),
            )
        matrix_s = time.perf_counter() - began
        if searched:
            with token_progress("fixed lengths", len(chosen) * len(searched)) as progress:
                fixed = lengths.search_all(
                    chosen, searched, seeds, config, settings, folder, jobs=jobs, progress=progress
                )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"what was done is in {folder}/cells; the same command goes on"
        ) from None
    tried = [cell for each in fixed for cell in each.cells]
    done = [*found, *tried]
    record.write(folder, asked, config, settings, done, fixed, time.perf_counter() - began)
    shown, lines = page.shown(found, labels, fixed)
    Console().print(*shown, sep="\n")
    print("\n".join(lines))
    failed = [each for each in done if "error" in each]
    for each in failed:
        cell = each["cell"]
        rule = f"k = {cell['k']}" if cell["k"] else cell["rule"]
        print(f"{cell['pair']}, {rule}, {cell['configuration']}: {each['error']}")
    print(tables.effort("matrix", found, matrix_s))
    if searched:
        more_s = time.perf_counter() - began - matrix_s
        print(tables.effort("fixed lengths", tried, more_s))
    if len(seeds) > 1 and not tables.seeds_matter(found):
        print("no result depends on the seed: nothing in these runs is drawn at random")
    if len(failed) < len(done):
        print("every run with a result is lossless")
    print(f"see {folder}/matrix.json and matrix.csv")
    if failed:
        raise UserError(f"{len(failed)} of {len(done)} cells have no result")
