# SPDX-License-Identifier: Apache-2.0
"""Progress of long work, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def token_progress(label: str, tokens: int) -> Iterator[Callable[..., None]]:
    """Show a bar of emitted tokens; yields the function that moves it: `moved(emitted)`.

    A second argument changes the label.

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
            yield lambda emitted, label=label: bars.update(
                task, completed=emitted, description=label
            )
        except BaseException:
            bars.update(task, visible=False)
            raise


@contextmanager
def steps_progress(steps: int, tokens: int) -> Iterator[Callable[[str, int], None]]:
    """Show one bar over several runs of as many tokens each; yields `moved(label, emitted)`."""
    done: set[str] = set()
    with token_progress("", steps * tokens) as progress:

        def moved(label: str, emitted: int) -> None:
            done.add(label)
            progress((len(done) - 1) * tokens + emitted, label)

        yield moved


@contextmanager
def rows_progress(label: str) -> Iterator[Callable[[int], None]]:
    """Count rows of a trace, whose number need not be known; nothing is shown without any."""
    columns = (TextColumn("{task.description}"), TextColumn("{task.completed} rows"))
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bars.add_task(label, total=None)

    def moved(rows: int) -> None:
        bars.start()
        bars.update(task, completed=rows)

    try:
        yield moved
    finally:
        if bars.live.is_started:
            bars.stop()
