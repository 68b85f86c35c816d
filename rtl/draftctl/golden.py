# SPDX-License-Identifier: Apache-2.0
"""Bit- and cycle-exact model of the draft-length control in plain integers."""

from collections.abc import Mapping

from ahasd.rtl.draftctl.params import Decision, DraftctlParams, Outcome, Rule, Token


class DraftctlGolden:
    """What the draft-length control does, first per token, then per clock edge.

    Parameters
    ----------
    params
        Sizes; the same object builds the hardware.
    rule, entropy_limit, doubt_limit, k_max, min_len, keep_tripping_token
        The registers of those names, used by `token` when it is called directly. `step` takes them
        from the pins instead.
    """

    latency = 1
    interval = 1

    def __init__(
        self,
        params: DraftctlParams,
        *,
        rule: Rule = Rule.FIXED,
        entropy_limit: int = 0,
        doubt_limit: int = 0,
        k_max: int = 1,
        min_len: int = 1,
        keep_tripping_token: bool = True,
    ) -> None:
        self.params = params
        self.rule = rule
        self.entropy_limit = entropy_limit
        self.doubt_limit = doubt_limit
        self.k_max = k_max
        self.min_len = min_len
        self.keep_tripping_token = keep_tripping_token
        self._begin_batch()
        self._answer = Decision(Outcome.CONTINUE, 0)  # keeps its value after it was taken
        self._answer_valid = False

    def _begin_batch(self) -> None:
        self.index = 0
        self.doubt = 0

    def token(self, token: Token) -> Decision:
        """Take a token into the current batch, or as the first of a new one, and decide."""
        if token.first:
            self._begin_batch()
        doubt_before = self.doubt
        self.index += 1
        self.doubt = min(self.doubt + token.doubt, self.params.doubt_max)
        tripped = {
            Rule.FIXED: False,
            Rule.ENTROPY: token.entropy > self.entropy_limit,
            Rule.PRODUCT: self.doubt > self.doubt_limit,
            Rule.LAGGED_PRODUCT: doubt_before > self.doubt_limit,
        }[self.rule]
        length = self.index if self.keep_tripping_token else self.index - 1
        if self.index >= self.k_max:
            outcome = Outcome.KEEP
        elif tripped and length >= max(self.min_len, 1):
            outcome = Outcome.KEEP if self.keep_tripping_token else Outcome.DROP
        else:
            outcome = Outcome.CONTINUE
        decision = Decision(outcome, self.index)
        if outcome is not Outcome.CONTINUE:
            self._begin_batch()
        return decision

    def step(self, pins: Mapping[str, int], clocks: int = 1) -> dict[str, int]:
        """Take one edge of the PIM clock.

        Parameters
        ----------
        pins
            Input pins by their Verilog names, all of them.
        clocks
            1, or 0 to look at the outputs without an edge.

        Returns
        -------
        dict
            Output pins by their Verilog names, as they stand just before the edge.
        """
        accept = not self._answer_valid or bool(pins["decision__ready"])
        outputs = {
            "token__ready": int(accept),
            "decision__valid": int(self._answer_valid),
            "decision__payload": self._answer.pack(),
            "idle_pim": int(not self._answer_valid),
        }
        if clocks and accept:
            self._answer_valid = bool(pins["token__valid"])
            if self._answer_valid:
                self.rule = Rule(pins["rule"])
                self.entropy_limit = pins["entropy_limit"]
                self.doubt_limit = pins["doubt_limit"]
                self.k_max = pins["k_max"]
                self.min_len = pins["min_len"]
                self.keep_tripping_token = bool(pins["keep_tripping_token"])
                self._answer = self.token(Token.unpack(pins["token__payload"], self.params))
        return outputs
