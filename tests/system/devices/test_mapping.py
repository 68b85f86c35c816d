# SPDX-License-Identifier: Apache-2.0
"""Operators dealt out to both devices: their parts, the search, and runs under what it finds."""

from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from ahasd import UserError
from ahasd.system.config import load_config
from ahasd.system.devices.analytic import AnalyticDevices
from ahasd.system.devices.capacity import shared_ranks
from ahasd.system.devices.command import CommandDevices, Unit
from ahasd.system.devices.groups import GROUPS, MATRICES, Group, runs_on_npu, weight_bytes
from ahasd.system.devices.mapping import MappedDevices, Mapping, mapped, placements, search
from ahasd.system.devices.nonlinear import crossing_bytes
from ahasd.system.devices.npu.passes import pass_phases
from ahasd.system.model import load_model
from ahasd.system.platform import load_platform
from ahasd.system.simulate import prepare, simulate
from ahasd.system.stats import metrics

CONTEXT = 512
# Weights enter the arrays slowly, and the channels are fast: attention is the NPU's, weights not.
SLOW_LOAD = {"npu.weight_load_bytes_per_cycle": 16, "npu.offchip_scope": "per_rank"}
NOTHING = frozenset[Group]()


@cache
def devices(
    fidelity="command", unit: Unit = "aau", pair=("tiny-draft", "tiny-target"), overrides=()
):
    platform = load_platform("mobile-paper", dict(overrides))
    draft, target = (load_model(each) for each in pair)
    ranks = shared_ranks(platform, draft, target, 1152)
    if fidelity == "analytic":
        return AnalyticDevices(platform, draft, target, platform.pim.ranks, platform.pim.ranks)
    return CommandDevices(platform, draft, target, ranks, unit=unit)


def mobile(**overrides):
    return tuple(overrides.items())


@pytest.mark.parametrize("name", ["opt-6.7b", "llama2-13b", "palm-30b"])
def test_the_weights_of_all_groups_are_those_of_a_pass(name):
    shape = load_model(name)
    parts = {each: weight_bytes(shape, (each,)) for each in GROUPS}
    assert sum(parts.values()) == shape.bytes_per_pass
    assert parts["attention"] == parts["nonlinear"] == 0
    # OPT-6.7B: 32 layers of width 4096, inner width 16384, vocabulary 50272.
    if name == "opt-6.7b":
        assert parts["qkv"] == 32 * 3 * 4096**2
        assert parts["projection"] == 32 * 4096**2
        assert parts["ffn"] == 32 * 2 * 4096 * 16384
        assert parts["head"] == 50272 * 4096


@pytest.mark.parametrize(
    ("on_npu", "stretches", "with_weights"),
    [
        # Norm, softmax, norm, activation a layer; norm and choice of the token: nobody's weights.
        (("nonlinear",), 4 * 4 + 2, 0),
        (GROUPS, 1, 1),
        ((), 0, 0),
        # Before and behind softmax, one after the other where softmax is with them.
        (("attention",), 2 * 4, 0),
        (("attention", "nonlinear"), 4 * 4 + 2, 0),
        # Two matrices with the activation between them.
        (("ffn",), 2 * 4, 2 * 4),
        # Second norm, first matrix, activation, second matrix; then the first norm of the next
        # layer or the last norm follow at once.
        (("ffn", "nonlinear"), 1 + 2 * 4 + 1, 4),
        (("head",), 1, 1),
        (MATRICES, 1 * 4 + 2 * 4 + 1 + 4, 1 * 4 + 2 * 4 + 1 + 4),
    ],
)
def test_stretches_on_the_npu_follow_from_the_order_of_operators(on_npu, stretches, with_weights):
    assert runs_on_npu(load_model("tiny-target"), on_npu) == (stretches, with_weights)


def test_a_block_whose_halves_share_their_input_has_one_norm_and_left_out_operators_none():
    palm = load_model("palm-8b")
    assert runs_on_npu(palm, ("nonlinear",)) == (3 * palm.layers + 2, 0)
    tiny = load_model("tiny-target")
    assert runs_on_npu(tiny, ("attention",), has_nonlinear=False) == (4, 0)
    assert runs_on_npu(tiny, ("ffn", "head"), has_nonlinear=False) == (4, 4)


