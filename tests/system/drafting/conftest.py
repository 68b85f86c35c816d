# SPDX-License-Identifier: Apache-2.0
import dataclasses
from typing import Any

import pytest

from ahasd.system.drafting.base import DraftToken, Judged
from ahasd.system.workload.trace import load_trace


@pytest.fixture(scope="session")
def shipped():
    return load_trace("smollm2-rtn4")


_PLAIN = DraftToken(token=1, entropy_nats=0.5, p_token=0.5, p_top1=0.5, p_top2=0.25)


def _token(**known: Any) -> DraftToken:
    return dataclasses.replace(_PLAIN, **known)


@pytest.fixture(scope="session")
def token():
    """Build a drafted token from what matters about it."""
    return _token


@pytest.fixture(scope="session")
def judged():
    """Build a verdict on `drafted` tokens that are alike."""

    def build(drafted, accepted, round_ps=None, **known):
        return Judged((_token(**known),) * drafted, accepted, round_ps)

    return build


def _lengths(drafting, batches):
    """Give batches of tokens to a rule, and return how many of each it took until it stopped."""
    taken = []
    for batch in batches:
        drafting.begin_batch()
        length = 0
        for token in batch:
            length += 1
            if drafting.observe(token).name != "CONTINUE":
                break
        taken.append(length)
    return taken


@pytest.fixture(scope="session")
def lengths():
    return _lengths
