# SPDX-License-Identifier: Apache-2.0
"""What a caller may rely on; runs unchanged on the golden model, the RTL and the Amaranth source.

Expected values are worked out by hand from the published rules.
"""

import pytest

from ahasd.rtl.draftctl.params import Rule

NAT = 1 << 12  # an entropy of 1 nat in the paper's configuration
BIT = 1 << 8  # a doubt of 1 bit, a probability of 1/2


def lengths(draftctl, tokens):
    """Return the lengths of the batches into which tokens fall, none of them dropped."""
    found = []
    for token in tokens:
        outcome, place = draftctl.token(**token)
        assert outcome != "DROP"
        if outcome == "KEEP":
            found.append(place)
    return found


def test_a_decision_comes_one_cycle_after_its_token_and_one_a_cycle(make_draftctl):
    draftctl = make_draftctl(k_max=3)
    answers = []
    for _ in range(5):
        seen = draftctl.edge(**draftctl.offer())
        assert seen["token__ready"]
        answers.append((seen["decision__valid"], seen["decision__payload"]))
    seen = draftctl.edge()
    answers.append((seen["decision__valid"], seen["decision__payload"]))
    assert answers[0][0] == 0
    # Outcome in the low two bits, place above: 1 CONTINUE, 2 CONTINUE, 3 KEEP, 1, 2.
    assert answers[1:] == [(1, 0b00100), (1, 0b01000), (1, 0b01101), (1, 0b00100), (1, 0b01000)]
    assert draftctl.edge()["decision__valid"] == 0


def test_a_held_decision_stays_as_it_is_and_stalls_the_token(make_draftctl):
    draftctl = make_draftctl(k_max=2)
    draftctl.edge(**draftctl.offer())
    for _ in range(5):
        seen = draftctl.edge(decision__ready=0, **draftctl.offer())
        assert not seen["token__ready"]
        assert not seen["idle_pim"]
        assert seen["decision__valid"]
        assert seen["decision__payload"] == 1 << 2
    assert draftctl.token() == ("KEEP", 2), "the stalled offers were not taken"


def test_idle_is_high_from_the_reset_on_while_no_decision_waits(make_draftctl):
    draftctl = make_draftctl()
    assert draftctl.edge()["idle_pim"]
    assert draftctl.edge(**draftctl.offer())["idle_pim"]
    assert not draftctl.edge()["idle_pim"]
    assert draftctl.edge()["idle_pim"]


def test_fixed_ends_every_batch_at_k_max_whatever_its_tokens_are_like(make_draftctl):
    draftctl = make_draftctl(k_max=4)
    wild = {"entropy": draftctl.params.entropy_max, "doubt": draftctl.params.doubt_max}
    assert lengths(draftctl, [wild] * 12) == [4, 4, 4]


def test_entropy_ends_the_batch_above_its_limit_and_not_at_it(make_draftctl):
    # SVIP: sqrt(0.15 H) > 0.3 is H > 0.6 nat, 2458 in Q4.12.
    draftctl = make_draftctl(rule=Rule.ENTROPY, entropy_limit=2458)
    assert draftctl.token(entropy=2458) == ("CONTINUE", 1)
    assert draftctl.token(entropy=2459) == ("KEEP", 2)
    assert draftctl.token(entropy=4 * NAT) == ("KEEP", 1)


def test_entropy_has_no_memory_and_does_not_look_at_the_doubt(make_draftctl):
    draftctl = make_draftctl(rule=Rule.ENTROPY, entropy_limit=NAT)
    for place in range(1, 30):
        assert draftctl.token(entropy=NAT, doubt=60000) == ("CONTINUE", place)


def test_a_limit_that_is_written_between_tokens_holds_from_the_next_on(make_draftctl):
    # AdaEDL: lambda 0.7 and 0.3 at gamma 0.2 are 0.45 and 2.45 nat.
    draftctl = make_draftctl(rule=Rule.ENTROPY, entropy_limit=round(0.45 * NAT))
    assert draftctl.token(entropy=NAT) == ("KEEP", 1)
    draftctl.pins["entropy_limit"] = round(2.45 * NAT)
    assert draftctl.token(entropy=NAT) == ("CONTINUE", 1)


def test_product_ends_the_batch_where_the_probabilities_multiply_to_less_than_the_limit(
    make_draftctl,
):
    # tau = 1/8, 3 bit: halves make 1/8 after three tokens, which is not below; a fourth is.
    draftctl = make_draftctl(rule=Rule.PRODUCT, doubt_limit=3 * BIT)
    assert lengths(draftctl, [{"doubt": BIT}] * 8) == [4, 4]
    # 1/2 and then 3/16: 3.415 bit.
    assert lengths(draftctl, [{"doubt": BIT}, {"doubt": round(2.415 * BIT)}]) == [2]


def test_product_does_not_look_at_the_entropy(make_draftctl):
    draftctl = make_draftctl(rule=Rule.PRODUCT, doubt_limit=0)
    assert draftctl.token(entropy=60000) == ("CONTINUE", 1)
    assert draftctl.token(entropy=0, doubt=1) == ("KEEP", 2)