def test_what_crosses_between_ranks_and_npu():
    shape = load_model("tiny-target")  # 4 layers, width 256, 8 heads, inner width 768
    seen = 100 + 101  # keys of two rows
    scores = 4 * 8 * seen * 2
    assert crossing_bytes(shape, 2, 99, ("nonlinear",)) == (scores, scores)
    assert crossing_bytes(shape, 2, 99, ("nonlinear", "attention")) == (0, 0)
    assert crossing_bytes(shape, 2, 99, ()) == (0, 0)
    # On AAUs, in FP16: rotated queries and keys go there, probabilities come and go.
    rotated = 2 * 4 * 16 * 32 * 2
    assert crossing_bytes(shape, 2, 99, ("attention",)) == (scores, scores + rotated)
    # Behind it a norm of the next layer or of the end, before it one of each layer; the activation.
    width, inner = 2 * 256 * 2, 2 * 768 * 2
    written, read = crossing_bytes(shape, 2, 99, ("ffn",))
    assert written == 4 * width + width + 4 * inner
    assert read == 4 * width + 4 * inner
    written, read = crossing_bytes(shape, 2, 99, ("head",))
    assert (written, read) == (2 * 1024 * 2, width)


@pytest.mark.parametrize(("which", "rows"), [("draft", 1), ("target", 4)])
def test_groups_in_the_ranks_add_up_to_the_whole(which, rows):
    held = devices("analytic")
    parts = [held.pim_group(which, each, rows, CONTEXT) for each in GROUPS]
    whole = held.draft(CONTEXT) if which == "draft" else held.preverify(rows, CONTEXT)
    # Every part is rounded up to picoseconds; what binds the parts may bind only some of them.
    assert sum(each.alone_ps for each in parts) == pytest.approx(whole.alone_ps, abs=6)
    assert sum(each.events.pim_macs for each in parts) == whole.events.pim_macs
    held = devices(pair=("opt-1.3b", "opt-6.7b"))
    parts = [held.pim_group(which, each, rows, CONTEXT) for each in GROUPS]
    whole = held.draft(CONTEXT) if which == "draft" else held.preverify(rows, CONTEXT)
    assert sum(each.alone_ps for each in parts) == pytest.approx(whole.alone_ps, rel=1e-6)
    # The busiest rank's share of a matrix is rounded up, for all of them together and one by one.
    for name in ("pim_macs", "write_bytes", "aau_cycles"):
        found = sum(getattr(each.events, name) for each in parts)
        assert found == pytest.approx(getattr(whole.events, name), rel=0.02)


def test_groups_on_the_npu_are_parts_of_its_pass():
    platform = load_platform("mobile-paper")
    shape = load_model("opt-6.7b")

    def phases(**more):
        made = pass_phases(platform, shape, 4, CONTEXT, lambda size_bytes: 20 * size_bytes, **more)
        return {phase.name: phase for phase in made}

    whole = phases()
    parts = {each: phases(groups=(each,)) for each in GROUPS}
    read_ps = sum(each["fill"].memory_ps + each["weights"].memory_ps for each in parts.values())
    assert read_ps == whole["fill"].memory_ps + whole["weights"].memory_ps
    assert parts["attention"]["attention"] == whole["attention"]
    assert all(parts[each]["attention"].alone_ps == 0 for each in MATRICES)
    # With nothing to hide behind, the vector unit's time shows.
    assert parts["nonlinear"]["nonlinear"].compute_ps > 0
    assert parts["nonlinear"]["fill"].alone_ps == parts["nonlinear"]["weights"].alone_ps == 0
    # Every new beginning reads a first tile of 2 x 128 x 128 weights with nothing beside.
    often = phases(groups=("ffn",), pieces=64)
    assert often["fill"].memory_ps == 64 * 20 * 2 * 128 * 128
    once = parts["ffn"]
    assert often["drain"].compute_ps == 64 * once["drain"].compute_ps
    assert (
        often["fill"].memory_ps + often["weights"].memory_ps
        == once["fill"].memory_ps + once["weights"].memory_ps
    )


def test_both_ends_are_the_devices_own_tasks():
    held = devices()
    assert mapped(held, "draft", NOTHING, 1, CONTEXT) is held.draft(CONTEXT)
    assert mapped(held, "target", NOTHING, 3, CONTEXT) is held.preverify(3, CONTEXT)
    on_npu = mapped(held, "draft", frozenset(GROUPS), 1, CONTEXT)
    own = held.pass_of(held.draft_shape, 1, CONTEXT)
    assert on_npu == replace(own, npu_events=own.events)
    for without in (devices(unit="none"), devices("analytic")):
        on_npu = mapped(without, "target", frozenset(GROUPS[:-1]), 3, CONTEXT)
        assert on_npu.phases == without.verify(3, CONTEXT).phases


