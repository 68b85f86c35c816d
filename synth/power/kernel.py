# SPDX-License-Identifier: Apache-2.0
"""The inner loop: settle what changed, level by level, and count every change of every net.

Delays are zero: within an edge a net changes once at most, so glitches are not seen.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

NONE = -1


class Logic(NamedTuple):
    """Gates in the order of their levels; see `ahasd.synth.power.netlist.Netlist`."""

    inputs: np.ndarray
    tables: np.ndarray
    nets: np.ndarray
    level_of: np.ndarray
    level_starts: np.ndarray
    sink_starts: np.ndarray
    sinks: np.ndarray


class Flops(NamedTuple):
    """Flip-flops, which of them have a clear or a preset, and the gates of their clocks.

    A flip-flop takes an edge of its domain if it has no gate, whose number is then below 0, or if
    that is open: if the net of its enable has the value that opens it before the edge.
    """

    domains: np.ndarray
    gates: np.ndarray
    inputs: np.ndarray
    following: np.ndarray
    clear: np.ndarray
    preset: np.ndarray
    forced: np.ndarray
    sink_starts: np.ndarray
    sinks: np.ndarray
    starts: np.ndarray
    nets: np.ndarray
    tables: np.ndarray
    gate_domains: np.ndarray
    gate_enables: np.ndarray
    gate_opens: np.ndarray


class Now(NamedTuple):
    """What changes: values and their changes, states, and what is to be evaluated.

    Of clock gates, `passes` says whether they are open, `opened` counts the cycles.

    Gates wait in `queue`, `held` of each level; flip-flops in `waiting`, `count[0]` of them. Those
    that an edge takes are put in `order`, with their next states in `after`.
    """

    values: np.ndarray
    toggles: np.ndarray
    opened: np.ndarray
    first: np.ndarray
    behind: np.ndarray
    states: np.ndarray
    order: np.ndarray
    after: np.ndarray
    queue: np.ndarray
    queued: np.ndarray
    held: np.ndarray
    waiting: np.ndarray
    waits: np.ndarray
    count: np.ndarray


class Pins(NamedTuple):
    """Where the bits of ports are in a row of a record, their nets, and when they count.

    A bit counts while the net of its guard is 1.
    """

    bytes: np.ndarray
    bits: np.ndarray
    nets: np.ndarray
    guards: np.ndarray


@njit(cache=True)
def _look_up(inputs, tables, values, i):
    row = np.uint64(0)
    for k in range(inputs.shape[1]):
        row |= np.uint64(values[inputs[i, k]]) << np.uint64(k)
    return np.uint8((tables[i] >> row) & np.uint64(1))


@njit(cache=True)
def _wait(flop, flops, now):
    """Have a flip-flop evaluated at its next edge: until an input changes, it holds what it is."""
    if now.waits[flop]:
        return
    now.waits[flop] = True
    gate = flops.gates[flop]
    if gate >= 0:
        now.behind[flop] = now.first[gate]
        now.first[gate] = flop
    else:
        now.waiting[now.count[0]] = flop
        now.count[0] += 1


@njit(cache=True)
def _change(net, value, logic, flops, now):
    """Give a net a value; note who has to look at it."""
    if now.values[net] == value:
        return
    now.values[net] = value
    now.toggles[net] += 1
    for k in range(logic.sink_starts[net], logic.sink_starts[net + 1]):
        gate = logic.sinks[k]
        if not now.queued[gate]:
            now.queued[gate] = True
            level = logic.level_of[gate]
            now.queue[logic.level_starts[level] + now.held[level]] = gate
            now.held[level] += 1
    for k in range(flops.sink_starts[net], flops.sink_starts[net + 1]):
        _wait(flops.sinks[k], flops, now)


@njit(cache=True)
def _settle(logic, flops, now):
    """Evaluate every gate that reads what changed."""
    for level in range(len(now.held)):
        k = 0
        while k < now.held[level]:
            gate = now.queue[logic.level_starts[level] + k]
            now.queued[gate] = False
            value = _look_up(logic.inputs, logic.tables, now.values, gate)
            _change(logic.nets[gate], value, logic, flops, now)
            k += 1
        now.held[level] = 0


@njit(cache=True)
def _drive(flop, state, logic, flops, now):
    """Give a flip-flop a state."""
    now.states[flop] = state
    for k in range(flops.starts[flop], flops.starts[flop + 1]):
        row = 1 if state else 2
        _change(flops.nets[k], np.uint8((flops.tables[k] >> row) & 1), logic, flops, now)


@njit(cache=True)
def _forced(flop, flops, now, otherwise):
    """Return 0 or 1 where a flip-flop is cleared or preset, else what else it would be."""
    if _look_up(flops.inputs, flops.clear, now.values, flop):
        return np.uint8(0)
    if _look_up(flops.inputs, flops.preset, now.values, flop):
        return np.uint8(1)
    return otherwise


@njit(cache=True)
def _settle_forced(logic, flops, now):
    """Settle, with the flip-flops that are held clear or preset."""
    _settle(logic, flops, now)
    again = True
    while again:
        again = False
        for flop in flops.forced:
            state = _forced(flop, flops, now, now.states[flop])
            if state != now.states[flop]:
                _drive(flop, state, logic, flops, now)
                again = True
        _settle(logic, flops, now)


@njit(cache=True)
def start(logic, flops, now):
    """Settle from the states; nets of constants keep their values."""
    for level in range(len(now.held)):
        first = logic.level_starts[level]
        now.held[level] = logic.level_starts[level + 1] - first
        for k in range(now.held[level]):
            now.queue[first + k] = first + k
            now.queued[first + k] = True
    for flop in range(len(now.states)):
        _drive(flop, now.states[flop], logic, flops, now)
        _wait(flop, flops, now)
    _settle_forced(logic, flops, now)


@njit(cache=True)
def _take(flop, taken, flops, now):
    """Note the next state of a flip-flop that has an edge, as one of those taken."""
    following = _look_up(flops.inputs, flops.following, now.values, flop)
    now.after[taken] = _forced(flop, flops, now, following)
    now.order[taken] = flop
    now.waits[flop] = False


@njit(cache=True)
def _clock(mask, logic, flops, now):
    """Take an edge of the domains in a mask."""
    left = 0
    taken = 0
    for k in range(now.count[0]):
        flop = now.waiting[k]
        if (mask >> flops.domains[flop]) & 1:
            _take(flop, taken, flops, now)
            taken += 1
        else:
            now.waiting[left] = flop
            left += 1
    now.count[0] = left
    for gate in range(len(flops.gate_enables)):
        is_open = now.values[flops.gate_enables[gate]] == flops.gate_opens[gate]
        if is_open and (mask >> flops.gate_domains[gate]) & 1:
            now.opened[gate] += 1
            flop = now.first[gate]
            while flop >= 0:
                _take(flop, taken, flops, now)
                taken += 1
                flop = now.behind[flop]
            now.first[gate] = NONE
    for k in range(taken):
        flop = now.order[k]
        if now.after[k] != now.states[flop]:
            _drive(flop, now.after[k], logic, flops, now)


@njit(cache=True)
def play(logic, flops, now, driven, seen, inputs, outputs, clocks):
    """Take the edges of a record.

    Returns
    -------
    int, int
        The first edge before which an output differs, and the number of its bit; `NONE` if none
        does. Nothing is compared where `outputs` has no columns.
    """
    compared = outputs.shape[1] > 0
    for edge in range(len(clocks)):
        for k in range(len(driven.nets)):
            value = (inputs[edge, driven.bytes[k]] >> driven.bits[k]) & 1
            _change(driven.nets[k], np.uint8(value), logic, flops, now)
        _settle_forced(logic, flops, now)
        if compared:
            for k in range(len(seen.nets)):
                value = (outputs[edge, seen.bytes[k]] >> seen.bits[k]) & 1
                if now.values[seen.guards[k]] and now.values[seen.nets[k]] != value:
                    return edge, k
        _clock(clocks[edge], logic, flops, now)
    return NONE, NONE
