# SPDX-License-Identifier: Apache-2.0
"""What a scheme wants of the devices."""

from typing import Literal, Protocol

from ahasd.system.devices.work import Task
from ahasd.system.model import ModelShape

Model = Literal["draft", "target"]


class Devices(Protocol):
    """Gives every task of both devices; times in it are those without anybody beside."""

    target_shape: ModelShape

    @property
    def origin(self) -> object:
        """Who counts the simulated commands: itself, or who it has its times from."""
        ...

    @property
    def simulated_commands(self) -> int:
        """Memory commands that an engine was given so far; 0 where none are."""
        ...

    def draft(self, context: int) -> Task:
        """Return one draft step on the PIM with `context` tokens in the cache.

        Raises
        ------
        ValueError
            `context` is negative; so do all methods here.
        """
        ...

    def verify(self, rows: int, context: int) -> Task:
        """Return one pass of the target model on the NPU over `rows` token positions, 1 or more."""
        ...

    def preverify(self, rows: int, context: int) -> Task:
        """Return the same pass on the PIM ranks that hold the target model."""
        ...

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return a prompt's way through the target model on the NPU, and through the draft's."""
        ...
