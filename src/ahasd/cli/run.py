# SPDX-License-Identifier: Apache-2.0
"""`ahasd run`: the main job."""

import time
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ahasd.cli.options import assignments, merged, whole
from ahasd.system.schemes.names import Baseline, Scheme


def run(
    config: str = "default",
    /,
    *,
    scheme: Scheme | None = None,
    baseline: Baseline | None = None,
    rule: str | None = None,
    tokens: Annotated[int | None, Parameter(converter=whole)] = None,
    trace: str | None = None,
    dlm: str | None = None,
    tlm: str | None = None,
    platform: str | None = None,
    backend: Literal["golden", "pysim", "rtl"] | None = None,
    seed: Annotated[int | None, Parameter(converter=whole)] = None,
    lockstep: Annotated[bool, Parameter(negative=())] = False,
    no_skip: Annotated[bool, Parameter(negative=())] = False,
    activity: Annotated[bool, Parameter(negative=())] = False,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    name: str | None = None,
    out: Path = Path("runs"),
    force: Annotated[bool, Parameter(negative=())] = False,
    keys: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Simulate speculative decoding on an NPU with processing-in-memory, hardware units included.

    The PIM drafts with a small model, the NPU verifies with the large one. Which tokens are
    drafted and accepted comes from a trace of a real model pair; how long steps take, from the
    platform and the shapes of the named models. The control hardware (queues, EDC, TVC, GTSU and
    their host interface) runs as compiled RTL.

    Schemes:

    - gpu-ar, npu-ar, pim-ar: a GPU, the NPU or the PIM decodes alone, one token a pass
    - gpu-sd, npu-sd, pim-sd: the same device drafts a batch and verifies it, by turns
    - specpim: NPU and PIM draft and verify by turns, each operator where a search puts it
    - sync: the PIM drafts a batch and waits for its verdict
    - amusd: the PIM drafts ahead token by token, and the NPU takes all that is there
    - async: the PIM drafts ahead without control
    - async-edc: the PIM drafts ahead as far as the EDC lets it
    - ahasd: the same, and the PIM pre-verifies where the TVC finds time for it

    Prints a table beside a baseline and writes OUT/NAME/ with config.toml (everything resolved; can
    be run again), results.json, stats.csv and requests.jsonl, a record of every request.

    For example:

    - `ahasd run`
    - `ahasd run --rule svip --tokens 256`
    - `ahasd run test --lockstep`
    - `ahasd run --set platform.pim.bandwidth_scope=per_rank --set edc.explore=4 --name mine`
    - `ahasd run my.toml --trace my.npz`

    Parameters
    ----------
    config
        Packaged run (default, test) or the path of a TOML file.
    scheme
        Who drafts and who waits.
    baseline
        Scheme to run beside it.
    rule
        Drafting rule, as docs/drafting.md lists them; its options are set as draft.OPTION.
    tokens
        Output tokens.
    trace
        Packaged trace (smollm2-rtn4) or the path of an .npz file, see docs/trace.md.
    dlm
        Draft model: a packaged shape or the path of a TOML file.
    tlm
        Target model, likewise.
    platform
        Packaged platform or the path of a TOML file.
    backend
        What runs the hardware: golden (Python model), rtl (compiled netlist) or pysim (Amaranth
        simulator, very slow). The results are the same.
    seed
        Of every random draw.
    lockstep
        Compare the unit with its golden model on every clock edge; a difference stops the run and
        leaves a waveform.
    no_skip
        Clock every cycle instead of skipping those in which a unit rests. Slow: use it on `test`.
    activity
        Keep the pins of the hardware units at every clock edge that is not skipped, in the folder's
        activity/UNIT.npz, for `ahasd power`. Without --backend every control unit runs as RTL in a
        golden top, so that each has its file, and the commands of the AAU run once each as RTL.
    set_
        Any configuration key, as key=value; may be given several times.
    name
        Name of the run's folder.
    out
        Folder that holds it.
    force
        Replace the results of another configuration.
    keys
        List every configuration key with its values, default and meaning, and stop.
    """
    if keys:
        from ahasd.system.reference import key_table

        print(key_table())
        return
    from rich.console import Console

    from ahasd.cli.progress import rows_progress, token_progress
    from ahasd.sim.activity import Recorder
    from ahasd.system import aau_work
    from ahasd.system.config import PARTS, load_config
    from ahasd.system.devices.mapping import mapping_lines
    from ahasd.system.devices.pool import DevicePool
    from ahasd.system.metrics.records import records
    from ahasd.system.report import memory_line, table, uncounted_lines
    from ahasd.system.results import check_folder, document, origin_of, write_folder
    from ahasd.system.simulate import asserted, prepare, simulate

    given = {
        "scheme": scheme,
        "baseline": baseline,
        "draft.rule": rule,
        "workload.tokens": tokens,
        "workload.trace": trace,
        "dlm": dlm,
        "tlm": tlm,
        "platform": platform,
        "backend.ahasd": backend,
        "backend.lockstep": lockstep or None,
        "backend.skip": False if no_skip else None,
        "seed": seed,
        "name": name,
    }
    if activity and backend is None:
        given |= {"backend.ahasd": "golden", "backend.aau": "rtl"}
        given |= {f"backend.{part}": "rtl" for part in PARTS}
    options = {key: value for key, value in given.items() if value is not None}
    resolved = load_config(config, merged(options, assignments(set_ or ())))
    folder = out / resolved.folder_name
    check_folder(folder, resolved, force=force)
    pool = DevicePool()
    outcomes, wall_s = [], []
    schemes: list[Scheme] = [resolved.scheme]
    if resolved.baseline not in ("none", resolved.scheme):
        schemes.append(resolved.baseline)
    with rows_progress("statistics of the AAU") as progress:
        prepared = {each: prepare(resolved.with_scheme(each), progress) for each in schemes}
    loaded, _ = prepared[resolved.scheme]
    recorder = Recorder() if activity else None
    for each in schemes:
        with token_progress(each, resolved.workload.tokens) as progress:
            began = time.perf_counter()
            outcomes.append(
                simulate(
                    resolved.with_scheme(each),
                    *prepared[each],
                    pool=pool,
                    progress=progress,
                    lockstep_folder=out,
                    recorder=recorder if each == resolved.scheme else None,
                )
            )
            wall_s.append(time.perf_counter() - began)
    results = document(resolved, loaded, outcomes, wall_s)
    requests = [
        each
        for outcome in outcomes
        for each in records(outcome, prepared[outcome.config.scheme][0])
    ]
    write_folder(folder, resolved, results, requests)
    if recorder is not None:
        of_unit = {"aau": aau_work.told(outcomes[0])} if outcomes[0].aau_commands else {}
        origin, until_ps = origin_of(outcomes[0]), outcomes[0].time_ps
        recorder.write(folder / "activity", origin, until_ps, of_unit)
    console = Console()
    console.print(table(results))
    for domain, cycles in results["timing"]["cycles"].get(resolved.scheme, {}).items():
        compared = ", each equal to golden" if resolved.backend.compares_top else ""
        print(
            f"{domain} clock ({resolved.backend.ahasd}): {cycles['simulated']:,} cycles simulated,"
            f" {cycles['stepped']:,} stepped{compared}, {cycles['skipped']:,} skipped as quiescent"
        )
    operators = results["runs"][0].get("aau_commands")
    if operators:
        print(
            f"AAU (rtl): {len(operators)} operators of both models, each with the cycles that the"
            " run counts and the results of the golden model"
        )
    control = results["runs"][0].get("draft_control")
    if control:
        compared = ", each equal to golden" if resolved.backend.compares_draftctl else ""
        print(
            f"draft-length control ({resolved.backend.draftctl}):"
            f" {control['decisions']:,} decisions{compared},"
            f" {control['differing_from_software']:,} otherwise in software"
        )
    for run in results["runs"]:
        for line in uncounted_lines(run):
            print(line)
        for line in mapping_lines(run):
            print(f"{run['scheme']}, {line}")
    commands = results["timing"]["memory_commands"]
    if commands["all"]:
        print(memory_line(commands))
    tokens = resolved.workload.tokens
    if asserted(loaded) == "tokens":
        print(f"lossless: {tokens} tokens equal the target's own; see {folder}/")
    else:
        print(
            f"positions accounted for: {tokens} came out once, in order; a bernoulli trace has no"
            f" tokens to compare; see {folder}/"
        )
