# SPDX-License-Identifier: Apache-2.0
"""The timing diagrams of the units' pages show what the golden models do."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ahasd.rtl.aau.encodings import Command, Op, constant_code
from ahasd.rtl.aau.golden import LANE_WIDTH, RESULT_WIDTH, AauGolden
from ahasd.rtl.aau.params import AauParams
from ahasd.rtl.draftctl.golden import DraftctlGolden
from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Outcome, Rule, Token
from ahasd.rtl.gtsu.golden import GtsuGolden
from ahasd.rtl.gtsu.params import GtsuParams, Kind, State, Task
from ahasd.rtl.queues.golden import NPU, PIM, QueuesGolden, Report, Word
from ahasd.rtl.queues.params import Event, QueuesParams
from ahasd.rtl.queues.params import Kind as Part

UNITS = Path(__file__).resolve().parents[2] / "docs" / "units"


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


def diagram(unit: str) -> dict[str, list[str]]:
    text = (UNITS / f"{unit}.wave.json").read_text(encoding="utf-8")
    found = dict(lanes(json.loads(text)["signal"]))
    assert len({len(shown) for shown in found.values()}) == 1, "lanes differ in length"
    return found


def half(value: float) -> int:
    """Return the code of a number in FP16."""
    return int(np.float16(value).view(np.uint16))


def test_the_diagram_of_the_aau():
    shown = diagram("aau")
    params = AauParams()
    command = Command(op=Op.ADD, length=2 * params.lanes, k0=constant_code(1.0)).pack(params)
    every_lane = sum(1 << LANE_WIDTH * lane for lane in range(params.lanes))
    every_result = sum(1 << RESULT_WIDTH * lane for lane in range(params.lanes))
    golden = AauGolden(params)
    for cycle in range(len(shown["pim_clk"])):
        beat, result = shown["beat"][cycle], shown["result"][cycle]
        element = 0 if beat == "x" else half(float(beat)) | half(0.5) << 48
        seen = golden.step(
            {
                "command__valid": int(shown["command"][cycle] != "x"),
                "command__payload": command,
                "state_in__valid": 0,
                "state_in__payload": 0,
                "beat__valid": int(beat != "x"),
                "beat__payload": element * every_lane,
                "result__ready": int(shown["result__ready"][cycle]),
                "state_out__ready": 1,
                "summary__ready": int(shown["summary__ready"][cycle]),
            }
        )
        for name in ("command__ready", "beat__ready", "summary__valid", "idle_pim"):
            assert int(shown[name][cycle]) == seen[name], f"{name}, cycle {cycle}"
        assert seen["result__valid"] == (result != "x"), f"result, cycle {cycle}"
        if result != "x":
            assert seen["result__payload"] == half(float(result)) * every_result


def test_the_diagram_of_the_draft_length_control():
    shown = diagram("draftctl")
    params = DraftctlParams()
    pins = {
        "rule": Rule.ENTROPY,
        "entropy_limit": params.encode_entropy(1),
        "doubt_limit": 0,
        "k_max": 16,
        "min_len": 1,
        "keep_tripping_token": 1,
    }
    golden = DraftctlGolden(params)
    for cycle in range(len(shown["pim_clk"])):
        label = shown["token"][cycle]
        entropy_nats = 0.0 if label == "x" else float(label.removesuffix(" nat"))
        token = Token(first=False, entropy=params.encode_entropy(entropy_nats), doubt=0)
        seen = golden.step(
            pins
            | {
                "token__valid": int(label != "x"),
                "token__payload": token.pack(params),
                "decision__ready": int(shown["decision__ready"][cycle]),
            }
        )
        for name in ("token__ready", "idle_pim"):
            assert int(shown[name][cycle]) == seen[name], f"{name}, cycle {cycle}"
        label = shown["decision"][cycle]
        assert seen["decision__valid"] == (label != "x"), f"decision, cycle {cycle}"
        if label != "x":
            outcome, place = label.split()
            decision = Decision(Outcome[outcome], int(place))
            assert seen["decision__payload"] == decision.pack(), f"decision, cycle {cycle}"


def test_the_diagram_of_the_gtsu():
    shown = diagram("gtsu")
    masks = {"dlm_mask": 0x00FF, "tlm_mask": 0xFF00, "0": 0}
    pins = {
        "task__valid": 0,
        "task__payload": 0,
        "done__valid": 0,
        "done__payload": 0,
        "command__valid": 0,
        "command__payload": 0,
        "issue__ready": 1,
        "drained": 1,
        "layer_boundary": 0,
        "compute_request": 0xFFFF,
        "dlm_mask": masks["dlm_mask"],
        "tlm_mask": masks["tlm_mask"],
        "switch_cycles": 3,
        "drain_max_cycles": 400,
        "preempt": 1,
    }
    golden = GtsuGolden(GtsuParams())
    golden.step(pins | {"task__valid": 1, "task__payload": Task(Kind.DRAFT, 1).pack()})
    while not golden.step(pins)["running"]:
        pass
    outputs = {
        "state": {state.name: state.value for state in State},
        "mask": masks,
        "compute_grant": masks,
        "issue__valid": {"0": 0, "1": 1},
        "running": {"0": 0, "1": 1},
    }
    for cycle in range(len(shown["pim_clk"])):
        given = {
            name: int(shown[name][cycle]) for name in ("layer_boundary", "drained", "issue__ready")
        }
        task = shown["task"][cycle]
        if task != "x":
            given |= {"task__valid": 1, "task__payload": Task(Kind[task], 2).pack()}
        seen = golden.step(pins | given)
        for name, values in outputs.items():
            assert values[shown[name][cycle]] == seen[name], f"{name}, cycle {cycle}"


def test_the_diagram_of_the_queues():
    shown = diagram("queues")
    params = QueuesParams()
    words = {
        "H1": Word(Part.HEADER, 0, batch=1, length=2),
        "T1a": Word(Part.TOKEN, 0, token=10),
        "T1b": Word(Part.TOKEN, 0, token=11),
        "H2": Word(Part.HEADER, 0, batch=2, length=1),
        "T2a": Word(Part.TOKEN, 0, token=12),
        "H3": Word(Part.HEADER, 1, batch=3, length=1),
        "T3a": Word(Part.TOKEN, 1, token=13),
    }
    streams = {
        "batch_in": {name: word.pack(params) for name, word in words.items()},
        "batch_out": {name: word.pack(params) for name, word in words.items()},
        "feedback_in": {"reject": Report(Event.VERDICT).pack(params)},
        "feedback_out": {"reject": Report(Event.VERDICT).pack(params)},
    }
    pins = {f"{name}__ready": 1 for name in ("batch_out", "feedback_out", "preverify_out")}
    for name in ("batch_in", "feedback_in", "preverify_in"):
        pins |= {f"{name}__valid": 0, f"{name}__payload": 0}
    golden = QueuesGolden(params)
    for cycle in range(len(shown["batch_in"])):
        given = dict(pins)
        for name in ("batch_in", "feedback_in"):
            payload = streams[name].get(shown[name][cycle])
            if payload is not None:
                given |= {f"{name}__valid": 1, f"{name}__payload": payload}
        seen = golden.step(given, PIM | NPU)
        for name in ("batch_out", "feedback_out"):
            payload = streams[name].get(shown[name][cycle])
            assert seen[f"{name}__valid"] == (payload is not None), f"{name}, cycle {cycle}"
            assert payload in (None, seen[f"{name}__payload"]), f"{name}, cycle {cycle}"
        for name in ("batch_in", "feedback_in"):
            assert seen[f"{name}__ready"], f"{name}, cycle {cycle}"
        for name in ("epoch_pim", "epoch_npu", "flushing", "credits"):
            assert int(shown[name][cycle]) == seen[name], f"{name}, cycle {cycle}"
