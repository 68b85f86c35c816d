# SPDX-License-Identifier: Apache-2.0
"""The draft-length control as the PIM sequencer sees it: a token in, a decision out."""

from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Token
from ahasd.sim.ports import Engine

REGISTERS = ("rule", "entropy_limit", "doubt_limit", "k_max", "min_len", "keep_tripping_token")


class DraftLengthControl:
    """Ask the unit about one token at a time, in two edges: one takes it, one its decision.

    Its clock stands still while nobody asks: it rests then, so an edge would change nothing.

    Parameters
    ----------
    engine
        The unit, just after its reset; every register is 0.
    params
        Its parameters.
    period_ps
        Of its clock, for waveforms and messages.

    Attributes
    ----------
    edges
        Of the clock, so far.
    """

    def __init__(self, engine: Engine, params: DraftctlParams, period_ps: int = 1250) -> None:
        self.params = params
        self.edges = 0
        self._engine = engine
        self._period_ps = period_ps
        self._pins = dict.fromkeys(REGISTERS, 0) | {
            "token__valid": 0,
            "token__payload": 0,
            "decision__ready": 1,
        }

    def write(self, **registers: int) -> None:
        """Set registers, from the next token on; the others stay."""
        assert registers.keys() <= set(REGISTERS)
        self._pins |= registers

    def decide(self, token: Token) -> Decision:
        """Offer a token and return the decision on it.

        Raises
        ------
        AssertionError
            The unit does not keep its contract: it takes a token where no decision waits, and
            answers one cycle later.
        """
        offer = {"token__valid": 1, "token__payload": token.pack(self.params)}
        taken = self._edge(self._pins | offer)
        answered = self._edge(self._pins)
        assert taken["token__ready"], "the token was not taken"
        assert answered["decision__valid"], "the token was not answered"
        return Decision.unpack(answered["decision__payload"])

    def _edge(self, pins: dict[str, int]) -> dict[str, int]:
        self.edges += 1
        return self._engine.step(pins, 1, self.edges * self._period_ps)
