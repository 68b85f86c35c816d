# SPDX-License-Identifier: Apache-2.0
"""The catalogue: every unit, where its hardware and its golden model are, and its configurations.

The classes are named, not imported, so that a reader of parameters loads no Amaranth.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ahasd.rtl.aau.numerics import CHEAP
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.board.params import BoardParams
from ahasd.rtl.bridge.params import BridgeParams
from ahasd.rtl.draftctl.params import DraftctlParams
from ahasd.rtl.edc.params import EdcParams
from ahasd.rtl.gtsu.params import GtsuParams
from ahasd.rtl.host.params import HostParams
from ahasd.rtl.queues.params import QueuesParams
from ahasd.rtl.tvc.params import TvcParams


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the catalogue.

    Parameters
    ----------
    name
        Folder under `rtl/`, and the name on the command line.
    does
        What the unit does, in a few words.
    hardware, golden
        `module:class` of the Amaranth component and of the golden model.
    domains
        Clock domains, in the order in which the engines number them.
    configurations
        Parameters by configuration name: `paper` has the published sizes, `small` fewer entries,
        `test` is as small as keeps every mechanism.
    parts
        Units that it is made of.
    wide
        Arithmetic prevails in it: Verilator compiles it, not CXXRTL.
    folder
        Folder under `rtl/` of what is not a unit by itself; by default it has the unit's name.
    """

    name: str
    does: str
    hardware: str
    golden: str
    domains: tuple[str, ...]
    configurations: Mapping[str, Any]
    parts: tuple[str, ...] = ()
    wide: bool = False
    folder: str = ""

    def load_hardware(self) -> type:
        """Import and return the Amaranth component."""
        return _load(self.hardware)

    def source_sha256(self) -> str:
        """Hash the sources in the unit's folder, in those of its parts and in the shared one."""
        digest = hashlib.sha256()
        for folder in ("lib", *self.parts, self.source):
            for path, file in _sources(files("ahasd.rtl") / folder, folder):
                digest.update(f"{path}\0".encode() + file.read_bytes())
        return digest.hexdigest()

    @property
    def source(self) -> str:
        """Folder under `rtl/`."""
        return self.folder or self.name

    def load_golden(self) -> type:
        """Import and return the golden model."""
        return _load(self.golden)


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """Yield the Python files in a folder and below, with their paths, in a fixed order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry, f"{path}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{path}/{entry.name}", entry


def _load(path: str) -> type:
    module, name = path.split(":")
    return getattr(import_module(module), name)


AHASD_PAPER = AhasdParams(
    queues=QueuesParams(draft_batches=64, feedback_entries=32, preverify_entries=16, batch_width=7),
)

AHASD_TEST = AhasdParams(
    edc=EdcParams(history=2, bucket_width=1, llr_width=2, entropy_fraction_width=4),
    tvc=TvcParams(
        table_entries=2,
        cycles_width=8,
        length_width=4,
        ratio_fraction_width=2,
        tokens_width=2,
        time_width=10,
    ),
    queues=QueuesParams(
        draft_batches=2,
        feedback_entries=2,
        preverify_entries=2,
        batch_tokens=2,
        token_width=2,
        epoch_width=2,
        branch_width=1,
        batch_width=2,
        npu_cycles_width=8,
        kv_width=4,
        task_width=2,
    ),
    gtsu=GtsuParams(ranks=2, task_entries=2, id_width=2),
    host=HostParams(address_width=14, counter_width=33),
)


UNITS = {
    unit.name: unit
    for unit in (
        Unit(
            name="aau",
            does="attention algorithm unit: softmax, entropy, norms, activations, row by row",
            hardware="ahasd.rtl.aau.unit:AauUnit",
            golden="ahasd.rtl.aau.golden:AauGolden",
            domains=("pim",),
            configurations={
                "paper": AauParams(),
                "small": AauParams(lanes=4),
                "test": AauParams(
                    lanes=2,
                    length_width=8,
                    index_width=10,
                    imports_width=3,
                    top_k=3,
                    numerics=CHEAP,
                ),
            },
            wide=True,
        ),
        Unit(
            name="ahasd",
            does="the top: all control units, wired, with their host interface",
            hardware="ahasd.rtl.ahasd.unit:AhasdUnit",
            golden="ahasd.rtl.ahasd.golden:AhasdGolden",
            domains=("pim", "npu"),
            configurations={
                "paper": AHASD_PAPER,
                "small": AhasdParams(),
                "test": AHASD_TEST,
            },
            parts=("edc", "gtsu", "host", "queues", "tvc"),
        ),
        Unit(
            name="board",
            does="the top behind a serial line, for an FPGA",
            hardware="ahasd.rtl.board.unit:BoardUnit",
            golden="ahasd.rtl.board.golden:BoardGolden",
            domains=("pim", "npu"),
            configurations={
                "paper": BoardParams(ahasd=AHASD_PAPER),
                "small": BoardParams(),
                "test": BoardParams(
                    ahasd=replace(AHASD_TEST, host=replace(AHASD_TEST.host, address_width=16)),
                    bridge=BridgeParams(divisor=4, gap_cycles=100, payload_bytes=4),
                ),
            },
            parts=("ahasd", "bridge", "edc", "gtsu", "host", "queues", "tvc"),
        ),
        Unit(
            name="bridge",
            does="host bridge: a serial line to registers and streams",
            hardware="ahasd.rtl.bridge.unit:BridgeUnit",
            golden="ahasd.rtl.bridge.golden:BridgeGolden",
            domains=("npu",),
            configurations={
                "paper": BridgeParams(),  # 115,200 baud at 25 MHz; no paper has one
                "small": BridgeParams(divisor=8, gap_cycles=400, payload_bytes=8),
                "test": BridgeParams(divisor=4, gap_cycles=100, payload_bytes=4),
            },
        ),
        Unit(
            name="draftctl",
            does="draft-length control: ends a batch by a rule",
            hardware="ahasd.rtl.draftctl.unit:DraftctlUnit",
            golden="ahasd.rtl.draftctl.golden:DraftctlGolden",
            domains=("pim",),
            configurations={
                "paper": DraftctlParams(),
                "small": DraftctlParams(length_width=5),
                "test": DraftctlParams(
                    length_width=3,
                    entropy_integer_width=2,
                    entropy_fraction_width=2,
                    doubt_integer_width=2,
                    doubt_fraction_width=2,
                ),
            },
        ),
        Unit(
            name="edc",
            does="entropy-history-aware drafting control",
            hardware="ahasd.rtl.edc.unit:EdcUnit",
            golden="ahasd.rtl.edc.golden:EdcGolden",
            domains=("pim",),
            configurations={
                "paper": EdcParams(),
                "small": EdcParams(history=4, bucket_width=2, llr_width=2),
                "test": EdcParams(history=2, bucket_width=1, llr_width=2, entropy_fraction_width=4),
            },
        ),
        Unit(
            name="gtsu",
            does="gated task scheduling unit",
            hardware="ahasd.rtl.gtsu.unit:GtsuUnit",
            golden="ahasd.rtl.gtsu.golden:GtsuGolden",
            domains=("pim",),
            configurations={
                "paper": GtsuParams(),
                "small": GtsuParams(ranks=8, task_entries=4, id_width=3),
                "test": GtsuParams(ranks=2, task_entries=2, id_width=2),
            },
        ),
        Unit(
            name="host",
            does="host interface: AXI4-Lite registers of both domains",
            hardware="ahasd.rtl.host.unit:HostUnit",
            golden="ahasd.rtl.host.golden:HostGolden",
            domains=("pim", "npu"),
            configurations={
                "paper": HostParams(),
                "small": HostParams(counter_width=40),
                # Counters stand near a carry from the low word to the high one, and to 0.
                "test": HostParams(address_width=14, counter_width=33, counter_start=(1 << 33) - 6),
            },
        ),
        Unit(
            name="queues",
            does="asynchronous queue controllers between PIM and NPU",
            hardware="ahasd.rtl.queues.unit:QueuesUnit",
            golden="ahasd.rtl.queues.golden:QueuesGolden",
            domains=("pim", "npu"),
            configurations={
                "paper": QueuesParams(
                    draft_batches=64, feedback_entries=32, preverify_entries=16, batch_width=7
                ),
                "small": QueuesParams(),
                "test": QueuesParams(
                    draft_batches=2,
                    feedback_entries=2,
                    preverify_entries=2,
                    batch_tokens=2,
                    token_width=2,
                    epoch_width=2,
                    branch_width=1,
                    batch_width=2,
                    npu_cycles_width=2,
                    kv_width=2,
                    task_width=1,
                ),
            },
        ),
        Unit(
            name="tvc",
            does="time-aware pre-verification control",
            hardware="ahasd.rtl.tvc.unit:TvcUnit",
            golden="ahasd.rtl.tvc.golden:TvcGolden",
            domains=("pim",),
            configurations={
                "paper": TvcParams(cycles_width=64, length_width=32, time_width=64),
                "small": TvcParams(),
                "test": TvcParams(
                    table_entries=2,
                    cycles_width=8,
                    length_width=3,
                    ratio_fraction_width=2,
                    tokens_width=3,
                    time_width=10,
                ),
            },
        ),
    )
}
