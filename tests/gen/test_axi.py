# SPDX-License-Identifier: Apache-2.0
"""The top behind AXI pins, as it is written for others' flows."""

import re

from ahasd.cli import main

CHANNELS = {
    "s_axil_aw": {"addr", "valid", "ready"},
    "s_axil_w": {"data", "strb", "valid", "ready"},
    "s_axil_b": {"resp", "valid", "ready"},
    "s_axil_ar": {"addr", "valid", "ready"},
    "s_axil_r": {"data", "resp", "valid", "ready"},
    "m_axis_draft_t": {"data", "last", "valid", "ready"},
    "s_axis_feedback_t": {"data", "valid", "ready"},
}


def test_gen_writes_the_top_behind_axi_pins_too(capsys, tmp_path):
    folder = tmp_path / "hw"
    assert main(["gen", "ahasd", "--config", "test", "--out", str(folder), "--module", "top"]) == 0
    assert capsys.readouterr().out.split() == [
        str(folder / name) for name in ("top.v", "top.json", "top_axi.v")
    ]
    text = (folder / "top_axi.v").read_text()
    header = re.search(r"module top_axi\((.*?)\);", text, re.DOTALL)
    assert header is not None
    ports = set(header[1].replace(",", " ").split())
    wanted = {f"{channel}{pin}" for channel, pins in CHANNELS.items() for pin in pins}
    assert {port for port in ports if re.match(r"[sm]_axi", port)} == wanted
    assert not {port for port in ports if port.startswith(("batch_out", "feedback_in", "aw__"))}
    # Whole bytes: words of 9 bits, reports of 23.
    for pin, bits in (("m_axis_draft_tdata", 16), ("s_axis_feedback_tdata", 24)):
        assert re.search(rf"put \[{bits - 1}:0\] {pin};", text), pin
