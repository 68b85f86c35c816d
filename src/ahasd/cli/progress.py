# SPDX-License-Identifier: Apache-2.0
"""Progress of long work, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def token_progress(label: str, tokens: int) -> Iterator[Callable[[int], None]]:
    """Show a bar of emitted tokens; yields the function that moves it.

    The bar of work that fails goes away: the error's one line stands alone.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(label, total=tokens)
        try:
            yield lambda emitted: bars.update(task, completed=emitted)
        except BaseException:
            bars.update(task, visible=False)
            raise
