# SPDX-License-Identifier: Apache-2.0
"""What must hold of a unit, in Amaranth, around the unit; `ahasd.sim.formal` proves it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Fragment, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

Engine = Literal["pdr", "bmc"]

STEP = "step"
"""Clock domain of observers alone, with an edge in every cycle, whichever clocks have one."""


@dataclass(frozen=True)
class Still:
    """What `Properties.keep_still` was told."""

    domain: str
    condition: Signal
    settled: str | None


class Properties(Elaboratable):
    """A unit, observed; a subclass says in `check` what must hold.

    The unit's inputs are free, unless `check` drives them; of resets see `sim.formal.model.Model`.
    The unit is elaborated before `check` runs, which therefore can read what the unit keeps as
    attributes. `Assert`, `Assume` and `Cover` belong into the domain `comb` and carry a message,
    which is their name; those of one name are one property.

    Parameters
    ----------
    unit
        The hardware, built from its parameters and not elaborated yet.

    Attributes
    ----------
    still
        Every property on stillness, by its name.
    """

    def __init__(self, unit: Any) -> None:
        self.unit = unit
        self.still: dict[str, Still] = {}
        self._free: list[Signal] = []
        self._edges: dict[str, Signal] = {}
        self.cuts: list[Signal] = []

    def check(self, m: Module) -> None:
        """Add observers, assertions, assumptions and covers."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        """Build the unit with its properties around it."""
        m = Module()
        m.submodules.unit = Fragment.get(self.unit, platform)
        self.check(m)
        return m

    def ports(self) -> dict[str, tuple[Value, None]]:
        """Return, once elaborated, what the emission must keep, by name."""
        component: wiring.Component = self.unit
        listed = {
            "__".join(map(str, path)): (Value.cast(value), None)
            for path, _, value in component.signature.flatten(component)
        }
        added = [
            *self._free,
            *self.cuts,
            *self._edges.values(),
            *(still.condition for still in self.still.values()),
        ]
        return listed | {signal.name: (signal, None) for signal in added}

    def edge(self, domain: str) -> Signal:
        """Tell whether a domain has an edge in this cycle, for observers in the domain `step`."""
        return self._edges.setdefault(domain, Signal(name=f"edge_{domain}"))

    def free(self, name: str, width: int) -> Signal:
        """Return a value that may be anything in every cycle."""
        signal = Signal(width, name=name)
        self._free.append(signal)
        return signal

    def cut(self, m: Module, value: Any) -> None:
        """Let a signal be anything, whatever drives it, so that a proof looks at a part alone.

        What holds then, holds of the unit.
        """
        signal = Signal(len(Value.cast(value)), name=f"cut_{len(self.cuts)}")
        m.d.comb += signal.eq(value)
        self.cuts.append(signal)

    def constant(self, m: Module, name: str, width: int, domain: str = "pim") -> Signal:
        """Return a value that may be anything and never changes."""
        signal = Signal(width, name=name, reset_less=True)
        m.d[domain] += signal.eq(signal)
        return signal

    def past(self, m: Module, value: Any, domain: str = "pim") -> Value:
        """Return a value as it stood before the last edge of a domain; 0 after a reset."""
        then = Signal(len(Value.cast(value)))
        m.d[domain] += then.eq(value)
        return then

    def transfer(self, interface: stream.Interface) -> Value:
        """Tell whether a stream transfers in this cycle."""
        return Value.cast(interface.valid & interface.ready)

    def stays(self, m: Module, interface: stream.Interface, domain: str = "pim") -> Value:
        """Tell whether an offer that the last edge did not take is still there, unchanged.

        To be asserted of the unit's outputs, and assumed of its inputs where that is needed.
        """
        was_left = self.past(m, interface.valid & ~interface.ready, domain)
        payload = Value.cast(interface.payload)
        return ~was_left | (interface.valid & (payload == self.past(m, payload, domain)))

    def offered(self, names: Iterable[str] | None = None) -> Value:
        """Tell whether anything comes in.

        Parameters
        ----------
        names
            Inputs of the unit: streams, by their `valid`, and plain inputs, by any bit. By default
            every input stream.
        """
        members = self.unit.signature.members
        if names is None:
            names = [
                name
                for name, member in members.items()
                if member.flow == In and member.is_signature
            ]
        found = [getattr(self.unit, name) for name in names]
        return Cat(each.valid if hasattr(each, "valid") else each for each in found).any()

    def keep_still(
        self, m: Module, domain: str, condition: Value, name: str, settled: str | None = None
    ) -> None:
        """Demand that an edge of a domain changes no flip-flop of the unit under a condition.

        Every flip-flop and every bit of a memory that the unit's netlist has in that domain is
        compared with its next value, the domain's reset being off; those of one instance or
        structure together, one such group after the other.

        Parameters
        ----------
        m
            The module under `check`.
        domain
            Clock domain.
        condition
            When.
        name
            Of this property.
        settled
            Regular expression for the ends of names of flip-flops, in any domain, that are taken to
            hold their next value already: stages of synchronisers, and what follows them.
        """
        signal = Signal(name=f"still_{len(self.still)}")
        m.d.comb += signal.eq(condition)
        self.still[name] = Still(domain, signal, settled)


class Quiescence(Properties):
    """With `idle_<domain>` high and no input valid, an edge of that domain changes no state.

    All that is not among the inputs may change freely meanwhile. In a unit of one domain,
    `idle_<domain>` also lasts until an input comes.

    Parameters
    ----------
    unit
        As for `Properties`.
    domain
        Clock domain.
    inputs
        Names of what counts as input of that domain: streams, by their `valid`, and plain inputs,
        by any bit. By default every input stream.
    settled
        As for `keep_still`; only for a unit with other domains, which make these move.
    """

    def __init__(
        self,
        unit: Any,
        domain: str = "pim",
        *,
        inputs: Iterable[str] | None = None,
        settled: str | None = None,
    ) -> None:
        super().__init__(unit)
        self._domain = domain
        self._inputs = inputs
        self._settled = settled

    def check(self, m: Module) -> None:
        """Add the properties."""
        name = f"idle_{self._domain}"
        idle, offered, quiet = Signal(), Signal(), Signal()
        m.d.comb += [
            idle.eq(getattr(self.unit, name)),
            offered.eq(self.offered(self._inputs)),
            quiet.eq(idle & ~offered),
            Cover(quiet, f"{name} is high and no input is valid"),
            Cover(~idle, f"{name} is low"),
        ]
        self.keep_still(
            m,
            self._domain,
            quiet,
            f"{name}: an edge without input changes no state",
            self._settled,
        )
        if self._settled is None:
            was_quiet = self.past(m, quiet, self._domain)
            m.d.comb += Assert(~was_quiet | offered | idle, f"{name} lasts until an input comes")


class Settling(Properties):
    """Once every domain has been idle without input for some rounds, no edge changes any state.

    A round is a shortest stretch of time in which every domain has an edge. Idle without input
    is a domain if at each of its edges `idle_<domain>` is high and no input is valid. Nothing is
    taken for granted of synchronisers, nor of the relation of the clocks.

    Parameters
    ----------
    unit
        As for `Properties`.
    inputs
        Names of what counts as input, as for `Quiescence`, by domain.
    rounds
        How many.
    """

    def __init__(self, unit: Any, inputs: Mapping[str, Iterable[str]], rounds: int) -> None:
        super().__init__(unit)
        self._inputs = inputs
        self._rounds = rounds

    def check(self, m: Module) -> None:
        """Add a property for each domain."""
        disturbed, ends, settled = Signal(), Signal(), Signal()
        count = Signal(range(self._rounds + 1))
        quiet, had = Signal(len(self._inputs)), Signal(len(self._inputs))
        edges = Cat(self.edge(domain) for domain in self._inputs)
        m.d.comb += [
            quiet.eq(
                Cat(
                    getattr(self.unit, f"idle_{domain}") & ~self.offered(names)
                    for domain, names in self._inputs.items()
                )
            ),
            disturbed.eq((edges & ~quiet).any()),
            ends.eq((edges | had).all()),
            settled.eq(count == self._rounds),
        ]
        m.d.step += had.eq(Mux(disturbed | ends, 0, edges | had))
        m.d.step += count.eq(Mux(disturbed, 0, count + (ends & ~settled)))
        m.d.comb += [
            Cover(settled & quiet.all(), f"idle without input for {self._rounds} rounds"),
            Cover(settled & disturbed, "an input ends it"),
        ]
        for i, domain in enumerate(self._inputs):
            name = f"{domain}: idle without input for {self._rounds} rounds, no state changes"
            self.keep_still(m, domain, settled & quiet[i], name)


class Offers(Properties):
    """No output stream withdraws or changes what it offers.

    Parameters
    ----------
    unit
        As for `Properties`.
    domains
        Clock domain by name of the stream; `pim` for those that are not there.
    """

    def __init__(self, unit: Any, domains: dict[str, str] | None = None) -> None:
        super().__init__(unit)
        self._domains = domains or {}

    def check(self, m: Module) -> None:
        """Add a property for each output stream."""
        for name, member in self.unit.signature.members.items():
            if not (member.is_signature and isinstance(member.signature, stream.Signature)):
                continue
            if member.flow == Out:
                interface, domain = getattr(self.unit, name), self._domains.get(name, "pim")
                stalled = interface.valid & ~interface.ready
                m.d.comb += [
                    Assert(
                        self.stays(m, interface, domain),
                        f"{name}: an offer that is not taken stays, with its payload",
                    ),
                    Cover(stalled & self.past(m, stalled, domain), f"{name} is stalled"),
                ]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A class of properties, and how it is proved.

    Parameters
    ----------
    properties
        `Properties` of a unit.
    configuration
        Name of the catalogue's configuration for which the assertions are decided.
    engine, depth
        Engine of the assertions, and cycles if it is `bmc`.
    cover_configuration
        Another one for which the covers are reached, where a trace is too long in the first; not
        with assumptions.
    cover_depth
        Cycles within which every cover is reached.
    timeout_s
        Time for each property [s].
    """

    properties: Callable[[Any], Properties]
    configuration: str
    engine: Engine = "pdr"
    depth: int | None = None
    cover_configuration: str | None = None
    cover_depth: int
    timeout_s: int = 120

    @property
    def name(self) -> str:
        """Name of the class of properties."""
        return getattr(self.properties, "func", self.properties).__name__
