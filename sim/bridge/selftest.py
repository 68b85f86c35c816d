# SPDX-License-Identifier: Apache-2.0
"""Self-test of a board: a host exercises every unit of the top and compares with golden models."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ahasd.rtl.ahasd.params import AhasdParams
from ahasd.rtl.bridge.params import Op, Status
from ahasd.rtl.host.map import Kind
from ahasd.rtl.host.registers import REGISTERS
from ahasd.sim.bridge import selftest_units as units
from ahasd.sim.bridge.board import Board, Fault
from ahasd.sim.bridge.client import BridgeError, Client, frame
from ahasd.sim.driver import BY_NAME

OUTPUTS = ("decision", "feedback", "answer", "preverify", "issue", "batch_out")


class Result(NamedTuple):
    """What became of a step; `fault` is empty if it passed."""

    step: str
    does: str
    fault: str


def link(board: Board) -> None:
    """Send damaged, broken-off and overlong requests, and see them told from good ones."""
    client = board.client
    good = frame(Op.READ, BY_NAME["npu.ID"].address)
    damaged = bytes((*good[:-1], good[-1] ^ 1))
    client.line.send(damaged)
    heard = client.hear()
    if heard is None or heard[1] is not Status.BAD_CHECKSUM:
        raise Fault(f"a damaged request is answered {heard}, not BAD_CHECKSUM")
    client.line.send(good[:4])
    client.line.rest()
    client.line.send(b"\x00\xff")
    unknown = client.ask(Op.READ, BY_NAME["npu.ID"].address, b"\x00")[0]
    if unknown is not Status.BAD_LENGTH:
        raise Fault(f"a request that is too long is answered {unknown.name}, not BAD_LENGTH")


def identity(board: Board) -> None:
    """Read what the board is."""
    for name in ("npu.ID", "npu.VERSION"):
        board.expect_register(name, **{field.name: field.reset for field in BY_NAME[name].fields})


def registers(board: Board) -> None:
    """Write control registers and read them back; see bad accesses refused."""
    controls = [register for register in REGISTERS if register.kind is Kind.CONTROL]
    for register in controls:
        limits = {field.name: field.limit for field in register.fields}
        board.registers.write(register.name, **limits)
    for register in controls:
        limits = {field.name: field.limit for field in register.fields}
        board.expect_register(register.name, **limits)
        resets = {field.name: field.reset for field in register.fields}
        board.registers.write(register.name, **resets)
        board.expect_register(register.name, **resets)
    for op, address, data, status in (
        (Op.WRITE, BY_NAME["npu.ID"].address, bytes(4), "REFUSED"),
        (Op.READ, BY_NAME["pim.COMMAND"].address, b"", "REFUSED"),
        (Op.READ, 0x0FFC, b"", "ABSENT"),
        (Op.READ, 0x1FFC, b"", "ABSENT"),
        (Op.POP, 0x000F, b"", "ABSENT"),
        (Op.PUSH, 0x100F, bytes(1), "ABSENT"),
    ):
        found = board.status_of(op, address, data)
        if found != status:
            raise Fault(f"{op.name} of 0x{address:04x} is answered {found}, not {status}")


def counters(board: Board) -> None:
    """Compare the counters with what was done; read no error."""
    wrap = 1 << board.params.host.counter_width
    after = board.counters()
    for name, value in board.before.items():
        found = (after[name] - value) % wrap
        if found != board.counted[name]:
            raise Fault(f"{name} has counted {found}, not {board.counted[name]}")
    board.expect_register("pim.ERRORS", **{field.name: 0 for field in BY_NAME["pim.ERRORS"].fields})


STEPS: tuple[Callable[[Board], None], ...] = (
    link,
    identity,
    registers,
    units.queues,
    units.edc,
    units.tvc,
    units.gtsu,
    counters,
)


def self_test(
    client: Client, params: AhasdParams, steps: Sequence[Callable[[Board], None]] = STEPS
) -> Iterator[Result]:
    """Run the steps of the self-test and yield what became of each; after a failure go on.

    The board comes from a reset or from another self-test. Registers are left with their reset
    values, masks of ranks apart.

    Parameters
    ----------
    client
        To the board.
    params
        Sizes of its top.
    steps
        Which, in this order.
    """
    board = Board(client, params)
    try:
        client.line.rest()
        board.drain(*OUTPUTS)
        if counters in steps:
            board.before = board.counters()
    except BridgeError as error:
        yield Result("link", "the board answers", str(error))
        return
    for step in steps:
        fault = ""
        try:
            step(board)
        except (Fault, BridgeError) as error:
            fault = str(error)
        yield Result(step.__name__, (step.__doc__ or "").splitlines()[0], fault)
