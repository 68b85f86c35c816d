# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd.rtl.gtsu.params import (
    DRAIN_DEFAULT_CYCLES,
    DRAIN_LIMIT_CYCLES,
    DRAIN_WIDTH,
    PIM_PERIOD_PS,
    SWITCH_DEFAULT_CYCLES,
    SWITCH_LIMIT_CYCLES,
    WORST_SWITCH_CYCLES,
    WORST_SWITCH_PS,
    GtsuParams,
    Issue,
    Kind,
    Task,
)


def test_the_paper_configuration_has_the_published_sizes():
    params = GtsuParams()
    assert (params.ranks, params.task_entries, params.id_width) == (16, 8, 4)
    assert params.pointer_width == 3
    assert (params.pending_max, params.pending_width) == (9, 4)


def test_the_longest_switch_is_shorter_than_a_microsecond():
    assert WORST_SWITCH_CYCLES == 640 + 127 + 3 == 770
    assert WORST_SWITCH_PS == 962_500
    assert WORST_SWITCH_CYCLES < 800
    assert 800 * PIM_PERIOD_PS == 1_000_000


def test_the_defaults_are_legal_and_those_that_are_documented():
    assert SWITCH_DEFAULT_CYCLES * PIM_PERIOD_PS == 55_000
    assert DRAIN_DEFAULT_CYCLES * PIM_PERIOD_PS == 500_000
    assert SWITCH_DEFAULT_CYCLES <= SWITCH_LIMIT_CYCLES
    assert DRAIN_DEFAULT_CYCLES <= DRAIN_LIMIT_CYCLES < 1 << DRAIN_WIDTH


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": 1}, "ranks must be in 2..64, not 1"),
        ({"ranks": 65}, "ranks must be in 2..64, not 65"),
        ({"task_entries": 1}, "task_entries must be in 2..64, not 1"),
        ({"task_entries": 128}, "task_entries must be in 2..64, not 128"),
        ({"task_entries": 6}, "task_entries must be a power of two, not 6"),
        ({"id_width": 0}, "id_width must be in 1..16, not 0"),
        ({"id_width": 17}, "id_width must be in 1..16, not 17"),
    ],
)
def test_an_illegal_size_names_the_rule_and_the_value(change, message):
    with pytest.raises(ValueError, match=message):
        GtsuParams(**change)


@pytest.mark.parametrize(("entries", "width"), [(2, 2), (4, 3), (8, 4), (64, 7)])
def test_the_count_of_waiting_tasks_holds_every_entry_and_a_suspended_task(entries, width):
    assert GtsuParams(task_entries=entries).pending_width == width


def test_payloads_are_packed_from_the_lowest_bit():
    assert Task(Kind.PREVERIFY, 5).pack() == 0b1011
    assert Issue(Kind.DRAFT, True, 5).pack() == 0b10110
    assert Issue(Kind.PREVERIFY, False, 5).pack() == 0b10101


@pytest.mark.parametrize("kind", Kind)
def test_payloads_survive_the_wires(kind):
    for number in (0, 1, 15):
        assert Task.unpack(Task(kind, number).pack()) == Task(kind, number)
        for resumed in (False, True):
            issue = Issue(kind, resumed, number)
            assert Issue.unpack(issue.pack()) == issue
