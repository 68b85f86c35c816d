# SPDX-License-Identifier: Apache-2.0
"""A trace played as a target of any length, and the draft model's look-ahead over it."""

from typing import Literal

from ahasd import UserError
from ahasd.system.drafting.base import DraftToken
from ahasd.system.workload.position import by_position
from ahasd.system.workload.trace import Request, Trace

DEFAULT_PROMPT_LEN = 128  # where the trace does not say

Playback = Literal["stream", "requests"]


class DraftTable:
    """The rollouts of a trace as plain Python numbers, which are cheap to look up one by one."""

    def __init__(self, trace: Trace) -> None:
        self.k_max = trace.k_max
        self._tok = trace.tok.tolist()
        self._h_nats = trace.h_nats.tolist()
        self._p_tok = trace.p_tok.tolist()
        self._p_top1 = trace.p_top1.tolist()
        self._p_top2 = trace.p_top2.tolist()
        self._a_hat = None if trace.a_hat is None else trace.a_hat.tolist()
        self._right = _right_ahead(trace)

    def entry(self, row: int, step: int) -> DraftToken:
        """Return rollout step `step` (from 0) of `row`; beyond k_max - 1, the last, off trace."""
        held = min(step, self.k_max - 1)
        return DraftToken(
            token=self._tok[row][held],
            entropy_nats=self._h_nats[row][held],
            p_token=self._p_tok[row][held],
            p_top1=self._p_top1[row][held],
            p_top2=self._p_top2[row][held],
            off_trace=step > held,
            a_hat=None if self._a_hat is None else self._a_hat[row][held],
            next_right=step + 1 < self._right[row],
        )

    def first_right(self, row: int) -> bool:
        """Return whether the first step of a row is right."""
        return self._right[row] > 0


class TargetStream:
    """The target's own tokens at simulated positions 0..length-1.

    The requests of the trace are played back to back, in order, and from the first again until
    `tokens` positions are filled; the last instance may be cut. The seams between them are the
    same in both playbacks, what differs is the KV cache: in `stream` it grows through the whole
    run (one long sequence), in `requests` each instance starts from its own prompt.

    Parameters
    ----------
    trace : Trace
        Of a bernoulli trace only what was accepted at each position is played; see `by_position`.
    tokens : int
        Positions to simulate, at least 1.
    playback : {"stream", "requests"}
        How the KV cache grows.

    Attributes
    ----------
    length : int
        `tokens`.
    table : DraftTable
        The draft side of the trace.
    tokens_are_real : bool
        False for a bernoulli trace. A run whose tokens equal the target's then shows that every
        position was accounted for once, in order, and not that a text came out right.

    Raises
    ------
    UserError
        If an argument is out of its range.
    """

    def __init__(self, trace: Trace, tokens: int, playback: Playback) -> None:
        if tokens < 1:
            raise UserError(f"tokens must be at least 1, but it is {tokens}; ask for one or more")
        if playback not in ("stream", "requests"):
            raise UserError(
                f"playback must be stream or requests, but it is {playback!r}; choose one"
            )
        self.tokens_are_real = trace.coupling != "bernoulli"
        if not self.tokens_are_real:
            trace = by_position(trace)
        self.length = tokens
        self.table = DraftTable(trace)
        self._playback = playback
        self._requests = trace.requests
        self._rows = trace.rows
        self._y = trace.y.tolist()
        self._request_of_row = trace.seq.tolist()

    def row(self, pos: int) -> int:
        """Return the row of the trace that is anchored at a position.

        Raises
        ------
        IndexError
            If the position is not in 0..length-1; so do all methods here.
        """
        if not 0 <= pos < self.length:
            raise IndexError(f"position must lie in 0..{self.length - 1}, but it is {pos}")
        return pos % self._rows

    def target(self, pos: int) -> int:
        """Return the target's own token at a position."""
        return self._y[self.row(pos)]

    def request(self, pos: int) -> Request:
        """Return the request of the trace whose instance holds a position."""
        return self._requests[self._request_of_row[self.row(pos)]]

    def instance(self, pos: int) -> int:
        """Return which instance holds a position: 0, 1, 2, ... along the stream."""
        return pos // self._rows * len(self._requests) + self.request(pos).number

    def segment_end(self, pos: int) -> int:
        """Return the position after the last one of the instance that holds `pos`.

        It is cut at `length`. A chain of drafts never crosses it.
        """
        request = self.request(pos)
        return min(pos - self.row(pos) + request.first_row + request.length, self.length)

    def context(self, pos: int) -> int:
        """Return the length of the KV cache before a position, in tokens, the prompt included."""
        if self._playback == "stream":
            self.row(pos)  # checks the range
            return _prompt_len(self._requests[0]) + pos
        request = self.request(pos)
        return _prompt_len(request) + self.row(pos) - request.first_row


class DraftChain:
    """What the draft model drafts, token by token, from the committed prefix before a position.

    While every token so far equals the target's, the next one is step 0 of the row anchored at its
    own position: exact at any length. After a first wrong token at position m, the chain goes on in
    the rollout of row m, exact to its k_max steps; beyond that the last step is repeated and marked
    `off_trace`. To restart elsewhere, make a new chain.

    Parameters
    ----------
    stream : TargetStream
        The target that the prefix comes from.
    pos : int
        First position to draft, 0..stream.length; at stream.length there is nothing to draft.
    end : int or None
        Where the request instance ends; by default, where that of `pos` does. A chain that begins
        behind the last token of an instance has nothing to draft.

    Attributes
    ----------
    position : int
        Next position to draft.
    on_path : bool
        Whether every token so far equals the target's.
    """

    __slots__ = ("_end", "_row", "_step", "_stream", "on_path", "position")

    def __init__(self, stream: TargetStream, pos: int, end: int | None = None) -> None:
        self._stream = stream
        if end is None:
            end = pos if pos == stream.length else stream.segment_end(pos)
        self._end = end
        self._row = 0
        self._step = 0
        self.position = pos
        self.on_path = True

    @property
    def at_end(self) -> bool:
        """Whether the request instance ends here, so that nothing more may be drafted."""
        return self.position == self._end

    @property
    def next_right(self) -> bool:
        """Whether the token at `position` will be right: only an oracle may look at it."""
        stream = self._stream
        return self.on_path and stream.table.first_right(stream.row(self.position))

    def next(self) -> DraftToken:
        """Draft the token at `position` and advance by one.

        Raises
        ------
        IndexError
            If the chain is at its end.
        """
        if self.at_end:
            raise IndexError(f"the request ends at position {self._end}: nothing may be drafted")
        stream = self._stream
        if self.on_path:
            self._row = stream.row(self.position)
            self._step = 0
        token = stream.table.entry(self._row, self._step)
        if self.on_path:
            self.on_path = token.token == stream.target(self.position)
        self._step += 1
        self.position += 1
        return token


def _right_ahead(trace: Trace) -> list[int]:
    """Return how many drafts from each row on are right, beyond the end of the rollout, too."""
    right = trace.run.tolist()
    for request in trace.requests:
        last = request.first_row + request.length - trace.k_max - 1  # that has a successor
        for row in range(last, request.first_row - 1, -1):
            if right[row] == trace.k_max:
                right[row] += right[row + trace.k_max]
    return right


def _prompt_len(request: Request) -> int:
    return DEFAULT_PROMPT_LEN if request.prompt_len is None else request.prompt_len
