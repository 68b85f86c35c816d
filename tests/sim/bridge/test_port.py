# SPDX-License-Identifier: Apache-2.0
"""Serial ports: one that loops back, one that is not there, and a machine without pySerial."""

import sys

import pytest

from ahasd import UserError
from ahasd.sim.bridge.client import BridgeError, Client
from ahasd.sim.bridge.port import SerialPort


def test_bytes_go_out_and_come_back_and_a_rest_forgets_them():
    port = SerialPort("loop://", gap_s=0.001)
    port.send(b"\x5a\x00\xff")
    assert port.receive(2) == b"\x5a\x00"
    port.rest()
    assert port.receive(1) == b"", "the third byte is forgotten"


def test_a_port_that_echoes_is_no_board():
    with pytest.raises(BridgeError, match="no answer to WRITE of 0x0004"):
        Client(SerialPort("loop://", gap_s=0.001)).write(4, 1)


@pytest.mark.parametrize("name", ["/dev/there-is-no-such-port", "nonsense://"])
def test_a_port_that_cannot_be_opened_is_named(name):
    with pytest.raises(UserError, match=f"cannot open the port {name}"):
        SerialPort(name, gap_s=0.001)


def test_without_pyserial_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(UserError, match=r"needs pySerial: .*\[fpga\]"):
        SerialPort("loop://", gap_s=0.001)
