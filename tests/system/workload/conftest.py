# SPDX-License-Identifier: Apache-2.0
import io
import json
import zipfile

import numpy as np
import pytest

from ahasd.system.workload.trace import Trace, load_trace


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
        p_top1=np.full(shape, 0.625, np.float16),
        p_top2=np.full(shape, 0.25, np.float16),
        run=np.array(run, np.uint8),
    )


@pytest.fixture
def build_trace():
    return _build


@pytest.fixture(scope="session")
def shipped():
    return load_trace("smollm2-rtn4")


@pytest.fixture
def parts(shipped):
    """Header and columns of the shipped trace, free to be damaged."""
    return dict(shipped.header), {name: a.copy() for name, a in shipped.columns().items()}


def _pack(path, header, columns):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    members = {"header": np.frombuffer(header, np.uint8), **columns}
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in members.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.asarray(values), allow_pickle=True)
            archive.writestr(f"{name}.npy", data.getvalue())
    return path


@pytest.fixture
def pack():
    """Write header and columns as they are, whether valid or not."""
    return _pack


@pytest.fixture
def micro_trace(build_trace):
    """Two requests of 3 and 2 tokens, k_max 3; row 1 and row 4 go wrong at once, row 0 later."""
    return build_trace(
        [
            ([10, 11, 12], [[10, 91, 92], [91, 92, 93], [12, 94, 95]]),
            ([20, 21], [[20, 81, 82], [81, 82, 83]]),
        ],
        entropies=[
            [0.0, 0.1, 0.2],
            [0.1, 0.2, 1.2],
            [2.0, 2.1, 2.2],
            [3.0, 3.1, 3.2],
            [4.0, 4.1, 4.2],
        ],
        prompt_len=[7, 9],
        category=["chat", "code"],
    )
