# SPDX-License-Identifier: Apache-2.0
"""When tokens came. Under speculation they come in chunks: what a pass emits is out at once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ahasd.system.metrics.spread import percentiles

PS_PER_S = 10**12


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The tokens of one request.

    Attributes
    ----------
    begin_ps
        When it could begin: the end of the request before it, or 0.
    chunks
        Tokens of each chunk, at least 1.
    end_ps
        When it was out, ps, ascending.
    """

    begin_ps: int
    chunks: Sequence[int]
    end_ps: Sequence[int]

    @property
    def ttft_s(self) -> float:
        """Time to the first token, s."""
        return (self.end_ps[0] - self.begin_ps) / PS_PER_S

    @property
    def e2e_s(self) -> float:
        """Time to the last token, s."""
        return (self.end_ps[-1] - self.begin_ps) / PS_PER_S

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first one, s; None with a single token."""
        after = sum(self.chunks) - 1
        return (self.end_ps[-1] - self.end_ps[0]) / after / PS_PER_S if after else None

    @property
    def gaps_ps(self) -> list[int]:
        """Times between chunks, ps."""
        return [
            later - earlier
            for earlier, later in zip(self.end_ps[:-1], self.end_ps[1:], strict=True)
        ]


def latencies(requests: Sequence[Arrivals]) -> dict[str, dict[str, float | None]]:
    """Return the percentiles over requests, chunks and tokens, s.

    Returns
    -------
    dict
        `ttft_s`, `tpot_s` and `e2e_s` over requests; `itl_s`, times between chunks; `token_s`, the
        same divided by the tokens of the chunk that came, over tokens. Each holds p50, p90, p99.
    """
    gaps: Counter[float] = Counter()
    tokens: Counter[float] = Counter()
    for request in requests:
        for gap_ps, chunk in zip(request.gaps_ps, request.chunks[1:], strict=True):
            gaps[gap_ps / PS_PER_S] += 1
            tokens[gap_ps / chunk / PS_PER_S] += chunk
    tpot = [each.tpot_s for each in requests]
    found: dict[str, Any] = {
        "ttft_s": Counter(each.ttft_s for each in requests),
        "tpot_s": Counter(each for each in tpot if each is not None),
        "itl_s": gaps,
        "token_s": tokens,
        "e2e_s": Counter(each.e2e_s for each in requests),
    }
    return {name: percentiles(counted) for name, counted in found.items()}
