# SPDX-License-Identifier: Apache-2.0
"""The draft-length control in Amaranth."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ahasd.rtl.draftctl.params import DraftctlParams, Outcome, Rule


class DraftctlUnit(wiring.Component):
    """Decide after each drafted token whether the batch ends.

    Timing: one decision a cycle, on `decision` one cycle after the transfer of its token. A held
    decision (`valid` and not `ready`) stalls `token`.

    A token with `first`, the one after an end, and the one after a reset begin a batch: place 1,
    no doubt. A reset clears everything.

    Parameters
    ----------
    params
        Sizes.

    Members
    -------
    token : stream of {first, entropy, doubt}, in
        A drafted token: whether it begins a batch, its entropy [nat], and -log2 of the probability
        [bit] that the rule multiplies; fixed point with entropy_fraction_width and
        doubt_fraction_width fraction bits.
    decision : stream of {outcome, place}, out
        Answer to every token: an `Outcome`, and the token's place in its batch, from 1.
    rule : Rule, in
        CSR: what trips a token.
    entropy_limit : unsigned(entropy_width), in
        CSR: entropy above which a token trips, in the format of the entropies.
    doubt_limit : unsigned(doubt_width), in
        CSR: sum of doubts above which a token trips, in the format of the doubts.
    k_max : unsigned(length_width), in
        CSR: longest batch; the token that reaches it is kept. 0 is as 1.
    min_len : unsigned(length_width), in
        CSR: shortest batch unless `k_max` is less; a token that would make a shorter one does not
        end it. 0 is as 1.
    keep_tripping_token : unsigned(1), in
        CSR: a token that trips is the last of its batch; else the batch ends before it.
    idle_pim : unsigned(1), out
        With no input valid, a further edge changes no state.
    """

    latency = 1
    interval = 1

    token: stream.Interface
    decision: stream.Interface
    rule: Signal
    entropy_limit: Signal
    doubt_limit: Signal
    k_max: Signal
    min_len: Signal
    keep_tripping_token: Signal
    idle_pim: Signal

    def __init__(self, params: DraftctlParams) -> None:
        self.params = params
        entropy = unsigned(params.entropy_width)
        doubt = unsigned(params.doubt_width)
        token = data.StructLayout({"first": 1, "entropy": entropy, "doubt": doubt})
        decision = data.StructLayout({"outcome": Outcome, "place": params.length_width})
        super().__init__(
            {
                "token": In(stream.Signature(token)),
                "decision": Out(stream.Signature(decision)),
                "rule": In(Rule),
                "entropy_limit": In(entropy),
                "doubt_limit": In(doubt),
                "k_max": In(params.length_width),
                "min_len": In(params.length_width),
                "keep_tripping_token": In(1),
                "idle_pim": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the module."""
        params = self.params
        token = self.token.payload
        m = Module()

        index = Signal(params.length_width)  # of the last token; 0 between batches
        doubt = Signal(params.doubt_width)  # of the batch so far

        accept = Signal()
        taken = Signal()
        m.d.comb += [
            accept.eq(~self.decision.valid | self.decision.ready),
            self.token.ready.eq(accept),
            taken.eq(self.token.valid & accept),
            self.idle_pim.eq(~self.decision.valid),
        ]

        place = Signal(params.length_width)
        doubt_before = Signal(params.doubt_width)
        doubt_sum = Signal(params.doubt_width + 1)
        doubt_with = Signal(params.doubt_width)
        m.d.comb += [
            place.eq(Mux(token.first, 0, index) + 1),
            doubt_before.eq(Mux(token.first, 0, doubt)),
            doubt_sum.eq(doubt_before + token.doubt),
            doubt_with.eq(Mux(doubt_sum[-1], params.doubt_max, doubt_sum)),
        ]

        tripped = Signal()
        with m.Switch(self.rule):
            with m.Case(Rule.ENTROPY):
                m.d.comb += tripped.eq(token.entropy > self.entropy_limit)
            with m.Case(Rule.PRODUCT):
                m.d.comb += tripped.eq(doubt_with > self.doubt_limit)
            with m.Case(Rule.LAGGED_PRODUCT):
                m.d.comb += tripped.eq(doubt_before > self.doubt_limit)

        length = Signal(params.length_width)  # of the batch if the token ends it by tripping
        outcome = Signal(Outcome)
        m.d.comb += length.eq(place - ~self.keep_tripping_token)
        with m.If(place >= self.k_max):
            m.d.comb += outcome.eq(Outcome.KEEP)
        with m.Elif(tripped & length.any() & (length >= self.min_len)):
            m.d.comb += outcome.eq(Mux(self.keep_tripping_token, Outcome.KEEP, Outcome.DROP))

        with m.If(accept):
            m.d.pim += self.decision.valid.eq(self.token.valid)
        with m.If(taken):
            ends = outcome != Outcome.CONTINUE
            m.d.pim += [
                self.decision.payload.outcome.eq(outcome),
                self.decision.payload.place.eq(place),
                index.eq(Mux(ends, 0, place)),
                doubt.eq(Mux(ends, 0, doubt_with)),
            ]
        return m
