# SPDX-License-Identifier: Apache-2.0
"""What must hold of a unit, in Amaranth, around the unit; `ahasd.sim.formal` proves it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Fragment, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

Engine = Literal["pdr", "bmc"]


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
        added = [*self._free, *(still.condition for still in self.still.values())]
        return listed | {signal.name: (signal, None) for signal in added}

    def free(self, name: str, width: int) -> Signal:
        """Return a value that may be anything in every cycle."""
        signal = Signal(width, name=name)
        self._free.append(signal)
        return signal

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
        compared with its next value, the domain's reset being off.

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
