# SPDX-License-Identifier: Apache-2.0
"""Lock-step: silent where two engines agree, and precise where they do not."""

import pytest

from ahasd.rtl.configs import UNITS
from ahasd.sim.golden import GoldenEngine
from ahasd.sim.lockstep import WINDOW_CYCLES, LockstepEngine, LockstepError
from ahasd.sim.ports import Grid
from ahasd.sim.registry import make_engine
from ahasd.sim.rtl.engine import RtlEngine, WaveEngine

EDC = UNITS["edc"]
PARAMS = EDC.configurations["test"]
PINS = {
    "draft__valid": 1,
    "draft__payload": 3,
    "verdict__valid": 0,
    "verdict__payload": 0,
    "command__valid": 0,
    "command__payload": 0,
    "decision__ready": 1,
    "boundaries": 5,
    "recheck": 1,
    "explore": 0,
}


def test_equal_engines_run_through(tmp_path):
    engine = make_engine("edc", PARAMS, "rtl", lockstep=tmp_path)
    assert isinstance(engine, LockstepEngine)
    alone = GoldenEngine(EDC, PARAMS)
    for edge in range(100):
        pins = PINS | {"verdict__valid": edge % 3 == 0}
        assert engine.step(pins, 1, edge) == alone.step(pins, 1, edge)
    quiet = PINS | {"draft__valid": 0}
    engine.step(quiet, 1, 100)
    assert engine.run(quiet, Grid((1250,), (126_250,), 200_000)) is None
    assert list(tmp_path.iterdir()) == []


def test_the_first_difference_stops_with_pin_time_values_and_a_waveform(tmp_path):
    golden = GoldenEngine(EDC, PARAMS)
    engine = LockstepEngine(
        "edc",
        RtlEngine.of(EDC, PARAMS),
        golden,
        lambda: WaveEngine.of(EDC, PARAMS),
        tmp_path / "new",
    )
    busy = PINS | {"verdict__valid": 1, "verdict__payload": 1}
    for edge in range(1, 500):
        engine.step(busy, 1, 1250 * edge)
    golden.model.pht = [0] * PARAMS.pht_entries  # the fault
    engine.step(busy, 1, 1250 * 500)
    with pytest.raises(LockstepError) as caught:
        engine.step(busy, 1, 1250 * 501)
    # The draft of edge 500 meets the cleared entry; its decision is seen at edge 501.
    message = str(caught.value)
    assert "unit edc differs from its golden model at 626250 ps" in message
    assert "decision__payload is 0x1, golden says 0x0" in message
    vcd = (tmp_path / "new" / "lockstep-edc.vcd").read_text()
    times = [int(line[1:]) for line in vcd.splitlines() if line.startswith("#")]
    assert times[0] == 1250 * (501 - WINDOW_CYCLES + 1)
    assert times[-1] == 626250
    assert "in_flight" in vcd, "signals inside the unit are there too"