def test_a_mix_pays_for_trips_and_crossings():
    held = devices()
    on_npu = frozenset[Group]({"ffn"})
    task = mapped(held, "target", on_npu, 2, CONTEXT)
    assert task.npu_events
    (trips,) = [phase for phase in task.phases if phase.name == "trips"]
    assert trips.compute_ps == 8 * 1_000_000  # eight stretches, 1000 ns each
    written, read = crossing_bytes(held.target_shape, 2, CONTEXT, on_npu)
    assert task.npu_events.write_bytes - written == 0  # nothing else of it is written
    assert task.npu_events.read_bytes - read == weight_bytes(held.target_shape, on_npu)
    assert task.npu_events.vector_ops == 0 < task.events.aau_cycles
    assert task.npu_events.npu_macs == 2 * weight_bytes(held.target_shape, on_npu)
    assert task.events.pim_macs > 0 == task.npu_events.pim_macs


def test_without_an_aau_operators_between_products_have_one_place():
    assert len(set(placements(devices()))) == 64
    there = list(placements(devices(unit="npu")))
    assert len(set(there)) == 32
    assert all("nonlinear" in each for each in there)
    assert mapped(devices(unit="npu"), "draft", there[0], 1, CONTEXT) is devices(unit="npu").draft(
        CONTEXT
    )
    for nowhere in (devices(unit="none"), devices("analytic")):
        assert len(set(placements(nowhere))) == 32
        assert not any("nonlinear" in each for each in placements(nowhere))


def by_rates(shape, on_npu, rows, *, drafts):
    """Return the time of a step, s, from the rates of mobile-paper with SLOW_LOAD."""
    efficiency = 0.9
    cell_s, mac_s = 256e9 * efficiency, 16 * 51.2e9 * efficiency
    kv = dict.fromkeys(GROUPS, 0) | {"attention": CONTEXT * shape.kv_bytes_per_token(2)}
    time_s = 0.0
    for each in GROUPS:
        read = weight_bytes(shape, (each,)) + kv[each]
        if each not in on_npu:
            time_s += read / cell_s if drafts else max(read / cell_s, rows * read / mac_s)
    weights = weight_bytes(shape, on_npu)
    read = weights + sum(kv[each] for each in on_npu)
    channel_s = 16 * 51.2e9 * efficiency
    return time_s + max(
        read / channel_s, weights * rows / (2 * 128 * 128 * 1e9), weights / (2 * 16 * 1e9)
    )


def test_the_search_finds_the_best_pair_of_placements_where_a_mix_wins():
    held = devices("analytic", overrides=mobile(**SLOW_LOAD))
    k = 8
    every = list(placements(held))
    best_s, draft, target = min(
        (
            k * by_rates(held.draft_shape, draft, 1, drafts=True)
            + by_rates(held.target_shape, target, k + 1, drafts=False),
            sorted(draft),
            sorted(target),
        )
        for draft, target in product(every, every)
    )
    found = search(held, k, CONTEXT)
    assert sorted(found.mapping.draft) == draft == ["attention"]
    assert sorted(found.mapping.target) == target == ["attention"]
    steps_ps = k * found.draft(CONTEXT).alone_ps + found.verify(k + 1, CONTEXT).alone_ps
    assert steps_ps == pytest.approx(best_s * 1e12, rel=1e-6)


def test_the_search_is_for_one_draft_length_and_takes_the_first_of_equals():
    # A row of multipliers a rank, and a fast channel: wide passes go to the NPU, narrow ones stay.
    held = devices("analytic", overrides=mobile(**{"npu.offchip_scope": "per_channel"}))
    nowhere = Mapping(draft=NOTHING, target=NOTHING, groups=GROUPS[:-1])
    assert search(held, 1, CONTEXT).mapping == nowhere
    assert search(held, 16, CONTEXT).mapping.draft == NOTHING
    assert search(held, 16, CONTEXT).mapping.target
    again = devices.__wrapped__(
        "analytic", overrides=mobile(**{"npu.offchip_scope": "per_channel"})
    )
    assert search(again, 16, CONTEXT).mapping == search(held, 16, CONTEXT).mapping


