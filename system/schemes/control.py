# SPDX-License-Identifier: Apache-2.0
"""Drafting control where there is none."""

from collections.abc import Callable

from ahasd.sim.kernel import Kernel


class AlwaysGo:
    """Implements `ahasd.sim.ports.Control`: every batch is granted and drafting goes on."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def listen(self, decided: Callable[[bool, str], None]) -> None:
        """See `Control`."""
        self._decided = decided

    def draft(self, entropy_nats: float) -> None:
        """See `Control`."""
        self._kernel.after(0, self._decided, True, "predicted")

    def verdict(self, full: bool) -> None:
        """See `Control`; nothing depends on it."""

    def start_sequence(self) -> None:
        """See `Control`; there is no history."""
