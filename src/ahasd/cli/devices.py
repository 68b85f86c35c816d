# SPDX-License-Identifier: Apache-2.0
"""`ahasd devices`: what a platform's file means."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ahasd import UserError, install_hint
from ahasd.cli.options import assignments, merged, whole

TABLES = ("platform", "dlm", "tlm", "memory", "nonlinear")
"""Tables of a run's configuration that devices depend on."""


def devices(
    platform: str = "mobile-paper",
    /,
    *,
    dlm: str | None = None,
    tlm: str | None = None,
    context: Annotated[int, Parameter(converter=whole)] = 1024,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    name: str | None = None,
    out: Path = Path("runs"),
    force: Annotated[bool, Parameter(negative=())] = False,
    no_plots: Annotated[bool, Parameter(negative=())] = False,
    json_: Annotated[bool, Parameter(name="--json", negative=())] = False,
    validate: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Show what a platform's file means: rates, rooflines, access patterns, GEMV, utilisation.

    Prints

    - the rates of the file beside those that the memory's commands give, and what binds
    - rooflines of the NPU and of a PIM rank, with the tasks of a pair of models below them
    - where the time of those tasks goes, and how NPU and PIM delay each other
    - the time of matrix-vector products in the PIM against their shape
    - the bandwidth of a channel against the access pattern

    and writes OUT/devices-NAME/ with devices.json and, where matplotlib is there, the plots
    roofline.svg, access.svg, gemv.svg and utilisation.svg.

    For example:

    - `ahasd devices`
    - `ahasd devices mobile-jedec --dlm opt-1.3b --tlm opt-6.7b`
    - `ahasd devices --set platform.pim.gops=512 --set memory.arbiter=npu-first --name fast`
    - `ahasd devices --validate`

    Parameters
    ----------
    platform
        Packaged platform (mobile-paper, mobile-jedec, mobile-lpddr5x) or the path of a TOML file.
    dlm
        Draft model: a packaged shape or the path of a TOML file.
    tlm
        Target model, likewise.
    context
        Tokens in the cache.
    set_
        A configuration key of platform, dlm, tlm, memory or nonlinear, as key=value; may be given
        several times.
    name
        Name of the folder, after `devices-`; that of the platform by default.
    out
        Folder that holds it.
    force
        Replace the report of another configuration.
    no_plots
        Do not draw.
    json_
        Print devices.json instead of tables.
    validate
        Instead, compare our devices with other simulators' results, as docs/validation.md does.
    """
    from rich.console import Console

    if validate:
        _validate(as_json=json_)
        return
    import json
    import re

    from ahasd.cli.progress import token_progress
    from ahasd.system.config import load_config
    from ahasd.system.devices.capacity import rank_map
    from ahasd.system.devices.command import CommandDevices
    from ahasd.system.devices.pool import DevicePool
    from ahasd.system.devices.report import plots
    from ahasd.system.devices.report.build import STAGES, build
    from ahasd.system.devices.report.text import tables
    from ahasd.system.results import check_file, check_place, provenance, write_json

    settings = assignments(set_ or ())
    for key in settings:
        if key.split(".")[0] not in TABLES:
            raise UserError(f"--set {key}: devices depend on keys of {', '.join(TABLES)} only")
    if context < 1:
        raise UserError(f"--context {context} must be at least 1")
    given = {"platform": platform, "dlm": dlm, "tlm": tlm}
    options = {key: value for key, value in given.items() if value is not None}
    config = load_config("default", merged(options, settings))
    if name is not None and not re.fullmatch(r"[A-Za-z0-9._+-]+", name):
        raise UserError(f"--name {name!r} is no folder name: use letters, digits and . _ + -")
    label = name or re.sub(r"[^A-Za-z0-9._+-]", "-", config.platform.name)[:150]
    path = out / f"devices-{label}" / "devices.json"
    all_of_it = config.substance()
    substance = {key: all_of_it[key] for key in TABLES} | {"context_tokens": context}
    check_place(path.parent)
    check_file(path, substance, force=force)
    for shape in (config.dlm, config.tlm):
        if context > shape.max_context:
            raise UserError(
                f"--context {context} exceeds the {shape.max_context} tokens that {shape.name} was"
                " made for: give a smaller --context or choose another model"
            )
    ranks = rank_map(config.platform, config.dlm, config.tlm, context, config.platform.offload)
    made = DevicePool().of(config, ranks)
    if not isinstance(made, CommandDevices):
        raise UserError('devices shows memory commands: leave memory.fidelity at "command"')

    with token_progress(STAGES[0], len(STAGES)) as progress:
        report = build(made, ranks, context, contention=config.memory.contention, progress=progress)
    told = {
        "schema": "ahasd-devices/1",
        "config": substance,
        **report.document(),
        "provenance": provenance(),
    }
    write_json(path, told)
    if json_:
        print(json.dumps(told, indent=2))
    else:
        console = Console()
        for each in tables(report):
            console.print(each)
    notes = [f"see {path.parent}/"]
    if not no_plots and plots.available():
        plots.write_plots(report, path.parent)
    elif not no_plots:
        notes.append(f"no plots: they need matplotlib, which is missing: {install_hint('plot')}")
    for note in notes:
        Console(stderr=json_).print(note, markup=False, highlight=False, soft_wrap=True)


def _validate(*, as_json: bool) -> None:
    """Compute every row of the comparison with other simulators, and print them."""
    import json

    from rich.console import Console

    from ahasd.cli.progress import token_progress
    from ahasd.system.validation.record import PARTS, computed, document
    from ahasd.system.validation.record import tables as validation_tables

    with token_progress("", len(PARTS)) as progress:
        rows = computed(progress=progress)
    if as_json:
        print(json.dumps(document(rows), indent=2))
        return
    console = Console()
    for each in validation_tables(rows):
        console.print(each)
