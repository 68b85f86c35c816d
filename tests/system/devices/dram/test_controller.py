# SPDX-License-Identifier: Apache-2.0
"""The controller on cases worked out by hand, in both implementations."""

from dataclasses import replace

import numpy as np
import pytest

from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.controller import Options, Requests
from ahasd.system.devices.dram.controller_fast import serve
from ahasd.system.devices.dram.controller_mapping import Mapping
from ahasd.system.devices.dram.controller_reference import ReferenceController
from ahasd.system.devices.dram.controller_traffic import at_rate, mixed, random, reads, sequential

# Bursts of a row, then the rows of a bank: an address says at once where it lies.
PLAIN = Mapping(order=("rank", "group", "bank", "row", "column"))
ROW = 2048
BANK = 16 * ROW
GROUP = 4 * BANK
LONG = {"refresh": "none", "mapping": PLAIN}


def by_reference(timing, requests, options):
    return ReferenceController(timing, requests, options).run()


@pytest.fixture(params=[by_reference, serve], ids=["reference", "fast"])
def controller(request):
    return request.param


@pytest.fixture
def lpddr5(load):
    """LPDDR5-6400, one channel of one rank: RL 17, WL 9, burst 2, tRCD 15, tRP 15, tRTP 8."""
    return load("lpddr5-6400", channels=1, ranks=1, rows=16)


def asked(addresses, *, writes=None, arrivals=()):
    count = len(addresses)
    return Requests(
        addresses=np.array(addresses),
        writes=np.array(writes or [False] * count),
        arrivals=np.array(arrivals, np.int64),
    )


@pytest.mark.parametrize(
    ("addresses", "latency"),
    [
        ([0], 15 + 17 + 2),
        # The row is open since long.
        ([0, 32], 17 + 2),
        # Another row of the bank: precharge, activate, read.
        ([0, ROW], 15 + 15 + 17 + 2),
        # Another bank.
        ([0, BANK], 15 + 17 + 2),
    ],
)
def test_a_read_alone_takes_what_its_row_needs(controller, lpddr5, addresses, latency):
    requests = asked(addresses, arrivals=[1000 * i for i in range(len(addresses))])
    served = controller(lpddr5, requests, Options(**LONG))
    assert served.read_latencies()[-1] == latency


def test_a_stream_over_the_groups_keeps_the_bus_full(controller, lpddr5):
    # Each burst in the next of four groups, 16 in all: ACT (2 cycles each on the bus), then a read
    # each tCCD_S = 2; groups whose row opens last set the begin.
    mapping = Mapping(order=("row", "rank", "bank", "column", "group"))
    options = Options(refresh="none", mapping=mapping)
    served = controller(lpddr5, reads(sequential(400, 32)), options)
    # First ACT at 0, its read at 15, data from 32; the other groups' rows open while it is read.
    begin = 15 + 17
    assert begin + 400 * 2 <= served.cycles <= begin + 400 * 2 + 16
    assert served.commands[Op.RD] == 400


def test_reads_of_one_group_come_each_t_ccd_l(controller, lpddr5):
    served = controller(lpddr5, reads(sequential(64, 32)), Options(**LONG))
    assert served.cycles == 15 + 63 * 4 + 17 + 2
    assert served.row_hits == 63 / 64


def test_rows_at_random_are_bound_by_four_activates_each_t_faw(lpddr5):
    # 4 x 32 B each 20 ns are 6.4 GB/s: Ramulator 2.1 reaches 95 % of it.
    timing = replace(lpddr5, rows=65536)
    addresses = random(np.random.default_rng(0), 20_000, 32, 2**30)
    served = serve(timing, reads(addresses), Options(refresh="none", hits_cap=0, hits_limit=0))
    assert 0.9 < served.bytes_s / (6.4 * 10**9) <= 1


def test_refresh_takes_its_share_of_a_stream(lpddr5):
    # All banks are closed, refreshed for tRFC and opened again each tREFI.
    mapping = Mapping(order=("row", "rank", "bank", "column", "group"))
    requests = reads(sequential(16 * 64 * 16, 32))
    served = {
        refresh: serve(lpddr5, requests, Options(refresh=refresh, mapping=mapping))
        for refresh in ("none", "all-bank", "per-bank")
    }
    refreshes = served["all-bank"].commands[Op.REFAB]
    assert refreshes == served["all-bank"].cycles // 3124
    more = served["all-bank"].cycles - served["none"].cycles
    # tRTP, tRPab, tRFC, tRCD, and no more than the bursts that the queue makes up for.
    assert 224 * refreshes < more <= (8 + 17 + 224 + 15 + 10) * refreshes
    sets = served["per-bank"].commands[Op.REFPB]
    assert abs(sets - served["per-bank"].cycles / 390) <= 1
    assert served["none"].cycles <= served["per-bank"].cycles < served["all-bank"].cycles


