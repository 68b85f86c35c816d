# SPDX-License-Identifier: Apache-2.0
"""The configuration of a run: everything that determines its results."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.configs import UNITS
from ahasd.system.devices.command import Unit
from ahasd.system.devices.dram.sharing import Policy
from ahasd.system.devices.gpu import Gpu
from ahasd.system.drafting.registry import AnyRuleOptions
from ahasd.system.model import ModelShape
from ahasd.system.numerics.logits import Tail
from ahasd.system.numerics.statistics import LogitFormat
from ahasd.system.platform import Platform
from ahasd.system.schemes.names import HARDWARE_SCHEMES, WITHOUT_RULE, Baseline, Scheme
from ahasd.system.schemes.npu import Bonus, Take
from ahasd.system.toml import (
    TomlModel,
    find,
    is_path,
    read_toml,
    validated,
    with_overrides,
)
from ahasd.system.workload.playback import Playback
from ahasd.system.workload.source import is_made
from ahasd.system.workload.trace import packaged_traces

BackendName = Literal["golden", "pysim", "rtl"]

_FOLDER = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}"

_TABLES = {"platform": "platforms", "dlm": "models", "tlm": "models", "gpu": "gpus"}
_TABLE_MODELS = {"platform": Platform, "dlm": ModelShape, "tlm": ModelShape, "gpu": Gpu}
_GPU = "rtx4090-laptop"


class Workload(TomlModel):
    """What is generated."""

    trace: str = Field(
        min_length=1, description="packaged trace by name, or the path of an .npz file"
    )
    tokens: int = Field(ge=1, le=1_000_000, description="output tokens")
    playback: Playback = Field(
        default="stream", description="one long sequence, or each request its own"
    )


class Verification(TomlModel):
    """How the NPU takes and judges drafted batches."""

    pass_tokens: int = Field(
        default=16,
        ge=1,
        le=1024,
        description="token cap of one pass; batches stay whole, a longer first one goes alone",
    )
    first_tokens: int = Field(
        default=1, ge=1, le=16, description="amusd: tokens that wait for the first pass of a chain"
    )
    take: Take = Field(default="all", description="batches a pass takes: all queued ones, or one")
    bonus: Bonus = Field(
        default="compare",
        description="emit the target's token after a full acceptance, or let the next pass judge",
    )


class Hardware(TomlModel):
    """The control hardware: the top with its units."""

    configuration: str = Field(
        default="small",
        description="sizes of the units: paper or small; test is too small for packaged traces",
    )
    draftctl: bool = Field(
        default=False,
        description="the draft-length control ends the batches, with quantised statistics",
    )

    @model_validator(mode="after")
    def _configuration_exists(self) -> "Hardware":
        known = UNITS["ahasd"].configurations
        if self.configuration not in known:
            raise ValueError(
                f"ahasd has no configuration {self.configuration!r}; choose one of"
                f" {', '.join(known)}"
            )
        return self

    @property
    def params(self) -> AhasdParams:
        """Parameters of the top."""
        return UNITS["ahasd"].configurations[self.configuration]


class Memory(TomlModel):
    """How the devices and the memory between them are modelled."""

    fidelity: Literal["command", "analytic"] = Field(
        default="command", description="times from memory commands, or from rates"
    )
    refresh: bool = Field(
        default=True, description="false: a memory that keeps for ever; command level only"
    )
    contention: bool = Field(
        default=True, description="NPU and PIM delay each other on channels and ranks"
    )
    arbiter: Policy = Field(default="fair", description="who goes first on a shared channel")
    slot_cycles: int = Field(
        default=4096, ge=1, le=10**6, description="memory cycles of a slot, for arbiter slots"
    )
    patience_cycles: int = Field(
        default=64,
        ge=1,
        le=10**6,
        description="memory cycles by which a command may be put off, for arbiter fair",
    )

    @property
    def contends(self) -> bool:
        """Whether tasks delay each other."""
        return self.contention and self.fidelity == "command"


class MappingSearch(TomlModel):
    """The offline search of scheme specpim for what runs where."""

    draft_tokens: int = Field(
        default=8, ge=1, le=64, description="draft length that it makes a round fastest for"
    )


class Nonlinear(TomlModel):
    """Where the PIM's operators between the matrix products run."""

    unit: Unit = Field(
        default="aau",
        description="AAUs in the ranks, trips to the NPU, or none: they are left out",
    )
    lanes: int = Field(default=16, ge=1, le=32, description="lanes of an AAU, a power of two")
    statistics: Literal["trace", "aau"] = Field(
        default="trace",
        description="what is known of a draft: entropies and probabilities of the trace, or those"
        " that the AAU calculates of logits made to match; takes minutes once a trace",
    )
    tail: Tail = Field(
        default="power", description="how probability falls in those logits behind the second"
    )
    logits: LogitFormat = Field(default="fp16", description="format of those logits")

    @model_validator(mode="after")
    def _lanes_exist(self) -> "Nonlinear":
        self.params()
        return self

    def params(self) -> AauParams:
        """Return the AAU's parameters."""
        return AauParams(lanes=self.lanes)


