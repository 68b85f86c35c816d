# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.system.devices.capacity import rank_map
from ahasd.system.devices.command import CommandDevices
from ahasd.system.devices.report.build import Report, build
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

CONTEXT = 256


@pytest.fixture(scope="session")
def report_of():
    """Return what makes the report of a pair on a packaged platform."""

    def made(platform: str, draft: str, target: str, *, contention=True, **overrides) -> Report:
        machine = load_platform(platform, overrides)
        shapes = load_model(draft), load_model(target)
        ranks = rank_map(machine, *shapes, CONTEXT)
        return build(CommandDevices(machine, *shapes, ranks), ranks, CONTEXT, contention=contention)

    return made


@pytest.fixture(scope="session")
def report(report_of) -> Report:
    """Return that of small models."""
    return report_of("mobile-paper", "opt-1.3b", "opt-6.7b")
