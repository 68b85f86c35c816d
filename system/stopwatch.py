# SPDX-License-Identifier: Apache-2.0
"""Wall time of a run by what it went into."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

Part = TypeVar("Part")


class Stopwatch:
    """Adds up the time that is spent in methods of some objects.

    Attributes
    ----------
    spent_s
        Time by what it is booked on, s. A timed method that calls another one counts for both.
    """

    def __init__(self) -> None:
        self.spent_s = Counter[str]()

    def on(self, part: Part, what: str, methods: Sequence[str]) -> Part:
        """Return an object that acts as `part` does, while some of its methods are timed.

        Parameters
        ----------
        part
            Any object; it stays as it is.
        what
            What the time is booked on.
        methods
            Names of the methods.
        """
        return cast(Part, _Timed(part, {name: self._timed(part, what, name) for name in methods}))

    def _timed(self, part: object, what: str, name: str) -> Callable[..., Any]:
        method = getattr(part, name)

        def timed(*args: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*args, **options)
            finally:
                self.spent_s[what] += time.perf_counter() - began

        return timed


class _Timed:
    """Has timed methods, and everything else from another object."""

    def __init__(self, part: object, methods: dict[str, Callable[..., Any]]) -> None:
        self._part = part
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)