class Edc(TomlModel):
    """Registers of the drafting control."""

    boundaries: Literal["linear10", "linear4", "sqrt4"] = Field(
        default="sqrt4", description="preset of the entropy bucket boundaries"
    )
    recheck: bool = Field(default=True, description="look again after an accepted verdict")
    explore: int = Field(default=0, ge=0, le=7, description="every 2**k-th stop goes; 0 is off")


class Tvc(TomlModel):
    """Registers of the pre-verification control, and what surrounds it."""

    affine_npu: bool = Field(
        default=False, description="affine model of verification times, else the mean ratio"
    )
    affine_preverify: bool = Field(default=False, description="the same for pre-verification times")
    max_length: int = Field(default=8, ge=0, le=31, description="most tokens to pre-verify")
    slowdown_cycles: int = Field(
        default=0, ge=0, le=2**32 - 1, description="PIM cycles that the NPU is expected to lose"
    )
    cold_preverify_cycles: int = Field(
        default=0,
        ge=0,
        le=2**32 - 1,
        description="PIM cycles a token until one was measured; 0 allows one token",
    )
    preload: bool = Field(
        default=False, description="fill the tables with an offline profile before the run"
    )
    otherwise: Literal["continue", "wait"] = Field(
        default="continue", description="at a stop without pre-verification: draft on, or wait"
    )
    wrong_hints: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="probability that the PIM's target model takes another token than the NPU's",
    )


class Gtsu(TomlModel):
    """Registers of the task scheduling unit."""

    switch_cycles: int = Field(
        default=44, ge=0, le=127, description="PIM cycles without a mask in a switch of the ranks"
    )
    drain_max_cycles: int = Field(
        default=400,
        ge=0,
        le=640,
        description="PIM cycles that commands in flight may take; none are in analytic runs",
    )
    preempt: bool = Field(
        default=False,
        description="pre-verification suspends drafting at a layer boundary; not in analytic runs",
    )


PARTS = UNITS["ahasd"].parts


