# SPDX-License-Identifier: Apache-2.0
"""A user's own rule, from a Python file."""

import math
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ahasd import UserError
from ahasd.system.drafting.base import DraftingRule, DraftToken, Judged
from ahasd.system.drafting.options import RuleOptions


@dataclass(frozen=True)
class FileRule(DraftingRule):
    """Pass every call on to a user's rule, and report what goes wrong there in one line.

    Attributes
    ----------
    path : str
        Its file.
    title : str
        Its name in the file.
    inner : DraftingRule
        The rule; its state lives in it.

    Raises
    ------
    UserError
        From every method, if the user's raises anything, or `trips` returns no bool.
    """

    name: ClassVar[str] = "file"

    path: str
    title: str
    inner: DraftingRule

    def begin_request(self) -> None:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.begin_request"):
            self.inner.begin_request()

    def begin_batch(self) -> None:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.begin_batch"):
            self.inner.begin_batch()

    def trips(self, index: int, token: DraftToken) -> bool:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.trips"):
            answer: object = self.inner.trips(index, token)
        if not isinstance(answer, bool | np.bool_):
            raise UserError(
                f"{self.path}: rule {self.title} must return True or False for every token, but it "
                f"returned {answer!r:.40}; mend it"
            )
        return bool(answer)

    def begin_chain(self) -> None:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.begin_chain"):
            self.inner.begin_chain()

    def skips(self, right: bool) -> bool:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.skips"):
            return bool(self.inner.skips(right))

    def feedback(self, judged: Judged) -> None:
        """See `DraftingRule`."""
        with _reported(self.path, f"{self.title}.feedback"):
            self.inner.feedback(judged)

    def adapted(self) -> dict[str, float]:
        """See `DraftingRule`.

        Raises
        ------
        UserError
            The rule does not return numbers by name.
        """
        with _reported(self.path, f"{self.title}.adapted"):
            found: Any = self.inner.adapted()
        if not isinstance(found, dict) or not all(
            isinstance(name, str) and isinstance(value, int | float) and math.isfinite(value)
            for name, value in found.items()
        ):
            raise UserError(
                f"{self.path}: {self.title}.adapted must return finite numbers by name, but it "
                f"returned {found!r:.40}; mend it"
            )
        return found


@dataclass(frozen=True)
class FunctionRule(DraftingRule):
    """A rule without state: a function of place and token.

    Attributes
    ----------
    function : callable
        Takes what `trips` takes, and returns what that returns.
    """

    name: ClassVar[str] = "function"

    function: Callable[[int, DraftToken], Any]

    def trips(self, index: int, token: DraftToken) -> bool:
        """Return what the function says."""
        return self.function(index, token)


def load_rule(path: str, title: str) -> FileRule:
    """Run a Python file and return the rule of a name in it, in its first state.

    Parameters
    ----------
    path
        The file. It is run anew by every call, as a module of its own.
    title
        A class that inherits from `DraftingRule` and is made without arguments, or a function of
        `index` and `token`.

    Raises
    ------
    UserError
        If the file cannot be read or run, or the name is no rule.
    """
    module = _run(path)
    found: Any = getattr(module, title, None)
    if found is None:
        raise UserError(
            f"{path}: there is no {title!r} in this file; name a class or a function that it holds"
        )
    if isinstance(found, type) and DraftingRule in found.__mro__:
        with _reported(path, title):
            return FileRule(path, title, found())
    if callable(found) and not isinstance(found, type):
        return FileRule(path, title, FunctionRule(found))
    raise UserError(
        f"{path}: {title} is no drafting rule; let it be a class that inherits from "
        "ahasd.system.drafting.base.DraftingRule, or a function of index and token"
    )


def _run(path: str) -> ModuleType:
    file = Path(path)
    if not file.is_file():
        raise UserError(f"there is no rule file {path}; correct draft.path")
    try:
        source = file.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UserError(f"cannot read rule file {path}: {reason}; make it readable") from error
    # Not imported, so that no byte code is left beside the user's file. Dataclasses look their
    # module up by name.
    module = ModuleType(f"ahasd user rule {path}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    with _reported(path, "the file"):
        exec(compile(source, path, "exec"), module.__dict__)
    return module


@contextmanager
def _reported(path: str, what: str) -> Iterator[None]:
    """Turn whatever the user's code raises into one line with the place in the user's file."""
    try:
        yield
    except (Exception, SystemExit) as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == path
        ]
        if isinstance(error, SyntaxError) and error.filename == path:
            lines.append(error.lineno)
        place = f"{path}, line {lines[-1]}" if lines else path
        told = " ".join(str(error).split())
        reason = f"{type(error).__name__}: {told}" if told else type(error).__name__
        raise UserError(
            f"{place}: {what} of a user's rule failed with {reason}; mend it"
        ) from error


class FileOptions(RuleOptions):
    """Options of a user's own rule; see `load_rule`."""

    rule: Literal["file"] = "file"
    path: str = Field(
        min_length=1, description="Python file that holds the rule", examples=["margin.py"]
    )
    name: str = Field(min_length=1, description="class or function in it", examples=["Margin"])

    def build_rule(self, seed: int = 0) -> FileRule:
        """Return the rule, in its first state; see the base class for errors."""
        return load_rule(self.path, self.name)
