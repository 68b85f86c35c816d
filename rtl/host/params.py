# SPDX-License-Identifier: Apache-2.0
"""Parameters of the host interface, its codes, and how the map's fields lie on its ports."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ahasd.rtl.host.map import BLOCK_WIDTH, WORD_BITS, Field, Kind, Register
from ahasd.rtl.host.registers import REGISTERS

DOMAINS = ("pim", "npu")
"""In the order in which the engines number them."""

BLOCKS = {"npu": 0, "pim": 1}
"""Upper bits of the addresses of a block."""


class Response(enum.IntEnum):
    """Field `resp` of the responses, as in AXI."""

    OKAY = 0
    """Done."""
    EXOKAY = 1
    """Never given: AXI4-Lite has no exclusive accesses."""
    SLVERR = 2
    """There is a register, and it refuses: a write of a read-only one, a read of a write-only one.
    """
    DECERR = 3
    """There is no register at the address."""


@dataclass(frozen=True, kw_only=True)
class HostParams:
    """Sizes of the host interface. The register map itself is fixed.

    Parameters
    ----------
    address_width
        Bits of an address.
    counter_width
        Bits that a counter has; those above read 0.
    counter_start
        Value of every counter after reset. Other values than 0 serve tests of carries.

    Raises
    ------
    ValueError
        A value is outside its range; the message names the rule and the value.
    """

    address_width: int = 16
    counter_width: int = 64
    counter_start: int = 0

    def __post_init__(self) -> None:
        for name, low, high in (
            ("address_width", BLOCK_WIDTH + 1, 32),
            ("counter_width", WORD_BITS + 1, 2 * WORD_BITS),
            ("counter_start", 0, (1 << self.counter_width) - 1),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name} must be in {low}..{high}, not {value}")


def block(domain: str) -> tuple[Register, ...]:
    """Return the registers of a domain."""
    return tuple(register for register in REGISTERS if register.domain == domain)


def fields(domain: str, kind: Kind) -> dict[str, tuple[Register, Field]]:
    """Return the fields of one kind in a domain, by their names on a port, in order."""
    return {
        register.pin(field): (register, field)
        for register in block(domain)
        if register.kind is kind
        for field in register.fields
    }


PRELOAD = "tvc_preload_cycles"
"""The field that no unit reads: it goes out with a record."""


ERRORS = tuple(
    name
    for name, (register, _) in fields("pim", Kind.STATUS).items()
    if register.name == "pim.ERRORS"
)
"""Fields of `pim_status` that are errors."""


@cache
def widths(port: str) -> Mapping[str, int]:
    """Return the widths of the fields of a port, lowest first.

    Parameters
    ----------
    port
        `control`, `pim_status`, `npu_status`, `pim_events` or `npu_events`.
    """
    if port == "control":
        controls = fields("pim", Kind.CONTROL)
        return {name: field.width for name, (_, field) in controls.items() if name != PRELOAD}
    domain, _, what = port.partition("_")
    if what == "status":
        return {name: field.width for name, (_, field) in fields(domain, Kind.STATUS).items()}
    steps = {name: field.step_width for name, (_, field) in fields(domain, Kind.COUNTER).items()}
    return {"draft_ready": 1, **steps} if domain == "npu" else steps


def pack(port: str, **values: int) -> int:
    """Return a port's value on the wires; fields that are not given are 0.

    Raises
    ------
    ValueError
        A field does not exist, or its value does not fit.
    """
    packed = offset = 0
    for name, width in widths(port).items():
        value = values.pop(name, 0)
        if not 0 <= value < 1 << width:
            raise ValueError(f"{name} of {port} must be in 0..{(1 << width) - 1}, not {value}")
        packed |= value << offset
        offset += width
    if values:
        raise ValueError(f"{port} has no field {', '.join(values)}")
    return packed


def unpack(port: str, packed: int) -> dict[str, int]:
    """Read a port from the wires."""
    values = {}
    for name, width in widths(port).items():
        values[name] = packed & ((1 << width) - 1)
        packed >>= width
    return values
