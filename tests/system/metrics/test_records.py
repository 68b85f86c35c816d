# SPDX-License-Identifier: Apache-2.0
"""Records of requests against each other, the pooled figures, and other backends."""

import json
from collections import Counter

import pytest

from ahasd.system.config import load_config
from ahasd.system.metrics.records import records
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics
from ahasd.system.workload.trace import load_trace

AIPERF = {
    "engine",
    "mean_acceptance_length",
    "draft_acceptance_rate",
    "acceptance_histogram",
    "num_accepted_draft_tokens",
    "num_draft_tokens",
    "num_spec_steps",
    "num_spec_tokens",
    "completion_tokens",
    "per_step_accepted",
    "per_step_drafted",
}


def played(**overrides):
    """Return a run of the shipped trace, whose first two requests have 80 tokens each."""
    settings = {"workload.tokens": 200, "memory.fidelity": "analytic", "backend.ahasd": "golden"}
    config = load_config(
        "default", settings | {k.replace("__", "."): v for k, v in overrides.items()}
    )
    trace, ranks = prepare(config)
    outcome = simulate(config, trace, ranks)
    found = records(outcome, trace)
    assert json.loads(json.dumps(found)) == found
    return metrics(outcome), found


@pytest.fixture(scope="module", params=["sync", "async", "async-edc", "ahasd"])
def run(request):
    return played(scheme=request.param, draft__rule="adaedl", workload__playback="requests")


def pooled(found, key):
    return sum(record[key] for record in found)


def test_a_record_has_what_aiperf_reads(run):
    _, found = run
    assert len(found) > 1
    for record in found:
        assert record.keys() >= AIPERF
        assert record["num_spec_tokens"] is None, "the rule is adaptive"
        assert record["num_spec_steps"] == len(record["per_step_accepted"])


def test_pooled_figures_are_those_of_all_steps_and_not_means_of_requests(run):
    told, found = run
    steps = [
        (d, a)
        for record in found
        for d, a in zip(record["per_step_drafted"], record["per_step_accepted"], strict=True)
    ]
    right, drafted = sum(a for _, a in steps), sum(d for d, _ in steps)
    pool = told["speculation"]
    assert pool["mean_acceptance_length"] == pytest.approx(1 + right / len(steps))
    assert pool["draft_acceptance_rate"] == pytest.approx(right / drafted)
    assert pool["alpha"] == pytest.approx(right / (right + sum(a < d for d, a in steps)))
    assert pool["num_accepted_draft_tokens"] == pooled(found, "num_accepted_draft_tokens")
    histogram = Counter(a for _, a in steps)
    assert pool["acceptance_histogram"] == {str(n): histogram[n] for n in range(max(histogram) + 1)}
    for place, at in told["acceptance_by_position"].items():
        tested = [a >= int(place) for d, a in steps if d >= int(place) <= a + 1]
        assert (at["tested"], at["accepted"]) == (len(tested), sum(tested))
    means = sum(record["mean_acceptance_length"] for record in found) / len(found)
    assert means != pytest.approx(pool["mean_acceptance_length"], rel=1e-6)


def test_tokens_of_the_records_add_up_to_the_run_s(run):
    told, found = run
    counts = told["counts"]
    assert pooled(found, "completion_tokens") == told["tokens"] == 200
    assert sum(sum(record["per_step_emitted"]) for record in found) == 200
    assert pooled(found, "num_spec_steps") == told["passes"]
    assert pooled(found, "num_generated_draft_tokens") == counts["drafted_tokens"]
    # What equals a bonus that is out already is judged by no pass.
    judged = counts["accepted_tokens"] + counts["accepted_hint_tokens"]
    judged -= counts["confirmed_bonus_tokens"]
    assert (
        0 <= judged - pooled(found, "num_accepted_draft_tokens") <= counts["accepted_hint_tokens"]
    )
    assert told["speculation"]["mean_emitted_tokens"] == told["mean_acceptance_length_tokens"]


def test_requests_follow_each_other_to_the_end_of_the_run(run):
    told, found = run
    begin = 0.0
    for record in found:
        assert record["begin_s"] == pytest.approx(begin)
        begin += record["e2e_s"]
    assert begin == pytest.approx(told["time_s"])
    assert found[0]["ttft_s"] == told["ttft_s"]
    longest = max(record["e2e_s"] for record in found)
    assert told["latency"]["e2e_s"]["p99"] == longest


