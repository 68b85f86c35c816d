# SPDX-License-Identifier: Apache-2.0
"""Closed forms of speculative decoding with independent acceptance, to check simulations against.

Every draft token is accepted with probability `alpha`, independently of the others. One draft step
takes `t_draft_s`, one verification pass `t_pass_s`, whatever its number of rows. Rates are
committed tokens a second. The synchronous expectation is that of Leviathan et al. (arXiv
2211.17192, equation 1); the others follow by arithmetic, given with each function.
"""


def sync_tokens_per_round(alpha: float, draft_length: int) -> float:
    """Return the tokens that a synchronous round of `draft_length` drafts commits on average.

    (1 - alpha^(k+1)) / (1 - alpha), summed term by term so that alpha = 1 needs no special case:
    the accepted prefix and one token of the target's own.
    """
    _check(alpha, draft_length)
    return sum(alpha**accepted for accepted in range(draft_length + 1))


def sync_rate(alpha: float, draft_length: int, t_draft_s: float, t_pass_s: float) -> float:
    """Return tokens a second when drafting and verification alternate."""
    round_s = draft_length * t_draft_s + t_pass_s
    return sync_tokens_per_round(alpha, draft_length) / round_s


def async_rate(alpha: float, draft_length: int, t_draft_s: float, t_pass_s: float) -> float:
    """Return tokens a second when the next batch is drafted during the pass, flushed on a reject.

    One batch is in flight at most. Accepted in full (alpha^k): k tokens, for the longer of pass
    and draft; there is no token of the target's own, since the next batch already stands for it.
    Rejected after j: j + 1 tokens, for the pass and then a new draft from the corrected token.
    """
    _check(alpha, draft_length)
    full = alpha**draft_length
    draft_s = draft_length * t_draft_s
    tokens = draft_length * full + sum(
        alpha**accepted * (1 - alpha) * (accepted + 1) for accepted in range(draft_length)
    )
    return tokens / (full * max(t_pass_s, draft_s) + (1 - full) * (t_pass_s + draft_s))


def oracle_rate(alpha: float, t_draft_s: float, t_pass_s: float) -> float:
    """Return tokens a second when synchronous drafting stops just before the first reject.

    1/(1 - alpha) tokens for one pass and alpha/(1 - alpha) draft steps; both multiplied by
    1 - alpha, so that alpha = 1 gives the drafting rate.
    """
    _check(alpha, 1)
    return 1 / ((1 - alpha) * t_pass_s + alpha * t_draft_s)


def time_shared_s(
    draft_bytes: float,
    draft_rank_bytes_s: float,
    pass_bytes: float,
    pass_rank_bytes_s: float,
    ranks: int,
) -> float:
    """Return the seconds for a draft and a pass that take turns on all ranks.

    Parameters
    ----------
    draft_bytes, pass_bytes
        Bytes that the whole draft and the whole pass stream.
    draft_rank_bytes_s, pass_rank_bytes_s
        Bytes a second that one rank gives to either.
    ranks
        Ranks that both use.
    """
    return (draft_bytes / draft_rank_bytes_s + pass_bytes / pass_rank_bytes_s) / ranks


def best_split_s(
    draft_bytes: float,
    draft_rank_bytes_s: float,
    pass_bytes: float,
    pass_rank_bytes_s: float,
    ranks: int,
) -> float:
    """Return the seconds for the same work side by side, each on ranks of its own, split best.

    Never below `time_shared_s`, and equal to it where the best split is a whole number of ranks:
    bandwidth is conserved, so overlap gains nothing when both phases are limited by the ranks.

    Raises
    ------
    ValueError
        There are fewer than two ranks to split.
    """
    if ranks < 2:
        raise ValueError(f"ranks = {ranks} cannot be split: at least 2 are needed")
    return min(
        max(
            draft_bytes / (draft_rank_bytes_s * draft_ranks),
            pass_bytes / (pass_rank_bytes_s * (ranks - draft_ranks)),
        )
        for draft_ranks in range(1, ranks)
    )


def _check(alpha: float, draft_length: int) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha = {alpha} must be a probability, 0 to 1")
    if draft_length < 1:
        raise ValueError(f"draft_length = {draft_length} must be at least 1")
