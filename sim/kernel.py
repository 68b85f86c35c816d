# SPDX-License-Identifier: Apache-2.0
"""The event kernel: integer picoseconds, a heap, and a total order."""

import heapq
from collections.abc import Callable
from typing import Any

CLOCK = 0
"""Priority of clock edges: at one instant they come first and so see the old values."""
MODEL = 1
"""Priority of everything else."""


class Event:
    """A call that is due; `cancel` takes it back."""

    __slots__ = ("action", "arguments")

    def __init__(self, action: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.action: Callable[..., None] | None = action
        self.arguments = arguments

    def cancel(self) -> None:
        """Make the event do nothing when its time comes."""
        self.action = None


class Kernel:
    """Call functions in the order of (time, priority, order of request)."""

    def __init__(self) -> None:
        self.now_ps = 0
        self._serial = 0
        self._heap: list[tuple[int, int, int, Event]] = []
        self._stopped = False

    def at(
        self, time_ps: int, action: Callable[..., None], *arguments: Any, priority: int = MODEL
    ) -> Event:
        """Call `action(*arguments)` at a time.

        Raises
        ------
        ValueError
            The time is past.
        """
        if time_ps < self.now_ps:
            raise ValueError(f"event at {time_ps} ps is before now, {self.now_ps} ps")
        event = Event(action, arguments)
        heapq.heappush(self._heap, (time_ps, priority, self._serial, event))
        self._serial += 1
        return event

    def after(self, delay_ps: int, action: Callable[..., None], *arguments: Any) -> Event:
        """Call `action(*arguments)` a delay [ps] from now."""
        return self.at(self.now_ps + delay_ps, action, *arguments)

    @property
    def next_ps(self) -> int | None:
        """When the next event is due; None if there is none."""
        while self._heap and self._heap[0][3].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def stop(self) -> None:
        """Return from `run` after the present event."""
        self._stopped = True

    def run(self) -> None:
        """Call until nothing is due or an event asks to stop."""
        self._stopped = False
        while self._heap and not self._stopped:
            time_ps, _, _, event = heapq.heappop(self._heap)
            if event.action is not None:
                self.now_ps = time_ps
                event.action(*event.arguments)