@pytest.mark.parametrize(
    ("pair", "draft", "target"),
    [
        (("llama2-7b", "llama2-13b"), NOTHING, NOTHING),
        # One key serves all heads: a rank's multipliers, not its cells, limit attention there.
        (
            ("palm-8b", "palm-30b"),
            frozenset({"attention", "nonlinear"}),
            frozenset({"attention", "nonlinear"}),
        ),
    ],
)
def test_mappings_of_packaged_pairs(pair, draft, target):
    # At the longest context of the default run: a prompt of 128, 1024 tokens.
    found = search(devices(pair=pair), 8, 1152)
    assert found.mapping == Mapping(draft=draft, target=target)
    for other in (NOTHING, frozenset[Group](GROUPS)):
        alone = MappedDevices(devices(pair=pair), Mapping(draft=other, target=other))
        assert found.round_ps(8, 1152) <= alone.round_ps(8, 1152)


def run(**overrides):
    config = load_config(
        "test",
        {"workload.trace": "iid:1", "workload.tokens": 9, "draft.rule": "fixed", **overrides},
    )
    return simulate(config, *prepare(config))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"nonlinear.unit": "npu"},
        {"memory.fidelity": "analytic"},
        {"memory.fidelity": "analytic"} | {f"platform.{k}": v for k, v in SLOW_LOAD.items()},
        {"platform.npu.offchip_scope": "per_rank"},
    ],
    ids=str,
)
def test_a_round_takes_what_the_search_promised(settings):
    outcome = run(scheme="specpim", **settings)
    # Eight drafted tokens, all accepted, and a bonus; the prompt of 128 tokens came before.
    assert outcome.ledger.passes == 1
    assert isinstance(outcome.devices, MappedDevices)
    assert outcome.time_ps - outcome.ledger.prefill_ps == outcome.devices.round_ps(8, 128)


def test_all_in_the_ranks_is_scheme_pim_sd():
    settings = {
        "memory.fidelity": "analytic",
        "workload.tokens": 48,
        "workload.trace": "smollm2-rtn4",
    }
    found = {scheme: metrics(run(scheme=scheme, **settings)) for scheme in ("specpim", "pim-sd")}
    told = found["specpim"].pop("mapping")
    # Rates know nothing of what lies between the products.
    assert told["draft"] == told["target"] == {"npu": [], "pim": list(GROUPS[:-1])}
    assert found["specpim"] | {"scheme": ""} == found["pim-sd"] | {"scheme": ""}


def test_energy_of_a_mix_is_split_by_device_and_adds_up():
    outcome = run(
        scheme="specpim",
        **{"memory.fidelity": "analytic", "workload.tokens": 64, "workload.trace": "smollm2-rtn4"},
        **{f"platform.{key}": value for key, value in SLOW_LOAD.items()},
    )
    found = metrics(outcome)
    assert found["mapping"]["target"]["npu"] == ["attention"]
    events = found["energy"]["events"]
    assert events["npu.committed"]["read_bytes"] > 0 == events["npu.committed"].get("pim_macs", 0)
    assert events["pim.committed"]["pim_macs"] > 0 == events["pim.committed"].get("read_bytes", 0)
    ledger, devices_ = outcome.ledger, outcome.devices
    expected = sum(
        times * devices_.verify(rows, context).events.npu_macs
        for (rows, context, _), times in ledger.verified.items()
    ) + sum(
        times * devices_.draft(context).events.npu_macs
        for context, times in ledger.draft_steps.items()
    )
    booked = sum(
        each.get("npu_macs", 0) for name, each in events.items() if not name.endswith("prefill")
    )
    assert booked == expected


def test_energy_of_what_is_all_on_the_npu_is_the_npus():
    outcome = run(
        scheme="specpim",
        **{"memory.fidelity": "analytic", "workload.tokens": 40, "mapping.draft_tokens": 16},
        **{"platform.npu.offchip_scope": "per_channel", "workload.trace": "smollm2-rtn4"},
    )
    found = metrics(outcome)
    assert found["mapping"]["target"]["pim"] == []
    assert found["mapping"]["draft"]["npu"] == []
    events = found["energy"]["events"]
    macs = events["npu.committed"]["npu_macs"], events["pim.committed"]["pim_macs"]
    assert all(macs)
    assert "npu_macs" not in events["pim.committed"]
    assert "pim_macs" not in events["npu.committed"]


def test_what_it_is_not_for_is_refused():
    held = MappedDevices(devices("analytic"), Mapping(draft=NOTHING, target=NOTHING))
    with pytest.raises(ValueError, match="take turns"):
        held.preverify(1, CONTEXT)
    with pytest.raises(UserError, match=r"mapping\.draft_tokens = 0"):
        load_config("test", {"scheme": "specpim", "mapping.draft_tokens": 0})
    with pytest.raises(UserError, match="do not fit on mobile-paper"):
        prepare(load_config("default", {"scheme": "specpim", "dlm": "palm-8b", "tlm": "palm-62b"}))
