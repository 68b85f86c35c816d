# SPDX-License-Identifier: Apache-2.0
"""The anchored rows of a draft that is a function of the committed prefix before each position."""

from typing import Any

import numpy as np
import numpy.typing as npt


def runs(right: npt.NDArray[np.bool_], k_max: int) -> npt.NDArray[np.int64]:
    """Return how many leading tokens of each rollout are right.

    Parameters
    ----------
    right : numpy.ndarray of bool, shape (requests, rows + k_max - 1)
        Whether the draft's first token after the committed prefix is the target's.
    k_max : int
        Steps of a rollout, at least 1.

    Returns
    -------
    numpy.ndarray of int, shape (requests, rows), values 0..k_max
    """
    windows = np.lib.stride_tricks.sliding_window_view(right, k_max, axis=1)
    return np.logical_and.accumulate(windows, axis=2).sum(axis=2)


def rollouts(values: npt.NDArray[Any], run: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return one rollout for each anchor.

    While a rollout is right, each step is what the draft says after the committed prefix there.
    From its first wrong token at position m, it goes on in what follows that token: all rollouts
    that meet a wrong token at m have seen the same prefix and go on alike.

    Parameters
    ----------
    values : numpy.ndarray, shape (requests, rows + k_max - 1, k_max)
        At each position, what the draft says after the committed prefix (step 0) and, should that
        be wrong, in the steps after it.
    run : numpy.ndarray of int, shape (requests, rows)
        From `runs`.

    Returns
    -------
    numpy.ndarray, shape (requests, rows, k_max)
    """
    requests, rows = run.shape
    step = np.arange(values.shape[2])
    on_path = np.minimum(step, run[:, :, None])
    position = np.arange(rows)[:, None] + on_path
    return values[np.arange(requests)[:, None, None], position, step - on_path]
