# SPDX-License-Identifier: Apache-2.0
"""The timing diagram of the TVC's page shows what the golden model does."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.rtl.tvc.golden import TvcGolden
from ahasd.rtl.tvc.params import Decision, Levels, NpuEvent, NpuKind, Reason, Record, Request, Table

DIAGRAM = Path(__file__).resolve().parents[3] / "docs" / "units" / "tvc.wave.json"


def lanes(signals: Iterable[Any], gaps: list[int]) -> Iterator[tuple[str, list[str]]]:
    """Yield each lane of a WaveJSON diagram with what it shows in every cycle.

    A column with a gap stands for as many cycles as `gaps` says, in which nothing changes.
    """
    for signal in signals:
        if isinstance(signal, list):
            yield from lanes(signal[1:], gaps)
        elif signal:
            labels, omitted = iter(signal.get("data", ())), iter(gaps)
            shown: list[str] = []
            for symbol in signal["wave"]:
                match symbol:
                    case ".":
                        shown.append(shown[-1])
                    case "|":
                        shown += [shown[-1]] * next(omitted)
                    case "=":
                        shown.append(next(labels))
                    case _:
                        shown.append(symbol)
            assert next(labels, None) is None, f"{signal['name']}: a label is not used"
            yield signal["name"], shown


@pytest.mark.parametrize("configuration", ["paper", "small"])
def test_the_diagram_is_what_golden_does(configuration):
    params = UNITS["tvc"].configurations[configuration]
    gaps = [params.record_cycles - 3, params.decision_cycles - 3]
    shown = dict(lanes(json.loads(DIAGRAM.read_text(encoding="utf-8"))["signal"], gaps))
    cycles = params.record_cycles + params.decision_cycles + 4
    assert {len(lane) for lane in shown.values()} == {cycles}

    golden = TvcGolden(params)
    for table, duration in ((Table.NVCT, 50_000), (Table.PDCT, 10), (Table.PVCT, 100)):
        golden.record(Record(table, duration, 1))
    events = {
        "x": 0,
        "START": NpuEvent(NpuKind.START, 1).pack(params),
        "END": NpuEvent(NpuKind.END, 1, 50_000).pack(params),
    }
    pins = {
        **{f"{name}__{part}": 0 for name in ("record", "command") for part in ("valid", "payload")},
        "request__payload": Request(0, 8).pack(params),
        **Levels(params.npu_ratio_one)._asdict(),
    }
    for cycle in range(cycles):
        event = shown["npu"][cycle]
        seen = golden.step(
            pins
            | {
                "now": cycle,
                "npu__valid": int(event != "x"),
                "npu__payload": events[event],
                "request__valid": int(shown["request__valid"][cycle]),
                "decision__ready": int(shown["decision__ready"][cycle]),
            }
        )
        for name in ("record__ready", "request__ready", "decision__valid", "idle_pim"):
            assert seen[name] == int(shown[name][cycle]), f"{name}, cycle {cycle}"
        payload = seen["decision__payload"]
        if shown["decision__payload"][cycle] == "0":
            assert payload == 0
        else:
            decision = Decision.unpack(payload, params)
            assert (decision.reason, decision.length) == (Reason.INSERT, 8)
            assert decision.slack == 50_000 - params.record_cycles - 10
