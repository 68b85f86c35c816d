# SPDX-License-Identifier: Apache-2.0
"""`ahasd compare`: schemes side by side."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ahasd import UserError
from ahasd.cli.options import assignments, merged, whole


def compare(
    config: str = "default",
    /,
    *,
    ablation: Annotated[bool, Parameter(negative=())] = False,
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
    """Compare what each control unit adds, on one trace with one seed.

    `--ablation` runs drafting ahead without control and with the PIM's non-linear operators on the
    NPU, then with them on AAUs, then with the EDC, then with the TVC (once drafting on where it
    finds no time, as AHASD does, once waiting). Every step runs in the compiled RTL and in the
    golden model, which must give the same run, and must be lossless; and once more as if NPU and
    PIM did not delay each other on the memory.

    Prints a table of the steps and what the TVC did, and writes OUT/NAME/ablation.json.

    For example:

    - `ahasd compare --ablation`
    - `ahasd compare --ablation --rule svip --tokens 256`
    - `ahasd compare test --ablation --set tvc.affine_npu=true`

    Parameters
    ----------
    config
        Packaged run (default, test) or the path of a TOML file; its scheme and baseline are not
        used.
    ablation
        What to compare; there is nothing else yet.
    rule
        Drafting rule: adaedl, svip or fixed; its options are set as draft.OPTION.
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
        Of every random draw.
    backend
        What the figures are of: rtl or golden. The other one checks it.
    no_check
        Do not run the other backend.
    set_
        Any configuration key, as key=value; may be given several times.
    name
        Name of the folder.
    out
        Folder that holds it.
    force
        Replace the ablation of another configuration.
    """
    if not ablation:
        raise UserError("compare needs to know what: give --ablation")

    from rich.console import Console

    from ahasd.cli.progress import steps_progress
    from ahasd.system.compare import STEPS, ablation_table, tvc_table
    from ahasd.system.compare import ablation as run_ablation
    from ahasd.system.config import load_config
    from ahasd.system.results import check_file, check_place, provenance, write_json
    from ahasd.system.simulate import prepare

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
    print(f"see {path}")
