# SPDX-License-Identifier: Apache-2.0
"""PIM sequencer and NPU each on its own, with the link played by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from ahasd.sim.kernel import Kernel
from ahasd.system.devices.machine import Machine
from ahasd.system.drafting.base import Drafting, DraftToken
from ahasd.system.drafting.fixed import Fixed
from ahasd.system.schemes.activity import Activity
from ahasd.system.schemes.batch import Batch, Verdict
from ahasd.system.schemes.ledger import Ledger
from ahasd.system.schemes.npu import NPU_STATES, Emitter, NpuVerifier
from ahasd.system.schemes.pim import PimSequencer
from ahasd.system.schemes.prefill import Prefiller
from ahasd.system.schemes.preverify import Preverification
from ahasd.system.workload.playback import TargetStream

HINT = 777
"""A token that nobody drafts."""


def right(count: int, k_max: int = 4):
    """Targets 100, 101, ..., and rollouts that are right as far as they go."""
    targets = list(range(100, 100 + count))
    return targets, [[100 + t + i for i in range(k_max)] for t in range(count)]


class Hands:
    """A link that does nothing by itself: it keeps what it was asked for, in order."""

    def __init__(self) -> None:
        self.has_room = True
        self.calls: list[str] = []
        self.offers: list[Batch] = []
        self.cuts: list[tuple[Batch, int, int]] = []
        self.measured: list[tuple[int, int]] = []
        self.told: list[tuple[Verdict, int | None]] = []

    def begin_draft(self):
        self.calls.append("begin")
        return False

    def end_draft(self):
        self.calls.append("end")

    def offer(self, batch):
        self.calls.append("offer")
        self.offers.append(batch)

    def ask(self, **question):
        self.calls.append("ask")

    def end_preverify(self, time_ps, tokens):
        self.calls.append("end preverify")

    def measure_draft(self, time_ps, tokens):
        self.measured.append((time_ps, tokens))

    def cut(self, batch, keep, branch):
        self.cuts.append((batch, keep, branch))

    def tell(self, verdict, *, pass_ps, context):
        self.told.append((verdict, pass_ps))

    def open(self):
        self.calls.append("open")

    def start_pass(self, batches, context):
        self.calls.append("pass")


@pytest.fixture
def begin(build_trace, round_devices):
    """Start a sequencer that drafts a stream of right tokens in batches of two."""

    def make(count: int = 20, *, k: int = 2, max_batch: int = 16, wrong_hints: float = 0.0):
        kernel, link, ledger = Kernel(), Hands(), Ledger()
        machine = Machine(kernel, None)
        stream = TargetStream(build_trace([right(count)]), count, "stream")
        hands: Any = link
        states: Any = NPU_STATES
        npu = Activity(states, "starved")
        pre = Preverification(
            kernel,
            stream,
            round_devices,
            machine,
            ledger,
            hands,
            npu,
            continues=False,
            wrong_hints=wrong_hints,
            seed=0,
        )
        pim = PimSequencer(
            kernel,
            stream,
            round_devices,
            machine,
            ledger,
            Drafting(Fixed(k), k_max=max(k, 4)),
            hands,
            Prefiller(kernel, stream, round_devices, machine, ledger, npu, drafts=True),
            playback="stream",
            ahead=True,
            has_edc=True,
            preverification=pre,
            max_batch=max_batch,
        )
        pre.connect(pim)
        pim.start()
        kernel.run()
        return SimpleNamespace(kernel=kernel, link=link, ledger=ledger, pre=pre, pim=pim)

    return make


def draft(made):
    """Let the ranks come and a batch be drafted, as far as its offer."""
    made.pim.on_draft_issue()
    made.kernel.run()
    return made.link.offers[-1]


def decide(made, go=True, cause="predicted"):
    made.pim.on_decision(go, cause)
    made.pim.proceed()


def drafted(made, count):
    """Let so many batches be drafted and granted."""
    batches = []
    for _ in range(count):
        batches.append(draft(made))
        decide(made)
    return batches


def reject(made, batch, accepted, token):
    made.pim.on_verdict(Verdict(batch, "rejected", accepted, token))


def positions(made):
    return [position for position, _ in made.pim.chain()]


def test_ranks_are_asked_for_once_and_given_back_when_a_batch_is_on_offer(begin):
    made = begin()
    made.pim.on_room()
    assert made.link.calls == ["begin"]
    draft(made)
    assert made.link.calls == ["begin", "end", "offer"]
    decide(made)
    assert made.link.calls == ["begin", "end", "offer", "begin"]
    assert made.pim.activity.state == "switching"


def surviving(made, batches=1):
    """Reject [0 1] at 1, behind which a branch of so many batches has foreseen that."""
    first = draft(made)
    decide(made)
    made.pim.on_preverified((1, HINT))
    drafted(made, batches)
    return first


def test_ranks_that_come_while_a_batch_is_on_offer_go_back(begin):
    made = begin()
    first = surviving(made)
    assert made.link.cuts == [(first, 1, made.pim.branch)]
    reject(made, first, 1, HINT)
    # What the branch drafted behind the hint is on offer again; the ranks were asked for before.
    assert [token.token for token in made.link.offers[-1].tokens] == [102, 103]
    assert made.link.calls[-2:] == ["begin", "offer"]
    made.pim.on_draft_issue()
    assert made.link.calls[-1] == "end"
    decide(made)
    assert made.link.calls[-1] == "begin"
    draft(made)
    assert made.link.offers[-1].start == 4


def test_ranks_that_come_during_a_question_go_back(begin):
    made = begin()
    first = surviving(made)
    made.link.has_room = False
    made.pre.may_ask = True
    reject(made, first, 1, HINT)
    assert made.link.calls[-1] == "ask"
    made.pim.on_draft_issue()
    assert made.link.calls[-1] == "end"


def test_a_survivor_is_of_a_new_branch_and_of_the_new_epoch(begin):
    made = begin()
    first = surviving(made)
    branch = made.pim.branch
    reject(made, first, 1, HINT)
    again = made.link.offers[-1]
    assert (again.epoch, again.start) == (1, 2)
    assert again.branch > branch
    assert made.ledger.preverify.survived == 1


def test_a_branch_of_another_token_does_not_survive(begin):
    made = begin()
    first = surviving(made)
    reject(made, first, 1, HINT + 1)
    assert made.ledger.preverify.survived == 0
    assert positions(made) == []
    assert made.ledger.flushed == 2


def test_a_rejection_takes_back_what_is_on_offer(begin):
    made = begin()
    first = draft(made)
    decide(made)
    draft(made)
    reject(made, first, 0, 100)
    # The link drops it; the sequencer drafts anew, without another decision.
    assert positions(made) == []
    assert made.link.calls[-1] == "begin"
    assert draft(made).start == 1


def test_a_rejection_takes_back_a_survivor_on_offer(begin):
    made = begin()
    first = surviving(made, 0)
    offered = draft(made)
    reject(made, first, 1, HINT)
    assert made.link.offers[-1] is not offered
    assert [token.token for token in made.link.offers[-1].tokens] == [102, 103]


def test_a_rejection_clears_survivors_that_wait(begin):
    made = begin()
    first = surviving(made, 3)
    reject(made, first, 1, HINT)
    made.link.has_room = False
    decide(made)
    again = made.link.offers[-1]
    assert positions(made) == [2, 3, 4, 5, 6, 7]
    reject(made, again, 0, 900)
    assert positions(made) == []
    assert made.pim.in_flight == 0


@pytest.mark.parametrize("has_room", [True, False])
def test_survivors_are_offered_beside_a_step_that_goes_on(begin, has_room):
    made = begin()
    first = surviving(made)
    made.pim.on_draft_issue()
    made.link.has_room = has_room
    made.pre.may_ask = True
    calls = len(made.link.calls)
    reject(made, first, 1, HINT)
    assert made.link.calls[calls:] == (["offer"] if has_room else [])
    assert made.pim.activity.state == "drafting"


def test_a_full_queue_is_a_question_and_so_is_a_stop_after_it(begin):
    made = begin()
    made.link.has_room = False
    made.pim.on_draft_issue()
    made.kernel.run()
    assert made.link.calls == ["begin", "ask", "end"]
    made.pim.on_answer(0)
    assert made.pim.activity.state == "full"
    made.link.has_room = True
    made.pim.on_room()
    assert made.link.calls[-1] == "offer"
    decide(made, go=False)
    assert made.link.calls[-1] == "ask"
    made.pim.on_answer(0)
    assert made.pim.activity.state == "stopped"
    # A pass that begins changes the answer, perhaps.
    made.pim.on_taken(made.link.offers[-1])
    assert made.link.calls.count("ask") == 3


def test_the_measurement_of_a_batch_begins_with_the_batch(begin):
    made = begin()
    first = draft(made)
    decide(made)
    made.pim.on_draft_issue()
    made.kernel.at(made.kernel.now_ps + 15, reject, made, first, 0, 100)
    made.kernel.run()
    draft(made)
    assert made.link.measured == [(20, 2), (20, 2)]


def test_a_batch_that_is_as_long_as_the_link_carries_ends_the_rules_batch(begin):
    made = begin(k=3, max_batch=2)
    assert [len(batch.tokens) for batch in drafted(made, 3)] == [2, 2, 2]


def test_a_hint_takes_a_place_in_its_batch(begin):
    made = begin(max_batch=2)
    draft(made)
    decide(made)
    made.pim.on_preverified((1, HINT))
    assert [token.token for token in draft(made).tokens] == [HINT, 102]


def test_a_cut_leaves_the_chain_with_its_replacement(begin):
    made = begin()
    drafted(made, 2)
    made.pim.on_preverified((2, HINT))
    assert [(at, token.token) for at, token in made.pim.chain()] == [
        (0, 100),
        (1, 101),
        (2, HINT),
    ]


def test_a_finding_right_behind_what_was_sent_is_no_cut(begin):
    made = begin()
    draft(made)
    decide(made)
    made.link.has_room = False
    made.pim.on_draft_issue()
    made.kernel.run()
    made.pim.on_answer(0)
    branch = made.pim.branch
    made.pim.on_preverified((2, HINT))
    assert made.link.cuts == []
    assert made.pim.branch == branch
    assert positions(made) == [0, 1, 2]
    assert made.ledger.flushed == 2


def test_a_bonus_is_compared_with_a_hint_in_spite_of_what_was_cut(begin):
    made = begin()
    first, second = drafted(made, 2)
    made.pim.on_preverified((2, HINT))
    made.pim.on_verdict(Verdict(first, "full", 2, 102))
    assert positions(made) == []
    made.pim.on_verdict(Verdict(second, "void", 1))  # the bonus was right, the rest was cut
    assert draft(made).start == 3


def test_a_branch_given_up_waits_for_what_the_npu_takes_before_it_reads_the_cut(begin):
    made = begin()
    first, second = drafted(made, 2)
    made.pim.on_preverified((0, HINT))
    branch = draft(made)
    decide(made)
    made.pim.on_verdict(Verdict(first, "full", 2))  # so the hint at 0 is wrong
    assert positions(made) == []
    made.pim.on_verdict(Verdict(second, "full", 2, 104))
    assert positions(made) == []
    made.pim.on_verdict(Verdict(branch, "void", 0))
    assert draft(made).start == 5


def test_a_branch_that_the_npu_holds_to_be_dead_is_given_up(begin):
    made = begin()
    first, _ = drafted(made, 2)
    made.pim.on_verdict(Verdict(first, "void", 0))  # though nothing was cut
    assert positions(made) == []


def test_a_release_while_a_batch_is_on_offer_is_not_its_decision(begin):
    made = begin()
    draft(made)
    made.pim.on_decision(True, "rechecked")
    made.pim.proceed()
    assert made.ledger.decisions == {"rechecked": 1}
    offers = len(made.link.offers)
    decide(made)
    assert made.link.offers[offers - 1].predicted_go is not None


def test_a_bonus_is_left_to_the_npu_while_its_batch_is_on_offer(begin):
    made = begin()
    first = draft(made)
    decide(made)
    draft(made)
    made.pim.on_verdict(Verdict(first, "full", 2, 999))
    assert positions(made) == [2, 3]
    assert made.ledger.flushed == 0


def test_a_bonus_is_compared_with_a_batch_that_waits_for_room(begin):
    made = begin()
    first = draft(made)
    decide(made)
    made.link.has_room = False
    made.pim.on_draft_issue()
    made.kernel.run()
    made.pim.on_answer(0)
    made.pim.on_verdict(Verdict(first, "full", 2, 999))
    assert positions(made) == []
    assert made.ledger.flushed == 2


@pytest.mark.parametrize("granted", [True, False])
def test_a_chain_that_the_npu_went_past_is_given_up_with_what_was_sent_of_it(begin, granted):
    made = begin()
    first = draft(made)
    decide(made)
    made.pim.on_preverified((0, HINT))
    branch = draft(made)
    if granted:
        decide(made)
    made.pim.on_verdict(Verdict(first, "full", 2, 102))
    if not granted:
        decide(made)
    assert positions(made) == []
    # Its two drafted tokens have no fate before their verdict.
    assert (made.ledger.flushed, made.pim.in_flight) == (0, 2)
    made.pim.on_verdict(Verdict(branch, "void", 0))
    assert (made.ledger.flushed, made.pim.in_flight) == (2, 0)


def stopped(made):
    """Draft a batch, be stopped behind it, and ask."""
    found = draft(made)
    decide(made, go=False)
    assert made.link.calls[-1] == "ask"
    return found


def test_an_answer_to_a_question_of_an_ended_epoch_is_void_and_the_next_is_not(begin):
    made = begin()
    first = stopped(made)
    reject(made, first, 1, 101)
    made.pim.on_answer(3)
    assert made.ledger.preverify.inserted == 0
    assert made.link.calls[-1] == "begin"
    stopped(made)
    made.pim.on_answer(2)
    assert made.ledger.preverify.inserted == 1
    assert made.pim.activity.state == "switching"


def test_a_pre_verification_that_waits_for_its_ranks_ends_with_its_epoch(begin):
    made = begin()
    first = stopped(made)
    made.pim.on_answer(2)
    reject(made, first, 1, 101)
    assert not made.pre.active
    assert made.link.calls[-1] == "begin"
    made.pim.on_preverify_issue()
    assert made.link.calls[-1] == "end preverify"
    assert made.pim.activity.state == "switching"


def test_what_is_out_meanwhile_is_not_looked_at(begin):
    made = begin(wrong_hints=1.0)
    (first,) = drafted(made, 1)
    second = stopped(made)
    made.pre.on_taken(first)
    made.pim.on_answer(4)
    made.pim.on_preverify_issue()
    made.pim.on_verdict(Verdict(first, "full", 2, 102))
    made.kernel.run()
    # The first two positions and the bonus at 2 are out: 3 is the first that counts.
    assert made.link.cuts == [(second, 1, made.pim.branch)]
    assert made.ledger.preverify.tokens == 4


def test_a_pre_verification_looks_at_no_more_than_it_computed(begin):
    made = begin(wrong_hints=1.0)
    (first,) = drafted(made, 1)
    made.pim.on_verdict(Verdict(first, "full", 2))
    second = stopped(made)
    assert made.pim.committed == 2
    made.pim.on_answer(1)
    made.pim.on_preverify_issue()
    made.kernel.run()
    assert made.link.cuts == [(second, 0, made.pim.branch)]
    assert made.ledger.preverify.tokens == 1


def test_a_second_survival_is_useful_once(begin):
    made = begin()
    first = surviving(made)
    reject(made, first, 1, HINT)
    decide(made)
    made.pim.on_preverified((3, HINT))
    reject(made, made.link.offers[-1], 1, HINT)
    assert (made.ledger.preverify.survived, made.ledger.preverify.useful) == (2, 2)


def test_nothing_ends_after_the_halt(begin):
    made = begin()
    stopped(made)
    made.pim.on_answer(2)
    made.pim.on_preverify_issue()
    made.pim.halt()
    made.kernel.run()
    assert made.ledger.preverify.run == 0
    assert "end preverify" not in made.link.calls


@pytest.fixture
def judge(build_trace, round_devices):
    """A verifier with a stream of 20 tokens."""
    kernel, link, ledger = Kernel(), Hands(), Ledger()
    stream = TargetStream(build_trace([right(20)]), 20, "stream")
    hands: Any = link
    emitter = Emitter(kernel, stream, lambda emitted: None)
    npu = NpuVerifier(
        kernel,
        stream,
        round_devices,
        Machine(kernel, None),
        ledger,
        emitter,
        hands,
        pass_tokens=4,
        take="all",
        bonus="compare",
    )
    return SimpleNamespace(kernel=kernel, link=link, ledger=ledger, emitter=emitter, npu=npu)


def batch(number, start, *tokens, epoch=0, branch=0):
    made = [DraftToken(token, 1.0, 0.5, 0.5, 0.25) for token in tokens]
    return Batch(number, epoch, branch, start, made)


def test_a_bonus_goes_with_the_last_batch_that_was_verified_and_the_pass_ends_with_the_last(judge):
    first, second = batch(0, 0, 100, 101), batch(1, 2, 902, 903)
    judge.npu.on_batch(first)
    judge.npu.on_batch(second)
    judge.npu.on_cut(second, 0, 1)
    judge.npu.on_quiet()
    judge.kernel.run()
    assert judge.link.told == [
        (Verdict(first, "full", 2, 102), None),
        (Verdict(second, "void", 0), 100),
    ]
    assert judge.ledger.cut_tokens == 2


def test_a_batch_that_was_cut_is_void_as_far_as_it_was_verified(judge):
    first = batch(0, 0, 100, 901)
    judge.npu.on_batch(first)
    judge.npu.on_cut(first, 1, 1)
    judge.npu.on_quiet()
    judge.kernel.run()
    assert judge.link.told == [(Verdict(first, "void", 1, 101), 100)]
    assert (judge.ledger.rows, judge.ledger.cut_tokens) == (2, 1)


def test_the_cap_of_a_pass_counts_what_is_left_of_a_cut_batch(judge):
    first, second = batch(0, 0, 100, 101), batch(1, 1, 101, 102, 103, branch=1)
    judge.npu.on_batch(first)
    assert not judge.npu.accepts(second)
    judge.npu.on_cut(first, 1, 1)
    assert judge.npu.accepts(second)
    # A later cut gives nothing back.
    judge.npu.on_cut(first, 2, 1)
    assert judge.npu.accepts(second)
    assert judge.ledger.cut_tokens == 1


def test_a_rejection_in_a_pass_ends_the_pass(judge):
    first = batch(0, 0, 100, 901)
    judge.npu.on_batch(first)
    judge.npu.on_quiet()
    judge.kernel.run()
    assert judge.link.told == [(Verdict(first, "rejected", 1, 101), 100)]


def test_a_cut_of_a_judged_batch_voids_what_came_behind_it(judge):
    first, second = batch(0, 0, 100, 101), batch(1, 2, 102, 103)
    judge.npu.on_batch(first)
    judge.npu.on_quiet()
    judge.kernel.run()
    judge.npu.on_batch(second)
    judge.npu.on_cut(first, 1, 1)
    assert judge.link.told[1:] == [(Verdict(second, "void", 0), None)]
    assert judge.ledger.cut_tokens == 2


def test_a_stale_batch_is_let_in_to_be_thrown_away(judge):
    judge.npu.on_batch(batch(0, 0, 900))
    judge.npu.on_quiet()
    judge.kernel.run()
    judge.npu.on_batch(batch(2, 1, 101, 102, 103, 104, epoch=1))
    assert not judge.npu.accepts(batch(3, 5, 105, epoch=1, branch=1))
    stale = batch(1, 1, 101)
    assert judge.npu.accepts(stale)
    judge.npu.on_batch(stale)
    judge.npu.on_cut(stale, 0, 5)
    assert len(judge.link.told) == 1
