# SPDX-License-Identifier: Apache-2.0
"""How a device spends its time."""

from collections.abc import Callable, Mapping
from typing import Literal

Kind = Literal["busy", "blocked", "idle"]


class Activity:
    """Time per state; the states' times add up to the time accounted for.

    Parameters
    ----------
    kinds
        Every state, and whether a device in it is busy, blocked (has work and may not) or idle
        (has none).
    first
        State at time 0.
    """

    def __init__(self, kinds: Mapping[str, Kind], first: str) -> None:
        self._kinds = dict(kinds)
        self._since_ps = 0
        self.state = first
        self.state_ps = dict.fromkeys(kinds, 0)
        self.watch: Callable[[int], None] = lambda now_ps: None
        """Called with the time, ps, before every change."""

    def enter(self, state: str, now_ps: int) -> None:
        """Change to a state, or account for the present one up to now."""
        self.watch(now_ps)
        self.state_ps[self.state] += now_ps - self._since_ps
        self.state = state
        self._since_ps = now_ps

    def time_ps(self, state: str, now_ps: int) -> int:
        """Return the time in a state up to now."""
        running_ps = now_ps - self._since_ps if state == self.state else 0
        return self.state_ps[state] + running_ps

    def kind_ps(self, kind: Kind) -> int:
        """Return the time in states of a kind."""
        return sum(time for state, time in self.state_ps.items() if self._kinds[state] == kind)
