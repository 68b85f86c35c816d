# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from ahasd.system.workload.trace import Trace


def _build(requests, entropies=None, vocab_size=1000, **header):
    """Build a trace from [(targets, rollouts), ...]; run is counted here, in plain Python."""
    rows = []
    for number, (targets, rollouts) in enumerate(requests):
        for t, rollout in enumerate(rollouts):
            run = 0
            for guess, truth in zip(rollout, targets[t:], strict=False):
                if guess != truth:
                    break
                run += 1
            rows.append((number, t, targets[t], rollout, run))
    seq, t, y, tok, run = zip(*rows, strict=True)
    shape = (len(tok), len(tok[0]))
    full = {"schema": "sd-anchored/1", "coupling": "greedy", "k_max": shape[1]}
    return Trace(
        header={**full, "vocab_size": vocab_size, **header},
        seq=np.array(seq, np.int32),
        t=np.array(t, np.int32),
        y=np.array(y, np.int32),
        tok=np.array(tok, np.int32),
        h_nats=np.array(np.ones(shape) if entropies is None else entropies, np.float16),
        p_tok=np.full(shape, 0.5, np.float16),
        p_top1=np.full(shape, 0.5, np.float16),
        p_top2=np.full(shape, 0.25, np.float16),
        run=np.array(run, np.uint8),
    )


@pytest.fixture
def build_trace():
    return _build