def test_what_is_ready_goes_before_what_is_older(controller, lpddr5):
    # The second needs a precharge of the first's bank; the third hits the open row.
    served = controller(lpddr5, asked([0, ROW, 32]), Options(**LONG))
    first, conflict, hit = served.done.tolist()
    assert first < hit < conflict
    # The row stays open tRAS = 34 cycles; then PRE, ACT and the read.
    assert conflict == 34 + 15 + 15 + 17 + 2


def test_of_what_is_ready_the_oldest_goes_first(controller, lpddr5):
    served = controller(lpddr5, asked([0, GROUP, 2 * GROUP, 3 * GROUP]), Options(**LONG))
    assert served.done.tolist() == sorted(served.done.tolist())


@pytest.mark.parametrize("limit", [1, 4, 12])
def test_an_older_request_of_the_bank_waits_for_so_many_accesses_and_no_more(
    controller, lpddr5, limit
):
    # One of another row after the first, then hits without end.
    addresses = [0, ROW] + [32 * i for i in range(1, 40)]
    options = Options(read_depth=64, hits_cap=1, hits_limit=limit, **LONG)
    served = controller(lpddr5, asked(addresses), options)
    assert (served.done < served.done[1]).sum() == limit
    # The last of them comes each tCCD_L = 4 after the first; then tRTP, tRP, tRCD.
    last = 15 + 4 * (limit - 1)
    assert served.done[1] == max(34, last + 8) + 15 + 15 + 17 + 2


def test_without_a_limit_accesses_of_an_open_row_put_off_an_older_request(controller, lpddr5):
    # A precharge may come tRTP = 8 after the last read, and a read comes each tCCD_L = 4.
    addresses = [0, ROW] + [32 * i for i in range(1, 20)]
    served = controller(lpddr5, asked(addresses), Options(hits_limit=0, **LONG))
    assert served.done[1] == served.done.max()


def test_a_row_that_was_opened_for_a_request_stays_until_it_is_read(controller, lpddr5):
    # Two rows of one bank by turns: never is one opened in vain.
    served = controller(lpddr5, asked([0, ROW] * 8), Options(hits_cap=0, hits_limit=0, **LONG))
    assert served.commands[Op.ACT] <= 16
    assert served.commands[Op.PRE] == served.commands[Op.ACT] - 1


def test_writes_wait_until_enough_do_and_then_go_until_few_are_left(controller, lpddr5):
    # Reads come all along; eight writes in between, each in a row that is open.
    count = 120
    writes = [i % 10 == 9 for i in range(count)]
    options = Options(read_depth=16, write_depth=8, drain_from=8, drain_to=4, **LONG)
    served = controller(
        lpddr5, asked([32 * (i % 64) for i in range(count)], writes=writes), options
    )
    order = np.argsort(served.done - np.where(writes, 9, 17), kind="stable")
    kinds = np.array(writes)[order]
    runs = np.flatnonzero(np.diff(kinds.astype(int)) == 1)
    lengths = [int(np.argmin(np.append(kinds[run + 1 :], False))) for run in runs]
    # Eight wait, four go; what came in meanwhile may go too. The end gives all.
    assert all(4 <= length <= 8 for length in lengths[:-1])
    assert lengths


def test_a_write_after_a_read_waits_for_the_bus_to_turn(controller, lpddr5):
    served = controller(lpddr5, asked([0, 32], writes=[False, True]), Options(**LONG))
    # RD at 15; WR after RL + burst + 2 - WL = 12 cycles, its data WL = 9 later.
    assert served.done.tolist() == [15 + 17 + 2, 15 + 12 + 9 + 2]


def test_a_read_behind_a_write_of_its_burst_is_answered_from_the_queue(controller, lpddr5):
    requests = asked([0, ROW, 0, 32], writes=[False, True, False, False])
    served = controller(lpddr5, requests, Options(**LONG))
    assert served.forwarded == 0
    requests = asked([0, ROW, ROW], writes=[False, True, False])
    served = controller(lpddr5, requests, Options(**LONG))
    assert served.forwarded == 1
    assert served.done[2] == served.entered[2] + 1
    assert served.commands[Op.RD] == 1


def test_a_write_does_not_overtake_a_read_of_its_burst(controller, lpddr5):
    # Enough writes for a drain come while the read of the first's burst waits for its row.
    addresses = [0, ROW] + [ROW + 32 * i for i in range(8)]
    writes = [False, False] + [True] * 8
    options = Options(write_depth=8, drain_from=2, drain_to=0, **LONG)
    served = controller(lpddr5, asked(addresses, writes=writes), options)
    assert served.done[2] > served.done[1]
    assert (served.done > 0).all()


