# SPDX-License-Identifier: Apache-2.0
"""And-inverter graphs: building, evaluation, and the AIGER file that model checkers read.

A literal is twice the number of a variable, plus one if it is inverted; 0 is false and 1 true, as
in AIGER (fmv.jku.at/aiger, format 20071012).
"""

from collections.abc import Iterable, Mapping, Sequence

FALSE, TRUE = 0, 1


class Aig:
    """A graph of two-input gates over free variables."""

    def __init__(self) -> None:
        self._gates: list[tuple[int, int] | None] = [None]  # by variable; None is no gate
        self._known: dict[tuple[int, int], int] = {}

    def free(self) -> int:
        """Add a variable: an input, or the present value of a register."""
        self._gates.append(None)
        return 2 * (len(self._gates) - 1)

    def both(self, a: int, b: int) -> int:
        """Return a literal for a and b."""
        if a > b:
            a, b = b, a
        if a == FALSE or a == b ^ 1:
            return FALSE
        if a in (TRUE, b):
            return b
        if (a, b) not in self._known:
            self._gates.append((a, b))
            self._known[a, b] = 2 * (len(self._gates) - 1)
        return self._known[a, b]

    def either(self, a: int, b: int) -> int:
        """Return a literal for a or b."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        """Return a literal for a exclusive-or b."""
        return self.both(self.both(a, b) ^ 1, self.either(a, b))

    def choose(self, condition: int, a: int, b: int) -> int:
        """Return a literal for a if the condition holds, else b."""
        return self.either(self.both(condition, a), self.both(condition ^ 1, b))

    def any(self, literals: Iterable[int]) -> int:
        """Return a literal for the disjunction."""
        found = FALSE
        for literal in literals:
            found = self.either(found, literal)
        return found

    def evaluate(
        self, leaves: Mapping[int, bool | None], missing: bool | None = None
    ) -> list[bool | None]:
        """Return the value of every literal, given those of variables; None is unknown.

        Parameters
        ----------
        leaves
            Value by literal, not inverted.
        missing
            Value of a variable that has none there.
        """
        values: list[bool | None] = [False, True]
        for number, gate in enumerate(self._gates[1:], start=1):
            if gate is None:
                value = leaves.get(2 * number, missing)
            else:
                a, b = values[gate[0]], values[gate[1]]
                value = False if a is False or b is False else None if None in (a, b) else True
            values += (value, None if value is None else not value)
        return values

    def aiger(self, bad: int, registers: Mapping[int, int]) -> tuple[bytes, list[int]]:
        """Write what one literal depends on, over all cycles, as binary AIGER.

        Parameters
        ----------
        bad
            The only output.
        registers
            Next value by present value, not inverted; every register starts at 0. The first one
            is always written, as ABC wants one.

        Returns
        -------
        tuple
            The file, and its inputs as literals, in order.
        """
        reached: set[int] = set()
        waiting = [bad >> 1, min(registers) >> 1]
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            gate = self._gates[number]
            waiting += [literal >> 1 for literal in gate or ()]
            if 2 * number in registers:
                waiting.append(registers[2 * number] >> 1)
        ordered = sorted(reached - {0})
        inputs = [2 * n for n in ordered if self._gates[n] is None and 2 * n not in registers]
        held = [2 * n for n in ordered if 2 * n in registers]
        gates = [2 * n for n in ordered if self._gates[n] is not None]
        place = {0: 0}
        for literal in (*inputs, *held, *gates):
            place[literal >> 1] = len(place)

        def moved(literal: int) -> int:
            return 2 * place[literal >> 1] | literal & 1

        lines = [
            f"aig {len(place) - 1} {len(inputs)} {len(held)} 1 {len(gates)}",
            *(str(moved(registers[literal])) for literal in held),
            str(moved(bad)),
        ]
        text = bytearray("".join(line + "\n" for line in lines).encode())
        for literal in gates:
            gate = self._gates[literal >> 1]
            assert gate is not None
            low, high = sorted(map(moved, gate))
            text += _delta(moved(literal) - high) + _delta(high - low)
        return bytes(text), inputs


def _delta(number: int) -> bytes:
    """Encode a difference, seven bits a byte, lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def replay(
    aig: Aig, registers: Mapping[int, int], inputs: Sequence[Mapping[int, bool | None]]
) -> list[list[bool | None]]:
    """Return the value of every literal in every cycle.

    Parameters
    ----------
    aig, registers
        As for `Aig.aiger`.
    inputs
        Values by literal, cycle by cycle; one that is missing is 0.
    """
    state: dict[int, bool | None] = dict.fromkeys(registers, False)
    cycles = []
    for given in inputs:
        values = aig.evaluate({**state, **given}, missing=False)
        cycles.append(values)
        state = {literal: values[following] for literal, following in registers.items()}
    return cycles
