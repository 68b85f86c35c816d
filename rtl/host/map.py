# SPDX-License-Identifier: Apache-2.0
"""What an entry of the register map is; the entries themselves are in `registers.py`."""

import enum
from dataclasses import dataclass
from typing import Literal

WORD_BYTES = 4
WORD_BITS = 8 * WORD_BYTES

BLOCK_WIDTH = 12
"""Bits of a byte address within the block of a domain."""

WORD_WIDTH = BLOCK_WIDTH - 2
"""Bits of the number of a word within a block."""

Access = Literal["rw", "ro", "wo", "w1c"]


class Kind(enum.Enum):
    """What stands behind a register."""

    CONTROL = "control"
    """Storage; read and written by the host."""
    FLAGS = "flags"
    """Sticky bits, set by the hardware, cleared by a 1 that is written."""
    COMMAND = "command"
    """No storage: a write does something, a read is an error."""
    STATUS = "status"
    """No storage: what the units show."""
    COUNTER = "counter"
    """64 bits that count events; two words."""
    CONSTANT = "constant"
    """No storage: the reset value."""

    @property
    def access(self) -> Access:
        """What the host may do."""
        match self:
            case Kind.CONTROL:
                return "rw"
            case Kind.FLAGS:
                return "w1c"
            case Kind.COMMAND:
                return "wo"
            case _:
                return "ro"


@dataclass(frozen=True)
class Field:
    """Bits of a register.

    Parameters
    ----------
    name
        In lower case.
    low, width
        Number of the lowest bit, and bits.
    reset
        Value after reset; 0 where there is no storage.
    step_width
        Bits of what a counter adds at a time; 0 if it is none.
    """

    name: str
    low: int
    width: int
    reset: int = 0
    step_width: int = 0

    @property
    def limit(self) -> int:
        """Largest value."""
        return (1 << self.width) - 1


@dataclass(frozen=True)
class Register:
    """A register.

    Parameters
    ----------
    name
        Block and name, as `pim.CONTROL`; the block is the clock domain.
    address
        Byte address; a counter's high word follows its low word.
    kind
        What stands behind it.
    fields
        Lowest first. Bits between them read 0 and are not written.
    """

    name: str
    address: int
    kind: Kind
    fields: tuple[Field, ...]

    @property
    def domain(self) -> str:
        """Clock domain."""
        return self.name.partition(".")[0]

    @property
    def access(self) -> Access:
        """What the host may do."""
        return self.kind.access

    @property
    def addresses(self) -> tuple[int, ...]:
        """Of its words, the lowest first, which is also the order to read them in."""
        words = 2 if self.kind is Kind.COUNTER else 1
        return tuple(self.address + WORD_BYTES * i for i in range(words))

    @property
    def words(self) -> tuple[int, ...]:
        """Numbers of its words within its block."""
        return tuple((each % (1 << BLOCK_WIDTH)) // WORD_BYTES for each in self.addresses)

    @property
    def reset(self) -> int:
        """Value after reset."""
        return sum(field.reset << field.low for field in self.fields)

    def pin(self, field: Field) -> str:
        """Return a field's name where the fields of many registers stand side by side."""
        if len(self.fields) > 1:
            return field.name
        return self.name.partition(".")[2].lower()
