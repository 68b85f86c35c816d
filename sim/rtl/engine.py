# SPDX-License-Identifier: Apache-2.0
"""A compiled unit behind the engine interface."""

import ctypes
import json
from pathlib import Path
from typing import Any

from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Grid, Pins
from ahasd.sim.rtl.build import ENTRY, LIBRARY, build
from ahasd.sim.rtl.wrapper import WORD_BITS, Pin, layout

WORD_MASK = (1 << WORD_BITS) - 1
NO_WORD = WORD_MASK


class _Words:
    """Pins packed into the C interface's words."""

    def __init__(self, pins: tuple[Pin, ...]) -> None:
        self.pins = pins
        self.array = (ctypes.c_uint64 * (sum(pin.words for pin in pins) or 1))()

    def write(self, values: Pins) -> None:
        array = self.array
        for pin in self.pins:
            value = values[pin.name]
            if pin.words == 1:
                array[pin.offset] = value
            else:
                for i in range(pin.words):
                    array[pin.offset + i] = value >> (WORD_BITS * i) & WORD_MASK

    def read(self) -> dict[str, int]:
        array = self.array
        return {
            pin.name: array[pin.offset]
            if pin.words == 1
            else sum(array[pin.offset + i] << (WORD_BITS * i) for i in range(pin.words))
            for pin in self.pins
        }


class RtlEngine:
    """A unit compiled by CXXRTL.

    Parameters
    ----------
    folder
        Made by `build`.
    """

    def __init__(self, folder: Path) -> None:
        ports = json.loads((folder / ENTRY).read_text())["ports"]
        self._in = _Words(layout(ports, "in"))
        self._out = _Words(layout(ports, "out"))
        self._library = library = ctypes.CDLL(str(folder / LIBRARY))
        words = ctypes.POINTER(ctypes.c_uint64)
        library.ahasd_create.restype = ctypes.c_void_p
        library.ahasd_destroy.argtypes = [ctypes.c_void_p]
        library.ahasd_destroy.restype = None
        library.ahasd_step.argtypes = [ctypes.c_void_p, ctypes.c_uint32, words, words]
        library.ahasd_run.argtypes = [
            ctypes.c_void_p,
            words,
            words,
            ctypes.c_uint64,
            words,
            ctypes.c_uint64,
            ctypes.c_uint32,
        ]
        library.ahasd_run.restype = ctypes.c_uint64
        self._model = library.ahasd_create()
        self.changed = False

    @classmethod
    def of(cls, unit: Unit, params: Any) -> "RtlEngine":
        """Build the unit if need be and start it."""
        return cls(build(unit, params))

    def __del__(self) -> None:
        model = getattr(self, "_model", None)
        if model:
            self._library.ahasd_destroy(model)

    def step(self, pins: Pins, clocks: int, time_ps: int) -> dict[str, int]:
        """Take one edge; see `Engine`."""
        self._in.write(pins)
        self.changed = bool(
            self._library.ahasd_step(self._model, clocks, self._in.array, self._out.array)
        )
        return self._out.read()

    def run(self, pins: Pins, grid: Grid) -> int | None:
        """Take every edge of a grid; see `Engine`."""
        self._in.write(pins)
        numbers = ctypes.c_uint64 * len(grid.periods_ps)
        pin, domain = grid.now or ("", 0)
        word = next((each.offset for each in self._in.pins if each.name == pin), NO_WORD)
        changed_ps = self._library.ahasd_run(
            self._model,
            numbers(*grid.periods_ps),
            numbers(*grid.next_ps),
            grid.until_ps,
            self._in.array,
            word,
            domain,
        )
        return changed_ps or None


class WaveEngine(RtlEngine):
    """A compiled unit that also writes a waveform of every signal in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        library = self._library
        words = ctypes.POINTER(ctypes.c_uint64)
        library.ahasd_sample.argtypes = [ctypes.c_void_p, words, ctypes.c_uint64]
        library.ahasd_sample.restype = None
        library.ahasd_waves.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p)]
        library.ahasd_waves.restype = ctypes.c_size_t

    @classmethod
    def of(cls, unit: Unit, params: Any) -> "WaveEngine":
        """Build the unit with waveforms if need be and start it."""
        return cls(build(unit, params, waves=True))

    def sample(self, pins: Pins, time_ps: int) -> None:
        """Append the settled values before an edge at `time_ps` to the waveform."""
        self._in.write(pins)
        self._library.ahasd_sample(self._model, self._in.array, time_ps)

    def vcd(self) -> str:
        """Return the waveform so far as VCD text."""
        text = ctypes.c_char_p()
        length = self._library.ahasd_waves(self._model, ctypes.byref(text))
        return ctypes.string_at(text, length).decode()