class Backend(TomlModel):
    """What runs behind the hardware. None of it changes a result."""

    ahasd: BackendName = Field(default="rtl", description="what runs the top; results are equal")
    edc: BackendName = Field(
        default="golden", description="what runs this unit in a golden top; so do the next four"
    )
    gtsu: BackendName = Field(default="golden", description="see backend.edc")
    host: BackendName = Field(default="golden", description="see backend.edc")
    queues: BackendName = Field(default="golden", description="see backend.edc")
    tvc: BackendName = Field(default="golden", description="see backend.edc")
    draftctl: BackendName = Field(
        default="rtl", description="what runs the draft-length control, if hardware.draftctl"
    )
    aau: Literal["contract", "rtl"] = Field(
        default="contract",
        description="rtl: every operator of the models runs once on the AAU's compiled RTL, whose"
        " cycles and results must be those that the run counts on; needs Verilator",
    )
    skip: bool = Field(default=True, description="skip the cycles in which a unit rests")
    lockstep: bool = Field(
        default=False, description="compare every cycle of what is not golden with the golden model"
    )

    @model_validator(mode="after")
    def _choices_have_an_effect(self) -> "Backend":
        mixed = [name for name in PARTS if getattr(self, name) != "golden"]
        if mixed and self.ahasd != "golden":
            raise ValueError(
                f"backend.{mixed[0]} is chosen for a unit, but the top runs as a whole:"
                ' choose ahasd = "golden"'
            )
        return self

    @property
    def compares_top(self) -> bool:
        """Whether a top runs beside the golden one."""
        return self.lockstep and (self.ahasd != "golden" or bool(self.parts))

    @property
    def compares_draftctl(self) -> bool:
        """Whether the draft-length control, if there is one, runs beside the golden one."""
        return self.lockstep and self.draftctl != "golden"

    @property
    def parts(self) -> dict[str, BackendName]:
        """Units of a golden top that are not golden themselves."""
        found = {name: getattr(self, name) for name in PARTS}
        return {name: backend for name, backend in found.items() if backend != "golden"}


class RunConfig(TomlModel):
    """A run, with platform and models written out."""

    name: str = Field(default="", description="folder under runs/; empty: made from the rest")
    scheme: Scheme = Field(description="who drafts and who waits for whom")
    baseline: Baseline = Field(
        default="sync", description="scheme to run beside it, for comparison"
    )
    seed: int = Field(default=0, ge=0, description="of every random draw; a trace needs none")
    workload: Workload
    draft: AnyRuleOptions
    verification: Verification = Verification()
    hardware: Hardware = Hardware()
    memory: Memory = Memory()
    nonlinear: Nonlinear = Nonlinear()
    mapping: MappingSearch = MappingSearch()
    energy: str = Field(default="mobile", description="energy of every event, by name or path")
    edc: Edc = Edc()
    tvc: Tvc = Tvc()
    gtsu: Gtsu = Gtsu()
    backend: Backend = Backend()
    platform: Platform
    dlm: ModelShape
    tlm: ModelShape
    gpu: Gpu = Field(description="table of the graphics processor of schemes gpu-ar and gpu-sd")

    @field_validator("name")
    @classmethod
    def _name_is_a_folder(cls, name: str) -> str:
        if name and not re.fullmatch(_FOLDER, name):
            raise ValueError(f"{name!r} is no folder name: use letters, digits and . _ + -")
        return name

    @model_validator(mode="after")
    def _models_share_a_vocabulary(self) -> "RunConfig":
        if self.dlm.vocab != self.tlm.vocab:
            raise ValueError(
                f"draft and target need one vocabulary, but {self.dlm.name} has {self.dlm.vocab}"
                f" tokens and {self.tlm.name} {self.tlm.vocab}: choose a pair of one family"
            )
        return self

    @model_validator(mode="after")
    def _batches_fit_the_queue(self) -> "RunConfig":
        limit = self.hardware.params.queues.batch_tokens
        if self.scheme in HARDWARE_SCHEMES and self.draft.k_max > limit:
            raise ValueError(
                f"draft.k_max = {self.draft.k_max} is longer than a batch of the hardware,"
                f" {limit} tokens: lower it, or choose another hardware.configuration"
            )
        return self

    @model_validator(mode="after")
    def _lockstep_has_hardware(self) -> "RunConfig":
        if not self.backend.lockstep:
            return self
        schemes = {self.scheme, self.baseline} - {"none"}
        has_top = bool(schemes & {*HARDWARE_SCHEMES})
        has_draftctl = self.hardware.draftctl and bool(schemes - {*WITHOUT_RULE})
        if not has_top and not has_draftctl:
            raise ValueError(
                f"backend.lockstep compares hardware, and neither scheme = {self.scheme!r} nor"
                f" baseline = {self.baseline!r} has any: choose one of"
                f" {', '.join(HARDWARE_SCHEMES)}, or hardware.draftctl for a scheme with a rule"
            )
        top = has_top and self.backend.compares_top
        if not top and not (has_draftctl and self.backend.compares_draftctl):
            raise ValueError(
                'backend.lockstep compares with golden: choose backend.ahasd = "rtl" or "pysim"'
                ', or hardware.draftctl with backend.draftctl = "rtl" or "pysim"'
            )
        return self

    def substance(self) -> dict[str, Any]:
        """Return what determines the results, JSON-ready: no name, no backend."""
        return self.model_dump(mode="json", exclude_none=True, exclude={"name", "backend"})

    @property
    def sha256(self) -> str:
        """Hash of what determines the results."""
        return hashlib.sha256(json.dumps(self.substance(), sort_keys=True).encode()).hexdigest()

    @property
    def folder_name(self) -> str:
        """Name of the run's folder: as given, or one that no other configuration has."""
        if self.name:
            return self.name
        made = f"{self.dlm.name}-{self.tlm.name}-{self.scheme}-{self.draft.rule}"
        return f"{re.sub(r'[^A-Za-z0-9._+-]', '-', made)[:150]}-{self.sha256[:6]}"

    def with_scheme(self, scheme: Scheme) -> "RunConfig":
        """Return the same run under another scheme."""
        return self.model_copy(update={"scheme": scheme})


