# SPDX-License-Identifier: Apache-2.0
"""Who did what in a run, what became of it, and the energy of that.

Counts are integers and energies exact fractions until a report is made, so that every split of a
total adds up to it to the last digit.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, Protocol, get_args

from ahasd.system.devices.work import Events
from ahasd.system.energy.hardware import Hardware
from ahasd.system.energy.table import EnergyTable, Level, Range

Fate = Literal[
    "committed", "rejected", "flushed", "in_flight", "preverification", "prefill", "standing"
]
FATES: tuple[Fate, ...] = get_args(Fate)
"""What work was for: tokens that were emitted, or that were refused; drafts thrown away unjudged,
or unjudged at the end; pre-verification; prefill; nothing, as it only took time."""


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One term of the sum: events of a kind, times a row of the table."""

    component: str
    events: str
    row: str
    rows_per_event: int = 1


BITS, NANO = 8, 1000
CHARGES = (
    Charge(component="activate", events="activates", row="activate_pj"),
    *(
        Charge(component=component, events=events, row=row, rows_per_event=BITS)
        for events in ("read_bytes", "write_bytes")
        for component, row in (
            ("array", "array_pj_per_bit"),
            ("column", "column_pj_per_bit"),
            ("channel", "io_pj_per_bit"),
            ("channel", "phy_pj_per_bit"),
        )
    ),
    Charge(
        component="pim_read",
        events="pim_read_bytes",
        row="pim_read_pj_per_bit",
        rows_per_event=BITS,
    ),
    Charge(component="pim_mac", events="pim_macs", row="pim_mac_pj"),
    Charge(component="npu_mac", events="npu_macs", row="npu_mac_pj"),
    Charge(component="scratchpad", events="scratchpad_bytes", row="scratchpad_pj_per_byte"),
    Charge(component="vector", events="vector_ops", row="vector_pj"),
    Charge(component="aau", events="aau_cycles", row="aau_pj_per_cycle"),
    Charge(component="control", events="control_steps", row="control_pj_per_step"),
    Charge(component="refresh", events="refreshes", row="refresh_nj", rows_per_event=NANO),
    Charge(component="link", events="host_bytes", row="link_pj_per_bit", rows_per_event=BITS),
)

IDLE = {"aau_idle": ("pim", "aau_idle_w"), "control_idle": ("control", "control_idle_w")}
"""What hardware takes while nobody asks it, by component: its device and its row."""

STANDING = ("background", "static", *IDLE)
"""Components that take power all the time."""

WALL_ONLY = ("refresh", "link", *STANDING)
"""Components that a report of the devices alone leaves out."""

COMPONENTS = (*dict.fromkeys(charge.component for charge in CHARGES), *STANDING)


class Prices(Protocol):
    """Rows by key: those of a table, or of a table and of hardware."""

    def row(self, key: str) -> Range:
        """Return a row; ValueError if there is none."""
        ...


def energy_pj(events: Events, prices: Prices, level: Level) -> dict[str, Fraction]:
    """Return the energy of events by component, pJ, exact; components without events are left out.

    Raises
    ------
    ValueError
        There is no row for an event that happened.
    """
    found: dict[str, Fraction] = {}
    for charge in CHARGES:
        count = getattr(events, charge.events) * charge.rows_per_event
        if count:
            energy = count * prices.row(charge.row).at(level)
            found[charge.component] = found.get(charge.component, Fraction(0)) + energy
    return found


def standing_pj(
    table: EnergyTable, hardware: Hardware, level: Level, ranks: int, time_ps: int
) -> dict[tuple[str, str], Fraction]:
    """Return the energy of being on by device and component, pJ; a watt is a pJ a ps."""
    found = {("machine", "static"): table.static_w.at(level) * time_ps}
    if ranks:
        found["memory", "background"] = table.row("background_w").at(level) * ranks * time_ps
    for component, (device, key) in IDLE.items():
        if key in hardware.rows:
            found[device, component] = hardware.rows[key].at(level) * time_ps
    return found


class EnergyAccount:
    """Events of a run by the device that caused them and by fate.

    Refreshes of the events given to `add` are left out: the memory is refreshed whether or not
    anybody works, so they are counted by time, as `standing`, and none twice.

    Parameters
    ----------
    ranks
        Ranks that are refreshed and stand by; 0 where `static_w` covers the memory.
    t_refi_ps
        Interval of REFab of one rank, ps.

    Raises
    ------
    ValueError
        A parameter is out of range.
    """

    def __init__(self, *, ranks: int, t_refi_ps: int) -> None:
        if ranks < 0 or t_refi_ps < 1:
            raise ValueError(f"ranks = {ranks} must be 0 or more, t_refi_ps = {t_refi_ps} above 0")
        self.ranks = ranks
        self.t_refi_ps = t_refi_ps
        self.work: dict[tuple[str, Fate], Events] = {}

    def add(self, device: str, fate: Fate, events: Events, times: int = 1) -> None:
        """Book events that a device caused, as often as they happened.

        Parameters
        ----------
        device
            Who caused them, such as `npu` or `pim`: a read by the NPU is the NPU's.
        fate
            One of `FATES` except `standing`.
        events
            Of one occurrence.
        times
            Occurrences, 0 or more.

        Raises
        ------
        ValueError
            The fate is unknown, or `times` negative.
        """
        if fate not in FATES or fate == "standing":
            raise ValueError(f"fate = {fate!r} must be one of {', '.join(FATES[:-1])}")
        if times < 0:
            raise ValueError(f"times = {times} must be 0 or more")
        booked = self.work.get((device, fate), Events())
        self.work[device, fate] = booked + replace(events, refreshes=0) * times

    def refreshes(self, time_ps: int) -> int:
        """Return the REFab of all ranks in a time, whole ones."""
        return self.ranks * (time_ps // self.t_refi_ps)

    def events(self, time_ps: int) -> dict[tuple[str, Fate], Events]:
        """Return everything booked, and the refreshes of a run of this time."""
        found = dict(self.work)
        if self.ranks:
            found["memory", "standing"] = Events(refreshes=self.refreshes(time_ps))
        return found