def test_a_closed_page_is_closed_when_nobody_wants_it(controller, lpddr5):
    requests = asked([0, ROW], arrivals=[0, 1000])
    served = controller(lpddr5, requests, Options(page="closed", **LONG))
    assert served.read_latencies().tolist() == [34, 34]
    hits = asked([0, 32, 64], arrivals=[0, 0, 0])
    served = controller(lpddr5, hits, Options(page="closed", **LONG))
    assert served.commands[Op.ACT] == 1


def test_requests_enter_when_they_come_and_there_is_room(controller, lpddr5):
    served = controller(lpddr5, at_rate(reads(sequential(8, 32)), 50), Options(**LONG))
    assert served.entered.tolist() == [50 * i for i in range(8)]
    # The first leaves the queue of one at its ACT, the others at their reads from cycle 19 on.
    served = controller(lpddr5, reads(sequential(4, 32)), Options(read_depth=1, **LONG))
    assert served.entered.tolist() == [0, 1, 20, 24]
    paused = replace(reads(sequential(4, 32)), gaps=np.array([5, 0, 7, 100]))
    served = controller(lpddr5, paused, Options(**LONG))
    assert served.entered.tolist() == [5, 6, 13, 113]


def test_a_rank_is_read_while_the_other_is_refreshed(lpddr5):
    two = replace(lpddr5, ranks=2)
    mapping = Mapping(order=("row", "bank", "column", "group", "rank"))
    addresses = random(np.random.default_rng(0), 4000, 32, 2**20)
    served = serve(two, reads(addresses), Options(mapping=mapping, read_depth=64))
    alone = serve(two, reads(addresses), Options(mapping=mapping, read_depth=64, refresh="none"))
    refreshes = served.commands[Op.REFAB]
    assert refreshes >= 4
    assert served.cycles - alone.cycles < 224 * refreshes


def test_queues_of_banks_are_served_in_turns(controller, lpddr5):
    # Two rows of one bank first, then one of another: in turns, the other bank's comes second.
    addresses = [0, 32, 64, 96, GROUP]
    served = controller(lpddr5, asked(addresses), Options(bank_depth=4, **LONG))
    assert served.done[4] < served.done[2]


def test_nothing_is_lost_and_the_bus_is_never_overbooked(timing):
    rng = np.random.default_rng(3)
    small = replace(timing, channels=1)
    requests = mixed(rng, random(rng, 3000, timing.burst_bytes, 2**22), 0.6)
    served = serve(small, requests, Options())
    assert served.commands[Op.RD] + served.commands[Op.WR] + served.forwarded == 3000
    assert served.bus_share <= 1
    assert served.bytes_s <= small.channel_bytes_s * (1 + served.forwarded / 3000)
    assert (served.done > served.entered).all()
    assert (np.diff(served.entered) >= 1).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"read_depth": 0}, "read_depth = 0 must be at least 1"),
        ({"write_depth": 0}, "write_depth = 0"),
        ({"bank_depth": -1}, "bank_depth = -1"),
        ({"hits_cap": -1}, "hits_cap = -1"),
        ({"hits_limit": 3}, "hits_limit = 3 0 or at least as much"),
        ({"hits_limit": -1}, "hits_limit = -1"),
        ({"drain_from": 33}, "drain_from = 33 must rise from 0 to write_depth = 32"),
        ({"drain_to": 26}, "drain_to = 26 and drain_from = 26"),
        ({"page": "ajar"}, "page = 'ajar' must be one of"),
        ({"refresh": "never"}, "refresh = 'never'"),
    ],
)
def test_options_out_of_range_are_refused(change, said):
    with pytest.raises(ValueError, match=said):
        Options(**change)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"addresses": []}, "at least 1"),
        ({"writes": [True]}, "must be equal"),
        ({"arrivals": [3, 2]}, "not fall"),
        ({"arrivals": [-1, 2]}, "begin at 0"),
        ({"gaps": [0, -4]}, "gaps must be at least 0, one is -4"),
    ],
)
def test_requests_that_make_no_sense_are_refused(fields, said):
    given = {"addresses": [0, 32], "writes": [False, False], "arrivals": [], "gaps": [], **fields}
    numbers = {name: np.array(each, np.int64) for name, each in given.items()}
    with pytest.raises(ValueError, match=said):
        Requests(
            addresses=numbers["addresses"],
            writes=numbers["writes"].astype(np.bool_),
            arrivals=numbers["arrivals"],
            gaps=numbers["gaps"],
        )


@pytest.mark.parametrize("address", [-32, 16 * 16 * 2048])
def test_an_address_outside_of_the_channel_is_refused(controller, lpddr5, address):
    with pytest.raises(ValueError, match="addresses must be 0 to below 524288 in lpddr5-6400"):
        controller(lpddr5, asked([0, address]), Options())