def test_percentiles_can_be_made_of_the_records_again(run):
    told, found = run
    gaps, tokens = [], []
    for record in found:
        ends = record["per_step_end_ps"]
        for i in range(1, len(ends)):
            gap_s, chunk = (ends[i] - ends[i - 1]) / 1e12, record["per_step_emitted"][i]
            gaps.append(gap_s)
            tokens += [gap_s / chunk] * chunk
    for values, name in ((gaps, "itl_s"), (tokens, "token_s")):
        values.sort()
        for share in (50, 90, 99):
            rank = -(-share * len(values) // 100)
            assert told["latency"][name][f"p{share}"] == pytest.approx(values[rank - 1])


def test_shares_of_the_run_add_up(run):
    told, _ = run
    split = told["split"]
    assert sum(split.values()) == pytest.approx(1)
    both = split["draft_and_verify"] + split["preverify_and_verify"]
    assert told["npu"]["busy"] == pytest.approx(split["verify_only"] + both + split["prefill"])
    alone = split["draft_only"] + split["preverify_only"]
    assert told["pim"]["busy"] == pytest.approx(alone + both)
    if told["scheme"] == "sync":
        assert both == 0


def test_what_the_rule_adapts_is_kept_by_request(run):
    told, found = run
    values = [value for record in found for value in record["policy"].get("lambda", [])]
    course = told["drafting"]["policy"]["lambda"]
    assert (course["first"], course["last"]) == (values[0], values[-1])
    assert (course["least"], course["most"]) == (min(values), max(values))
    # lambda restarts at 0.7 with every request, and a verdict moves it by 0.001 at most.
    for record in found:
        assert record["policy"]["lambda"][0] == pytest.approx(0.7, abs=0.00101)


def test_a_fixed_rule_tells_its_length_and_ends_no_batch_early():
    told, found = played(scheme="sync", draft__rule="fixed", draft__k=3)
    assert {record["num_spec_tokens"] for record in found} == {3}
    assert max(map(max, (record["per_step_drafted"] for record in found))) == 3
    drafting = told["drafting"]
    assert drafting["policy"] == {}
    assert set(drafting["batches_by_length"]) <= {"1", "2", "3"}
    assert drafting["ended_by"]["cap"] == 0


def test_without_the_control_hardware_a_batch_is_as_long_as_its_cap():
    told, found = played(scheme="sync", draft__rule="fixed", draft__k=24, draft__k_max=24)
    assert max(map(max, (record["per_step_drafted"] for record in found))) == 24
    assert told["drafting"]["ended_by"]["link"] == 0


def test_a_scheme_without_a_rule_has_no_length():
    told, found = played(scheme="amusd", draft__rule="fixed", draft__k=3)
    assert {record["num_spec_tokens"] for record in found} == {None}
    assert set(told["drafting"]["batches_by_length"]) == {"1"}


def test_the_cap_and_the_end_of_a_request_are_no_early_exits():
    told, _ = played(scheme="sync", draft__rule="fixed", draft__k=4, draft__k_max=4)
    ended = told["drafting"]["ended_by"]
    assert ended["rule"] == 0 == told["drafting"]["early_exits"]
    assert ended["cap"] > ended["request_end"] > 0
    assert told["drafting"]["requested_tokens"] == 4 * told["drafting"]["batches"]
    generated = told["drafting"]["generated_tokens"]
    assert generated == told["counts"]["drafted_tokens"], "synchronous: every batch is finished"


def test_decoding_alone_has_steps_of_one_token():
    told, found = played(scheme="npu-ar")
    assert "speculation" not in told
    assert {record["num_spec_tokens"] for record in found} == {0}
    for record in found:
        assert record["mean_acceptance_length"] == 1
        assert record["draft_acceptance_rate"] is None
        assert record["num_spec_steps"] == record["completion_tokens"]
    assert told["split"]["verify_only"] + told["split"]["prefill"] == pytest.approx(1)


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["async-edc", "ahasd"])
def test_golden_and_rtl_give_the_same_records(scheme):
    short = {"scheme": scheme, "workload__tokens": 90, "draft__rule": "banditspec"}
    assert played(**short) == played(**short, backend__ahasd="rtl")


def test_a_record_names_its_request_of_the_trace_which_may_be_played_again():
    # The shipped trace has 12 requests of 781 tokens in all.
    _, found = played(scheme="npu-ar", workload__tokens=800)
    requests = load_trace("smollm2-rtn4").requests
    assert [record["request"] for record in found] == list(range(13))
    assert [record["trace_request"] for record in found] == [*range(12), 0]
    assert [record["completion_tokens"] for record in found] == [
        *(request.length for request in requests),
        19,
    ]
    assert [record["category"] for record in found[:12]] == [each.category for each in requests]
    assert found[12]["category"] == found[0]["category"] is not None


def test_a_user_s_rule_may_tell_other_names_after_every_verdict(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from ahasd.system.drafting.base import DraftingRule\n"
        "class Own(DraftingRule):\n"
        "    verdicts = 0\n"
        "    def trips(self, index, token):\n"
        "        return False\n"
        "    def feedback(self, judged):\n"
        "        self.verdicts += 1\n"
        "    def adapted(self):\n"
        "        now = self.verdicts\n"
        "        return {} if now % 3 == 0 else {f'name {now % 3}': now, 'often': now}\n"
    )
    told, found = played(
        scheme="sync",
        draft__rule="file",
        draft__path=str(path),
        draft__name="Own",
        workload__playback="requests",
    )
    assert len(found) > 1
    values = {"name 1": [], "name 2": [], "often": []}
    verdict = 0
    for record in found:
        # In `sync` every step with drafts has a verdict.
        verdicts = range(verdict + 1, verdict + 1 + sum(d > 0 for d in record["per_step_drafted"]))
        verdict = verdicts.stop - 1
        expected = {
            "name 1": [i for i in verdicts if i % 3 == 1],
            "name 2": [i for i in verdicts if i % 3 == 2],
            "often": [i for i in verdicts if i % 3],
        }
        for name, kept in values.items():
            assert record["policy"].get(name, []) == expected[name]
            kept += expected[name]
    for name, kept in values.items():
        course = told["drafting"]["policy"][name]
        assert (course["first"], course["last"]) == (kept[0], kept[-1])
