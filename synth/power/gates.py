# SPDX-License-Identifier: Apache-2.0
"""Gates driven with recorded pins, and compared with what the RTL gave."""

from collections.abc import Sequence

import numpy as np

from ahasd.gen.yosys import YosysError
from ahasd.synth.power.activity import Activity
from ahasd.synth.power.kernel import NONE, Flops, Logic, Now, Pins, play, start
from ahasd.synth.power.netlist import HIGH, Netlist

POWER_UP_EDGES = 8
"""Edges of a reset after power-up at random: synchronisers pass it on in several."""


class GateError(YosysError):
    """Gates differ from the RTL that they were made of."""


class Gates:
    """A netlist that runs.

    As a record does, it starts after one edge of every clock with every reset active, all states 0
    before. Powered up at random, it starts after `POWER_UP_EDGES`, and what a stream carries is
    compared while it is valid: memories keep their contents in a reset.

    Parameters
    ----------
    netlist
        What runs.
    activity
        What its ports are called.
    seed
        Of random states at power-up; None is all 0.
    """

    def __init__(self, netlist: Netlist, activity: Activity, *, seed: int | None = None) -> None:
        self.netlist = netlist
        header = activity.header
        self._domains = header["domains"]
        starts = netlist.level_starts
        self._logic = Logic(
            netlist.gates.inputs,
            netlist.gates.tables,
            netlist.gate_nets,
            np.repeat(np.arange(len(starts) - 1), np.diff(starts)).astype(np.int32),
            starts,
            netlist.sink_starts,
            netlist.sinks,
        )
        forced = np.flatnonzero((netlist.clear != 0) | (netlist.preset != 0))
        self._flops = Flops(
            netlist.domains,
            netlist.gates_of,
            netlist.flops.inputs,
            netlist.flops.tables,
            netlist.clear,
            netlist.preset,
            forced.astype(np.int32),
            netlist.flop_sink_starts,
            netlist.flop_sinks,
            netlist.state_starts,
            netlist.state_nets,
            netlist.state_tables,
            np.array([gate.domain for gate in netlist.clocks.gates], np.int32),
            np.array([gate.enable for gate in netlist.clocks.gates], np.int32),
            np.array([gate.opens for gate in netlist.clocks.gates], np.uint8),
        )
        flops, gates = len(netlist.domains), len(netlist.gate_nets)
        states = np.zeros(flops, np.uint8)
        if seed is not None:
            states = np.random.default_rng(seed).integers(0, 2, flops, np.uint8)
        self._now = Now(
            values=np.zeros(netlist.nets, np.uint8),
            toggles=np.zeros(netlist.nets, np.int64),
            opened=np.zeros(len(netlist.clocks.gates), np.int64),
            first=np.full(len(netlist.clocks.gates), NONE, np.int32),
            behind=np.zeros(flops, np.int32),
            states=states,
            order=np.zeros(flops, np.int32),
            after=np.zeros(flops, np.uint8),
            queue=np.zeros(gates, np.int32),
            queued=np.zeros(gates, np.bool_),
            held=np.zeros(len(starts) - 1, np.int32),
            waiting=np.zeros(flops, np.int32),
            waits=np.zeros(flops, np.bool_),
            count=np.zeros(1, np.int32),
        )
        self._now.values[HIGH] = 1
        self._outputs = header["outputs"]
        self._inputs = header["inputs"]
        self._driven = self._pins(self._inputs)
        self._seen = self._pins(self._outputs, guarded=seed is not None)
        self._reset(POWER_UP_EDGES if seed is not None else 1)

    def _pins(self, pins: Sequence[tuple[str, int]], *, guarded: bool = False) -> Pins:
        """Return where pins are; those of a stream, if guarded, count while it is valid."""
        places: list[tuple[int, int, int, int]] = []
        ports = self.netlist.ports
        at = 0
        for name, width in pins:
            valid = ports.get(f"{name.rpartition('__')[0]}__valid", [HIGH])[0]
            guard = valid if guarded and name.endswith("__payload") else HIGH
            places += [(at + i // 8, i % 8, net, guard) for i, net in enumerate(ports[name])]
            at += -(-width // 8)
        columns = np.array(places, np.int32).reshape(-1, 4).T
        return Pins(*(np.ascontiguousarray(column) for column in columns))

    def _reset(self, edges: int) -> None:
        """Take edges of all clocks with every reset active, and settle without."""
        resets = [self.netlist.ports[f"{name}_rst"][0] for name in self._domains]
        self._now.values[resets] = 1
        start(self._logic, self._flops, self._now)
        width = sum(-(-width // 8) for _, width in self._inputs)
        clocks = np.full(edges, (1 << len(self._domains)) - 1, np.uint8)
        self._play(np.zeros((edges, width), np.uint8), None, clocks)
        self._now.values[resets] = 0
        start(self._logic, self._flops, self._now)

    def _play(
        self, inputs: np.ndarray, outputs: np.ndarray | None, clocks: np.ndarray
    ) -> tuple[int, int]:
        told = np.zeros((len(clocks), 0), np.uint8) if outputs is None else outputs
        return play(
            self._logic, self._flops, self._now, self._driven, self._seen, inputs, told, clocks
        )

    def run(
        self,
        inputs: np.ndarray,
        clocks: np.ndarray,
        outputs: np.ndarray | None = None,
        first: int = 0,
    ) -> np.ndarray:
        """Take edges; return how often each net changed, those of clocks left out.

        Parameters
        ----------
        inputs, clocks
            Rows of a record.
        outputs
            What the outputs must be, likewise; None compares nothing.
        first
            Number of the first edge, for messages.

        Raises
        ------
        GateError
            An output is another; the message names it, and the edge.
        """
        self._now.toggles[:] = 0
        self._now.opened[:] = 0
        edge, bit = self._play(inputs, outputs, clocks)
        if edge != NONE:
            pin = self._name(bit)
            raise GateError(f"gates differ from RTL at edge {first + edge} of the record: {pin}")
        return self._now.toggles.copy()

    @property
    def opened(self) -> np.ndarray:
        """Cycles of the last run in which each clock gate was open."""
        return self._now.opened.copy()

    def _name(self, bit: int) -> str:
        for name, _ in self._outputs:
            nets = len(self.netlist.ports[name])
            if bit < nets:
                return f"{name}[{bit}]"
            bit -= nets
        raise IndexError(bit)
