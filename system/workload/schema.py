# SPDX-License-Identifier: Apache-2.0
"""The columns of trace schema `sd-anchored/1`, in the order in which files hold them."""

from dataclasses import dataclass

import numpy as np

SCHEMA = "sd-anchored/1"

COUPLINGS = ("greedy", "gumbel", "maximal", "bernoulli")
"""How a draft token is judged.

All but `bernoulli`: it is accepted if and only if it equals the target's token, which does not
depend on how far anybody drafted. Under `greedy` both take their likeliest token; under `gumbel`
both sample with the same noise; under `maximal` the target takes the draft's token by the test
min(1, p/q), else samples from what is left. `bernoulli` is that test where the trace does not hold
the token that followed from it: `run` was sampled, `y` is a text of its own.
"""

K_MAX_LIMIT = 255  # `run` is stored in eight bits


@dataclass(frozen=True, slots=True)
class Column:
    """What one column of a trace must look like.

    Attributes
    ----------
    dtypes : tuple of numpy.dtype
        Accepted types, the usual one first.
    per_step : bool
        Shape (rows, k_max) if true, else (rows,).
    required : bool
        False for the columns that a trace may lack.
    """

    dtypes: tuple[np.dtype, ...]
    per_step: bool
    required: bool = True


_INT32 = (np.dtype(np.int32),)
_UINT8 = (np.dtype(np.uint8),)
# Half precision keeps a relative error below 0.1 %; single is for entropies under 1e-4 nat.
_FLOAT = (np.dtype(np.float16), np.dtype(np.float32))

COLUMNS = {
    "seq": Column(_INT32, per_step=False),
    "t": Column(_INT32, per_step=False),
    "y": Column(_INT32, per_step=False),
    "tok": Column(_INT32, per_step=True),
    "h_nats": Column(_FLOAT, per_step=True),
    "p_tok": Column(_FLOAT, per_step=True),
    "p_top1": Column(_FLOAT, per_step=True),
    "p_top2": Column(_FLOAT, per_step=True),
    "run": Column(_UINT8, per_step=False),
    "beta": Column(_FLOAT, per_step=True, required=False),
    "p_tgt": Column(_FLOAT, per_step=True, required=False),
    "a_hat": Column(_FLOAT, per_step=True, required=False),
}
