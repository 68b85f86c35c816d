# SPDX-License-Identifier: Apache-2.0
"""Registers by name: what a host reads and writes, whatever carries it to the hardware."""

from collections.abc import Callable
from difflib import get_close_matches

from ahasd.rtl.host.map import WORD_BITS, Kind, Register
from ahasd.rtl.host.registers import REGISTERS

BY_NAME = {register.name: register for register in REGISTERS}


class RegisterError(ValueError):
    """There is no such register or field, or it cannot be accessed so."""


def find(name: str) -> Register:
    """Return a register by its block and name, such as `pim.CONTROL`.

    Raises
    ------
    RegisterError
        There is none; the message names the nearest.
    """
    if name in BY_NAME:
        return BY_NAME[name]
    near = get_close_matches(name, BY_NAME, n=3, cutoff=0.4)
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise RegisterError(f"no register {name!r}{hint}")


def encode(name: str, previous: int | None = None, **fields: int) -> tuple[int, int]:
    """Return address and data of a write.

    Parameters
    ----------
    name
        Register.
    previous
        What fields that are not given are taken from; by default the reset value, which is 0 for
        flags and commands.
    fields
        Values by name.

    Raises
    ------
    RegisterError
        No such register or field, the register is read only, or a value is out of range.
    """
    register = find(name)
    if register.access == "ro":
        raise RegisterError(f"{name} is read only")
    data = register.reset if previous is None else previous
    by_name = {field.name: field for field in register.fields}
    for key, value in fields.items():
        if key not in by_name:
            raise RegisterError(f"{name} has no field {key!r}; it has {', '.join(by_name)}")
        field = by_name[key]
        if not 0 <= value <= field.limit:
            raise RegisterError(f"{name}.{key} must be in 0..{field.limit}, not {value}")
        data = data & ~(field.limit << field.low) | value << field.low
    return register.address, data


def addresses(name: str) -> tuple[int, ...]:
    """Return the addresses to read for a register, in this order.

    Raises
    ------
    RegisterError
        No such register, or it is write only.
    """
    register = find(name)
    if register.access == "wo":
        raise RegisterError(f"{name} is write only")
    return register.addresses


def decode(name: str, *words: int) -> dict[str, int]:
    """Return the fields in the words that were read from `addresses`."""
    value = sum(word << WORD_BITS * i for i, word in enumerate(words))
    return {field.name: value >> field.low & field.limit for field in find(name).fields}


class Registers:
    """The registers behind two functions that access words.

    Coroutines cannot be called here: they use `encode`, `addresses` and `decode` themselves.

    Parameters
    ----------
    read
        Returns the word at an address.
    write
        Writes a word to an address. Both raise what they like for a response that is an error.
    """

    def __init__(self, read: Callable[[int], int], write: Callable[[int, int], None]) -> None:
        self._read = read
        self._write = write

    def read(self, name: str) -> dict[str, int]:
        """Return the fields of a register.

        Raises
        ------
        RegisterError
            See `addresses`.
        """
        return decode(name, *map(self._read, addresses(name)))

    def write(self, name: str, **fields: int) -> None:
        """Write fields of a register. The others stay, or are not commanded, or not cleared.

        Raises
        ------
        RegisterError
            See `encode`.
        """
        address, data = encode(name, **fields)
        register = find(name)
        if register.kind is Kind.CONTROL and len(fields) < len(register.fields):
            _, data = encode(name, self._read(address), **fields)
        self._write(address, data)
