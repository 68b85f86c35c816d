# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import pytest

from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform

# Few rows and columns: sixteen banks of rows of four bursts.
SMALL = {"channels": 1, "ranks": 1, "rows": 4096, "row_bytes": 128}


@pytest.fixture(params=["lpddr5-6400", "lpddr5x-8533", "hbm2", "hbm3-5200"])
def timing(request):
    return replace(load_timing(request.param), channels=1, ranks=1)


@pytest.fixture
def lpddr5():
    return replace(load_timing("lpddr5-6400"), channels=1, ranks=1)


@pytest.fixture
def small(timing):
    return replace(timing, **SMALL)


@pytest.fixture
def platform():
    return load_platform("mobile-paper")


@pytest.fixture
def model():
    return load_model