def load_config(name_or_path: str, overrides: Mapping[str, Any]) -> RunConfig:
    """Read a run's configuration, with platform and models by name, path or in place.

    Paths in a file are relative to the file, those in overrides to the working directory.

    Parameters
    ----------
    name_or_path
        Packaged run such as `default`, or the path of a TOML file.
    overrides
        Dotted key to value, on top of the file. A changed `draft.rule` drops the options of the
        file's rule.

    Raises
    ------
    UserError
        Something in it is wrong; one line says what and where.
    """
    found = find("runs", name_or_path)
    data = read_toml(found, "run")
    if isinstance(found, Path):
        _anchor(data, found.parent)
    draft, rule = data.get("draft"), overrides.get("draft.rule")
    if rule is not None and isinstance(draft, dict) and draft.get("rule") != rule:
        data["draft"] = {}
    named = {key: overrides[key] for key in _TABLES if key in overrides}
    data = with_overrides(data, named)
    data.setdefault("gpu", _GPU)
    sources = {}
    for key, kind in _TABLES.items():
        if isinstance(data.get(key), str):
            what = kind.removesuffix("s")
            sources[key] = f"{what} {data[key]}"
            data[key] = read_toml(find(kind, data[key]), what)
    rest = {key: value for key, value in overrides.items() if key not in named}
    data = with_overrides(data, rest)
    for key, source in sources.items():
        if isinstance(data[key], dict):
            validated(_TABLE_MODELS[key], data[key], source)
    _anchor(data, Path.cwd())
    return validated(RunConfig, data, f"run {name_or_path}")


def _anchor(data: dict[str, Any], folder: Path) -> None:
    """Make the paths in a run's table absolute; names of packaged files stay."""
    for key in _TABLES:
        value = data.get(key)
        if isinstance(value, str) and is_path(value):
            data[key] = str(folder / value)
    for name, key in (("workload", "trace"), ("draft", "fit_trace"), ("draft", "path")):
        table = data.get(name)
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(table, dict) or not isinstance(value, str) or not value:
            continue
        if key == "path" or not (value in packaged_traces() or is_made(value)):
            table[key] = os.path.normpath(folder / value)
