# SPDX-License-Identifier: Apache-2.0
"""A line to a real board: a serial port of this machine."""

from time import sleep

from ahasd import UserError, install_hint

BAUD = 115_200

PATIENCE_S = 0.5
"""Silence after which no answer is expected any more [s]."""


class SerialPort:
    """A serial port, 8N1.

    Parameters
    ----------
    name
        As the operating system calls it, or any URL of pySerial.
    gap_s
        Silence after which the bridge gives up half a request [s].

    Raises
    ------
    UserError
        pySerial is missing, or the port cannot be opened.
    """

    def __init__(self, name: str, gap_s: float, baud: int = BAUD) -> None:
        try:
            import serial
        except ImportError:
            raise UserError(
                f"a port such as {name!r} needs pySerial: {install_hint('fpga')};"
                " simulated boards, `rtl` and `golden`, do not"
            ) from None
        try:
            self._port = serial.serial_for_url(name, baudrate=baud, timeout=PATIENCE_S)
        except (serial.SerialException, ValueError) as error:
            raise UserError(
                f"cannot open the port {name}: {error}; give a serial port, or `rtl` or `golden`"
            ) from error
        self._gap_s = gap_s

    def send(self, data: bytes) -> None:
        """Send bytes; see `Line`."""
        self._port.write(data)
        self._port.flush()

    def receive(self, count: int) -> bytes:
        """Return bytes; see `Line`."""
        return self._port.read(count)

    def rest(self) -> None:
        """Wait; see `Line`."""
        sleep(2 * self._gap_s)
        self._port.reset_input_buffer()
