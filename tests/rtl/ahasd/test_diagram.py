# SPDX-License-Identifier: Apache-2.0
"""The timing diagram of the top's page shows what the golden model does."""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from ahasd.rtl.ahasd.golden import NPU, PIM
from ahasd.rtl.edc.params import Cause, Decision
from ahasd.rtl.queues.golden import Report, Word
from ahasd.rtl.queues.params import Event, Kind

DIAGRAM = Path(__file__).resolve().parents[3] / "docs" / "units" / "ahasd.wave.json"


def lanes(signals: Iterable[Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield each lane of a WaveJSON diagram with what it shows in every cycle."""
    for signal in signals:
        if isinstance(signal, list):
            yield from lanes(signal[1:])
        elif signal:
            labels = iter(signal.get("data", ()))
            shown: list[str] = []
            for symbol in signal["wave"]:
                match symbol:
                    case ".":
                        shown.append(shown[-1])
                    case "=":
                        shown.append(next(labels))
                    case _:
                        shown.append(symbol)
            assert next(labels, None) is None, f"{signal['name']}: a label is not used"
            yield signal["name"], shown


def test_the_diagram_is_what_golden_does(started):
    shown = dict(lanes(json.loads(DIAGRAM.read_text(encoding="utf-8"))["signal"]))
    assert len({len(lane) for lane in shown.values()}) == 1, "lanes differ in length"
    top = deepcopy(started("small"))
    queues = top.params.queues
    words = {
        "H": Word(Kind.HEADER, 0, batch=1, length=2).pack(queues),
        "Ta": Word(Kind.TOKEN, 0, token=10).pack(queues),
        "Tb": Word(Kind.TOKEN, 0, token=11).pack(queues),
    }
    reports = {"full": Report(Event.VERDICT, 1, full=True).pack(queues)}
    streams = {
        "draft": words,
        "batch_out": words,
        "decision": {"go": Decision(True, Cause.PREDICTED).pack()},
        "feedback_in": reports,
        "feedback": reports,
    }
    pins = top.levels | {"now": 0}
    pins |= {f"{name}__ready": 1 for name in top.ready}
    for name in top.queues:
        pins |= {f"{name}__valid": 0, f"{name}__payload": 0}
    for cycle in range(len(shown["draft"])):
        given = dict(pins)
        for name in ("draft", "feedback_in"):
            payload = streams[name].get(shown[name][cycle])
            if payload is not None:
                given |= {f"{name}__valid": 1, f"{name}__payload": payload}
        seen = top.engine.step(given, PIM | NPU, 0)
        for name in ("decision", "feedback", "batch_out"):
            payload = streams[name].get(shown[name][cycle])
            assert seen[f"{name}__valid"] == (payload is not None), f"{name}, cycle {cycle}"
            assert payload in (None, seen[f"{name}__payload"]), f"{name}, cycle {cycle}"
        assert seen["feedback_in__ready"], f"feedback_in, cycle {cycle}"
        for name in ("draft__ready", "room"):
            assert int(shown[name][cycle]) == seen[name], f"{name}, cycle {cycle}"
