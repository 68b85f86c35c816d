# SPDX-License-Identifier: Apache-2.0
"""The fast controller: the compiled kernel behind the types of `controller`."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ahasd.system.devices.dram import controller_kernel as kernel
from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.controller import Options, Requests, Served
from ahasd.system.devices.dram.controller_reference import NEVER_OVERDUE
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.timing import Timing

_REFRESH = {
    "none": kernel.NO_REFRESH,
    "all-bank": kernel.REFRESH_ALL,
    "per-bank": kernel.REFRESH_PER_BANK,
}


def serve(timing: Timing, requests: Requests, options: Options | None = None) -> Served:
    """Serve requests on one channel, and return what became of them.

    Raises
    ------
    ValueError
        An address is outside of the channel, or the mapping does not suit the memory.
    """
    options = options or Options()
    if options.refresh == "none":
        timing = replace(timing, refresh_slack=NEVER_OVERDUE)
    engine = FastEngine(timing)
    interval = timing.t_refi_pb if options.refresh == "per-bank" else timing.t_refi
    for rank in range(timing.ranks):
        engine.set_refresh_due(0, rank, interval + rank * interval // timing.ranks)
    places = options.mapping.places(timing, requests.addresses)
    rank, group, bank, row, column = places.T
    queue = np.zeros((len(places), kernel.Q_HOLDS_UP + 1), np.int64)
    queue[:, kernel.Q_BANK] = (rank * timing.bank_groups + group) * timing.banks_per_group + bank
    queue[:, kernel.Q_ROW] = row
    queue[:, kernel.Q_COLUMN] = column
    queue[:, kernel.Q_WRITE] = requests.writes
    queue[:, kernel.Q_ARRIVAL] = requests.arrivals
    queue[0, kernel.Q_ARRIVAL] = max(requests.arrivals[0], requests.gaps[0])
    queue[:, kernel.Q_GAP] = requests.gaps
    queue[:, [kernel.Q_DONE, kernel.Q_WAITS_FOR]] = -1
    count = timing.ranks * timing.banks
    banks = np.zeros((count, kernel.BANK_FIELDS), np.int64)
    banks[:, kernel.K_OPENED_FOR] = banks[:, kernel.K_KNOWN :] = -1
    state = np.zeros(kernel.STATES, np.int64)
    state[kernel.BANKS] = count
    # A request for which a row was opened has left its queue, one for each bank.
    capacity = options.read_depth + options.write_depth + count * (1 + options.bank_depth)
    commands = np.zeros(len(Op), np.int64)
    kernel.serve_all(
        queue,
        np.empty(capacity, np.int64),
        banks,
        np.zeros(timing.ranks, np.int64),
        state,
        commands,
        _numbers(timing, options),
        engine.minima_table,
        engine.sizes_table,
        *engine.tables,
    )
    return Served(
        timing=timing,
        writes=requests.writes,
        entered=queue[:, kernel.Q_ENTERED],
        done=queue[:, kernel.Q_DONE],
        forwarded=int(state[kernel.FORWARDED]),
        commands={op: int(commands[op]) for op in Op},
    )


def _numbers(timing: Timing, options: Options) -> npt.NDArray[np.int64]:
    """Return options as the kernel takes them, in the order of its names."""
    return np.array(
        [
            options.read_depth,
            options.write_depth,
            options.drain_from,
            options.drain_to,
            options.bank_depth,
            options.hits_cap,
            options.hits_limit,
            options.page == "closed",
            _REFRESH[options.refresh],
            timing.rl + timing.burst,
            timing.wl + timing.burst,
        ],
        np.int64,
    )
