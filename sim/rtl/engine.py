# SPDX-License-Identifier: Apache-2.0
"""A compiled unit behind the engine interface."""

import ctypes
import json
from pathlib import Path
from typing import Any

from ahasd.rtl.configs import Unit
from ahasd.sim.ports import Grid, Pins, Span, Watch
from ahasd.sim.rtl.build import ENTRY, LIBRARY, build
from ahasd.sim.rtl.wrapper import DOMAINS, WATCHED, WORD_BITS, Pin, layout

WORD_MASK = (1 << WORD_BITS) - 1
NO_WORD = WORD_MASK


class _Words:
    """Pins packed into the C interface's words."""

    def __init__(self, pins: tuple[Pin, ...]) -> None:
        self.pins = pins
        self.array = (ctypes.c_uint64 * (sum(pin.words for pin in pins) or 1))()
        self._narrow = [(pin.name, pin.offset) for pin in pins if pin.words == 1]
        self._wide = [(pin.name, pin.offset, pin.words) for pin in pins if pin.words > 1]

    def write(self, values: Pins) -> None:
        array = self.array
        for name, offset in self._narrow:
            array[offset] = values[name]
        for name, offset, words in self._wide:
            value = values[name]
            for i in range(words):
                array[offset + i] = value >> (WORD_BITS * i) & WORD_MASK

    def read(self) -> dict[str, int]:
        array = self.array[:]
        found = {name: array[offset] for name, offset in self._narrow}
        for name, offset, words in self._wide:
            found[name] = sum(array[offset + i] << (WORD_BITS * i) for i in range(words))
        return found


class _Watch(ctypes.Structure):
    """The C struct of that name; see `ahasd.sim.rtl.wrapper`."""

    _fields_ = (
        *(
            (name, ctypes.c_uint64 * DOMAINS)
            for name in ("periods_ps", "next_ps", "quiet", "edges")
        ),
        *((name, ctypes.c_uint64) for name in ("until_ps", "settle", "now_word", "time_ps")),
        *((name, ctypes.c_uint64 * WATCHED) for name in ("level_words", "level_values")),
        *(
            (name, ctypes.c_uint32 * WATCHED)
            for name in ("transfer_words", "transfer_domains", "idle_words")
        ),
        *(
            (name, ctypes.c_uint32)
            for name in ("transfers", "levels", "idles", "now_domain", "clocks")
        ),
    )


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
        library.ahasd_advance.argtypes = [ctypes.c_void_p, words, words, ctypes.POINTER(_Watch)]
        library.ahasd_advance.restype = ctypes.c_int
        self._spans: dict[tuple[object, ...], _Watch] = {}
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
        word, domain = self._now(grid)
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

    def advance(self, pins: Pins, grid: Grid, watch: Watch) -> Span:
        """Take edges up to what is watched for, in one call; see `Engine`."""
        key = (grid.periods_ps, grid.now, watch.transfers, tuple(watch.levels), watch.idle)
        request = self._spans.get(key)
        if request is None:
            request = self._spans[key] = self._request(grid, watch)
        self._in.write(pins)
        count = len(grid.periods_ps)
        for i in range(count):
            request.next_ps[i] = grid.next_ps[i]
            request.quiet[i] = watch.quiet[i]
        for i, value in enumerate(watch.levels.values()):
            request.level_values[i] = value
        request.until_ps = grid.until_ps
        request.settle = watch.settle
        self.changed = bool(
            self._library.ahasd_advance(
                self._model, self._in.array, self._out.array, ctypes.byref(request)
            )
        )
        watch.quiet[:] = request.quiet[:count]
        edges = tuple(request.edges[:count])
        return Span(self._out.read(), request.clocks, request.time_ps, edges)

    def _request(self, grid: Grid, watch: Watch) -> "_Watch":
        """Translate what does not change from span to span."""
        place = {pin.name: pin.offset for pin in self._out.pins}
        if any(pin.words > 1 for pin in self._out.pins if pin.name in watch.levels):
            raise ValueError(f"only pins of up to {WORD_BITS} bits can be watched")
        request = _Watch()
        for i, period_ps in enumerate(grid.periods_ps):
            request.periods_ps[i] = period_ps
        for i, (pin, domain) in enumerate(watch.transfers):
            request.transfer_words[i] = place[pin]
            request.transfer_domains[i] = domain
        for i, pin in enumerate(watch.levels):
            request.level_words[i] = place[pin]
        for i, pin in enumerate(watch.idle):
            request.idle_words[i] = place[pin]
        request.transfers = len(watch.transfers)
        request.levels = len(watch.levels)
        request.idles = len(watch.idle)
        request.now_word, request.now_domain = self._now(grid)
        return request

    def _now(self, grid: Grid) -> tuple[int, int]:
        """Return the word of the pin that counts cycles, and of which domain."""
        name, domain = grid.now or ("", 0)
        word = next((pin.offset for pin in self._in.pins if pin.name == name), NO_WORD)
        return word, domain


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