def test_lagged_product_ends_the_batch_one_token_later(make_draftctl):
    # SpecDec++: the first token counts as certain, token i is judged after the first i - 1.
    draftctl = make_draftctl(rule=Rule.LAGGED_PRODUCT, doubt_limit=3 * BIT)
    assert lengths(draftctl, [{"doubt": BIT}] * 10) == [5, 5]
    assert draftctl.token(doubt=100 * BIT) == ("CONTINUE", 1)
    assert draftctl.token() == ("KEEP", 2)


@pytest.mark.parametrize("rule", [Rule.PRODUCT, Rule.LAGGED_PRODUCT])
def test_the_doubt_of_a_batch_is_forgotten_with_it(make_draftctl, rule):
    draftctl = make_draftctl(rule=rule, doubt_limit=3 * BIT, k_max=3)
    for _ in range(4):  # 1 bit a token: never above 3 within one batch
        assert [draftctl.token(doubt=BIT)[1] for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("rule", [Rule.PRODUCT, Rule.LAGGED_PRODUCT])
def test_a_first_token_abandons_the_batch_before_it(make_draftctl, rule):
    draftctl = make_draftctl(rule=rule, doubt_limit=3 * BIT, k_max=9)
    for place in (1, 2, 3):
        assert draftctl.token(doubt=BIT) == ("CONTINUE", place)
    assert draftctl.token(doubt=BIT, first=True) == ("CONTINUE", 1)
    assert draftctl.token(doubt=BIT) == ("CONTINUE", 2)
    assert draftctl.token(doubt=BIT) == ("CONTINUE", 3)


def test_a_sum_saturates_and_then_exceeds_every_limit_but_the_largest(make_draftctl):
    largest = 65535
    draftctl = make_draftctl(rule=Rule.PRODUCT, doubt_limit=largest - 1)
    assert draftctl.token(doubt=40000) == ("CONTINUE", 1)
    assert draftctl.token(doubt=40000) == ("KEEP", 2), "80000 without saturation, 14464 if wrapped"
    draftctl.pins["doubt_limit"] = largest
    for place in range(1, 6):
        assert draftctl.token(doubt=largest) == ("CONTINUE", place)


def test_a_dropped_token_ends_the_batch_before_it(make_draftctl):
    draftctl = make_draftctl(rule=Rule.ENTROPY, entropy_limit=NAT, keep_tripping_token=0)
    assert draftctl.token(entropy=0) == ("CONTINUE", 1)
    assert draftctl.token(entropy=2 * NAT) == ("DROP", 2)
    # Offered again, it begins a batch, which needs a token.
    assert draftctl.token(entropy=2 * NAT) == ("CONTINUE", 1)
    assert draftctl.token(entropy=2 * NAT) == ("DROP", 2)


def test_the_token_that_reaches_k_max_is_kept_even_if_it_trips(make_draftctl):
    draftctl = make_draftctl(rule=Rule.ENTROPY, entropy_limit=NAT, keep_tripping_token=0, k_max=2)
    assert draftctl.token(entropy=0) == ("CONTINUE", 1)
    assert draftctl.token(entropy=2 * NAT) == ("KEEP", 2)


@pytest.mark.parametrize(("keep", "places"), [(1, [3, 3, 3]), (0, [4, 4, 4])])
def test_no_batch_is_shorter_than_min_len(make_draftctl, keep, places):
    draftctl = make_draftctl(
        rule=Rule.ENTROPY, entropy_limit=NAT, min_len=3, keep_tripping_token=keep
    )
    ends = []
    while len(ends) < 3:
        outcome, place = draftctl.token(entropy=2 * NAT)
        if outcome != "CONTINUE":
            ends.append(place)
    assert ends == places


def test_the_doubt_goes_on_adding_up_where_min_len_overrules(make_draftctl):
    draftctl = make_draftctl(rule=Rule.PRODUCT, doubt_limit=BIT, min_len=3)
    assert lengths(draftctl, [{"doubt": 2 * BIT}, {}, {}]) == [3]


def test_k_max_is_stronger_than_min_len(make_draftctl):
    draftctl = make_draftctl(k_max=2, min_len=5)
    assert lengths(draftctl, [{}] * 6) == [2, 2, 2]


@pytest.mark.parametrize("keep", [0, 1])
def test_lengths_of_0_are_as_1(make_draftctl, keep):
    draftctl = make_draftctl(k_max=0)
    assert lengths(draftctl, [{}] * 3) == [1, 1, 1]
    draftctl = make_draftctl(
        rule=Rule.ENTROPY, entropy_limit=NAT, min_len=0, keep_tripping_token=keep
    )
    assert draftctl.token(entropy=2 * NAT) == (("CONTINUE", 1) if not keep else ("KEEP", 1))


def test_a_k_max_that_is_lowered_ends_a_longer_batch_at_the_next_token(make_draftctl):
    draftctl = make_draftctl(k_max=9)
    for _ in range(5):
        draftctl.token()
    draftctl.pins["k_max"] = 3
    assert draftctl.token() == ("KEEP", 6)
    assert lengths(draftctl, [{}] * 3) == [3]


def test_the_longest_batch_ends_before_its_place_wraps(make_draftctl):
    draftctl = make_draftctl("test")
    assert draftctl.params.length_max == 7
    assert lengths(draftctl, [{}] * 21) == [7, 7, 7]
