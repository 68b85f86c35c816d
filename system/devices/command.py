# SPDX-License-Identifier: Apache-2.0
"""Draft steps, passes and pre-verifications at the level of memory commands.

The time of a task alone is that of its commands on the DRAM engine, refresh in between, beside what
the units need. Of tasks that run side by side the rates come from playing the commands of both on
the busiest channel under the arbiter (`dram.sharing`): a pair of kinds of work is played once.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Literal

from ahasd import UserError
from ahasd.rtl.aau.params import AauParams
from ahasd.system.devices import nonlinear
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.dram.commands import Op
from ahasd.system.devices.dram.engine import RefreshOverdueError
from ahasd.system.devices.dram.fast import FastEngine
from ahasd.system.devices.dram.sharing import Arbiter, FastSharer, Lane, User, share
from ahasd.system.devices.dram.sharing_kernel import NEVER_CYCLES
from ahasd.system.devices.dram.stream import Known, Pattern, SequentialRead, read_range
from ahasd.system.devices.dram.timing import Timing, load_timing
from ahasd.system.devices.groups import GROUPS, MATRICES, Group, runs_on_npu
from ahasd.system.devices.interface import Model
from ahasd.system.devices.machine import ONE, Rates
from ahasd.system.devices.npu.passes import pass_events, pass_phases
from ahasd.system.devices.pim.program import Program
from ahasd.system.devices.pim.step import PimModel, Stream
from ahasd.system.devices.work import Events, Phase, Task, joined
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform

Unit = Literal["aau", "npu", "none"]
"""Where the non-linear operators of PIM tasks run; `none` leaves them out."""

FAIR = Arbiter()
_PS_PER_S = 10**12
_BURSTS = "bursts"
_LANE_BURSTS = 64
_LANE_SEGMENTS = 4096


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What a phase does to its busiest channel.

    Parameters
    ----------
    name
        Equal for equal traffic.
    timing
        One channel with all its ranks, MACab as far apart as the traffic has them.
    lanes
        Its streams.
    """

    name: str
    timing: Timing = field(compare=False)
    lanes: tuple[Lane, ...] = field(compare=False)


class CommandDevices:
    """Tasks of both devices, and their rates beside each other.

    Parameters
    ----------
    platform
        The machine.
    draft_shape, target_shape
        The models.
    ranks
        Where they lie.
    unit
        Where the non-linear operators of the PIM run: `aau`, `npu`, or `none` to leave them out.
    aau
        The AAU of every rank.
    arbiter
        Who goes first on a shared channel.
    refresh
        Without it the memory forgets: for comparisons.

    Raises
    ------
    UserError
        The platform's memory is unknown or has other channels or ranks than the platform.
    """

    def __init__(
        self,
        platform: Platform,
        draft_shape: ModelShape,
        target_shape: ModelShape,
        ranks: RankMap,
        *,
        unit: Unit = "aau",
        aau: AauParams | None = None,
        arbiter: Arbiter = FAIR,
        refresh: bool = True,
    ) -> None:
        self.platform = platform
        self.draft_shape, self.target_shape = draft_shape, target_shape
        self.timing = memory_timing(platform, refresh=refresh)
        self._simulated = [0]  # shared by all that `with_unit` returns
        self._ranks = ranks
        self._known: Known = {}
        self._unit: Unit = unit
        self._aau = aau or AauParams()
        self._arbiter = arbiter
        everywhere = (1 << platform.pim.ranks) - 1
        draft_mask = everywhere if platform.dlm_ranks == "all" else ranks.dlm_mask
        self._draft_ranks = _members(draft_mask)
        self._target_ranks = _members(ranks.tlm_mask)
        # One of each: what is asked for again is not played again.
        self._read_ps = cache(self._read_time_ps)
        self._model = cache(self._pim_model)
        self._products = cache(self._all_products)
        self._group = cache(self._group_products)
        self._groups_alone = cache(self._groups_alone_ps)
        self._alone = cache(self._segments_per_cycle)
        self._pair = cache(self._pair_rates)
        self._slowest = cache(self._together_factor)
        self.draft = cache(self._draft)
        self.verify = cache(self._verify)
        self.preverify = cache(self._preverify)

    def with_unit(self, unit: Unit) -> "CommandDevices":
        """Return the same with non-linear operators elsewhere; what is timed stays known."""
        other = copy(self)
        other._unit = unit
        other.draft = cache(other._draft)
        other.verify = cache(other._verify)
        other.preverify = cache(other._preverify)
        return other

    @property
    def origin(self) -> object:
        """Whoever counts the simulated commands; see `ahasd.system.devices.interface.Devices`."""
        return self._simulated

    @property
    def simulated_commands(self) -> int:
        """Commands that an engine was given so far, whatever they were needed for."""
        return self._simulated[0]

    @cached_property
    def peak_bytes_s(self) -> float:
        """Bytes a second that all channels carry at most."""
        return float(self.timing.channel_bytes_s * self.timing.channels)

    def _draft(self, context: int) -> Task:
        """Return one draft step with `context` tokens in the cache; remembered.

        Raises
        ------
        ValueError
            `context` is negative.
        """
        return self._pim_task("draft", 1, context)

    def _preverify(self, rows: int, context: int) -> Task:
        """Return a pass of the target model on its own ranks; remembered.

        Parameters
        ----------
        rows
            Token positions processed.
        context
            Tokens in the cache.

        Raises
        ------
        ValueError
            `rows` is below 1 or `context` is negative.
        """
        return self._pim_task("target", rows, context)

    def _verify(self, rows: int, context: int) -> Task:
        """Return a pass of the target model on the NPU; parameters as `preverify`."""
        return self._npu_task(self.target_shape, rows, context, None)

    def pass_of(self, shape: ModelShape, rows: int, context: int) -> Task:
        """Return a pass of either model on the NPU; parameters as `preverify`."""
        return self._npu_task(shape, rows, context, None)

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return the prompt's way through the target model on the NPU, then through the draft's.

        Parameters
        ----------
        rows
            Length of the prompt, at least 1.
        drafts
            Whether the draft model reads it, too.
        """
        shapes = (self.target_shape, self.draft_shape) if drafts else (self.target_shape,)
        return joined(self._npu_task(shape, rows, 0, 1) for shape in shapes)

    def _npu_task(
        self,
        shape: ModelShape,
        rows: int,
        context: int,
        logit_rows: int | None,
        *,
        groups: Collection[Group] = GROUPS,
        pieces: int = 1,
    ) -> Task:
        phases = pass_phases(
            self.platform,
            shape,
            rows,
            context,
            self._read_ps,
            logit_rows=logit_rows,
            groups=groups,
            pieces=pieces,
        )
        if self._unit == "none":
            phases = tuple(phase for phase in phases if phase.name != "nonlinear")
        spilled = self._ranks.target.spilled_bytes if shape is self.target_shape else 0
        if spilled and self.platform.offload:
            offload_ps = self.platform.offload.stream_ps(spilled)
            phases += (Phase(name="offload", compute_ps=offload_ps),)
        events = pass_events(
            self.platform, shape, rows, context, logit_rows=logit_rows, groups=groups
        )
        events += Events(
            activates=-(-(events.read_bytes + events.write_bytes) // self.timing.row_bytes),
            host_bytes=spilled,
        )
        # Every row that is opened is closed.
        bursts = -(-(events.read_bytes + events.write_bytes) // self.timing.burst_bytes)
        commands = bursts + 2 * events.activates
        return replace(_task(phases, events, self._npu_traffic()), commands=commands)

    def _read_time_ps(self, size_bytes: int) -> int:
        """Return the time to read a range through the channels, ps; 0 for nothing."""
        if not size_bytes:
            return 0
        # One rank of each channel after another.
        held_bytes = self.platform.pim.channels * self.platform.pim.rank_capacity_bytes
        rounds, rest_bytes = divmod(size_bytes, held_bytes)
        cycles = 0
        for times, part_bytes in ((rounds, held_bytes), (1, rest_bytes)):
            if times and part_bytes:
                played = read_range(FastEngine, self.timing, 0, part_bytes, known=self._known)
                self._simulated[0] += played.simulated_commands
                cycles += times * played.cycles
        # What the NPU's interface carries at most, should that be less.
        printed_ps = int(size_bytes * _PS_PER_S / self.platform.offchip_peak_bytes_s)
        return max(self.timing.time_ps(cycles), printed_ps)

    def _npu_traffic(self) -> Traffic:
        """Return the stream of reads, from a rank of the target on its channel."""
        rank = self._target_ranks[0] // self.timing.channels
        timing = replace(self.timing, channels=1)
        per_segment = timing.bank_groups * timing.bursts_per_row
        pattern = SequentialRead(timing, per_segment * (timing.banks_per_group + 1))
        return Traffic(
            name="read", timing=timing, lanes=(Lane(user="npu", pattern=pattern, rank=rank),)
        )

    def _shape(self, which: Model) -> ModelShape:
        return self.draft_shape if which == "draft" else self.target_shape

    def _pim_model(
        self, which: Model, tokens: int, groups: tuple[Group, ...] = MATRICES
    ) -> PimModel:
        ranks = self._draft_ranks if which == "draft" else self._target_ranks
        return PimModel(
            self.platform, self.timing, self._shape(which), ranks, tokens=tokens, groups=groups
        )

    @contextmanager
    def _told(self, model: PimModel) -> Iterator[None]:
        """Tell the user what of a model the PIM cannot do: it follows from the configuration."""
        try:
            yield
        except RefreshOverdueError as error:
            raise UserError(
                f"{model.shape.name} on {self.platform.name}: a row of multiply-accumulates of"
                f" {model.tokens} tokens takes longer than a refresh can be put off: choose more"
                " platform.pim.gops or platform.pim.bandwidth_gb_s"
            ) from error
        except ValueError as error:
            raise UserError(f"{model.shape.name} on {self.platform.name}: {error}") from error

    def _pim_task(self, which: Model, tokens: int, context: int) -> Task:
        if context < 0:
            raise ValueError(f"context = {context} must not be negative")
        model = self._model(which, tokens)
        task = joined((self._products(which, tokens), self._attention(which, model, context)))
        operators = self._operators(model, context)
        return task if operators is None else joined((task, operators))

    def pim_group(self, which: Model, group: Group, tokens: int, context: int) -> Task:
        """Return one group of operators of a pass, all its layers, on the ranks of its model.

        Non-linear operators take the AAUs.

        Parameters
        ----------
        which
            The model.
        group
            The operators.
        tokens, context
            As `rows` and `context` of `preverify`.
        """
        if group in MATRICES:
            return self._group(which, tokens, group)
        model = self._model(which, tokens)
        if group == "attention":
            return self._attention(which, model, context)
        return self._operators(model, context, "aau") or joined(())

    def npu_groups(self, which: Model, groups: Collection[Group], rows: int, context: int) -> Task:
        """Return some groups of operators of a pass on the NPU, and the way there and back.

        Parameters
        ----------
        which
            The model.
        groups
            The operators that run there; the others run in the ranks that hold the model.
        rows, context
            As for `preverify`.
        """
        shape = self._shape(which)
        stretches, pieces = runs_on_npu(shape, groups, has_nonlinear=self._unit != "none")
        work = self._npu_task(shape, rows, context, None, groups=groups, pieces=pieces)
        if len(groups) == len(GROUPS):
            return work
        written, read = nonlinear.crossing_bytes(shape, rows, context, groups)
        bus = self._bus_traffic(self._model(which, rows).ranks)
        way = _task(
            (
                Phase(name="transfer", memory_ps=self._transfer_ps(written + read, bus)),
                Phase(name="trips", compute_ps=stretches * self.platform.npu.round_trip_ns * 1000),
            ),
            Events(write_bytes=written, read_bytes=read),
            bus,
        )
        return joined((work, way))

    @property
    def nonlinear_places(self) -> tuple[bool, bool]:
        """Whether the operators between the products can run in the ranks, and on the NPU."""
        return self._unit == "aau", self._unit != "none"

    def _all_products(self, which: Model, tokens: int) -> Task:
        """Return the products with weights of a pass in the ranks of its model."""
        model = self._model(which, tokens)
        with self._told(model):
            exchange, weights = model.exchange, model.weights
        self._simulated[0] += exchange.simulated_commands + weights.simulated_commands
        name = f"{which} of {tokens}, weights"
        phases = (
            self._pim_phase("exchange", exchange, self._bus_traffic(model.ranks)),
            self._pim_phase("weights", weights, self._mac_traffic(name, weights, model)),
        )
        return _streamed(phases, (exchange, weights), model)

    def _group_products(self, which: Model, tokens: int, group: Group) -> Task:
        """Return the products of a group: what they take alone, as a share of the whole.

        How the ranks of a channel get in each other's way depends on the pattern, and by some
        percent on chance. As shares the groups add up to the whole.
        """
        own = self._model(which, tokens, (group,))
        total_ps = self._groups_alone(which, tokens)
        _, whole = self._products(which, tokens).phases
        weights = replace(
            whole,
            memory_ps=whole.memory_ps * own.weights.time_ps // total_ps,
            channel_bytes=own.weights.events.read_bytes + own.weights.events.write_bytes,
        )
        exchange = self._pim_phase("exchange", own.exchange, self._bus_traffic(own.ranks))
        return _streamed((exchange, weights), (own.exchange, own.weights), own)

    def _groups_alone_ps(self, which: Model, tokens: int) -> int:
        """Return the time of all groups of products, each alone in a rank, ps."""
        time_ps = 0
        for group in MATRICES:
            model = self._model(which, tokens, (group,))
            with self._told(model):
                time_ps += model.weights.time_ps
                commands = model.exchange.simulated_commands + model.weights.simulated_commands
            self._simulated[0] += commands
        return time_ps

    def _attention(self, which: Model, model: PimModel, context: int) -> Task:
        with self._told(model):
            attention = model.attention(context)
        self._simulated[0] += attention.simulated_commands
        if not attention.programs:
            return _streamed((), (attention,), model)
        # Contexts within a factor of two do much the same to the channel. The shortest moves
        # most for its time.
        nominal = 1 << max(0, context.bit_length() - 1)
        name = f"{which} of {model.tokens}, attention to {nominal}"
        traffic = self._mac_traffic(name, model.attention(nominal), model)
        return _streamed((self._pim_phase("attention", attention, traffic),), (attention,), model)

    def _operators(self, model: PimModel, context: int, unit: Unit | None = None) -> Task | None:
        """Return the operators between the products, where they run; None if they are left out."""
        bus = self._bus_traffic(model.ranks)
        unit = unit or self._unit
        if unit == "none":
            return None
        if unit == "npu":
            found = nonlinear.on_npu(
                model.shape,
                model.tokens,
                context,
                npu=self.platform.npu,
                transfer_ps=lambda size_bytes: self._transfer_ps(size_bytes, bus),
            )
        else:
            found = nonlinear.on_aau(
                model.shape,
                model.tokens,
                context,
                params=self._aau,
                ranks=len(model.ranks),
                period_ps=self.platform.pim.period_ps,
                transfer_ps=lambda size_bytes: self._transfer_ps(size_bytes, bus),
            )
        return _task(found.phases, found.events, bus)

    def _transfer_ps(self, size_bytes: int, bus: Traffic) -> int:
        """Return the time of bursts back to back on all channels, ps."""
        timing = self.timing
        bursts = -(-size_bytes // (timing.burst_bytes * timing.channels))
        return int(timing.time_ps(bursts * timing.burst) * self._slowest(bus))

    def _pim_phase(self, name: str, stream: Stream, traffic: Traffic) -> Phase:
        """Return a phase whose ranks get on together as fast as the slowest does."""
        crossing = stream.events.read_bytes + stream.events.write_bytes
        return Phase(
            name=name,
            memory_ps=max(
                int(stream.time_ps * self._slowest(traffic)),
                -(-crossing * _PS_PER_S // int(self.peak_bytes_s)),
            ),
            channel_bytes=crossing,
            traffic=traffic,
        )

    def _bus_traffic(self, ranks: Sequence[int]) -> Traffic:
        """Return bursts to the units of one rank after another on the busiest channel."""
        timing = replace(self.timing, channels=1)
        segment = ((Op.WRB, 0, 0),) * _LANE_BURSTS
        pattern = Program(timing, [segment], _LANE_SEGMENTS)
        return self._traffic(_BURSTS, timing, pattern, ranks[-1:])

    def _mac_traffic(self, name: str, stream: Stream, model: PimModel) -> Traffic:
        timing = replace(self.timing, channels=1, t_mac=stream.pace.cycles)
        return self._traffic(name, timing, stream.programs[0], model.ranks)

    def _traffic(
        self, name: str, timing: Timing, pattern: Pattern, ranks: Sequence[int]
    ) -> Traffic:
        channels = self.timing.channels
        held = [
            [rank // channels for rank in ranks if rank % channels == c] for c in range(channels)
        ]
        here = max(held, key=len)
        lanes = tuple(Lane(user="pim", pattern=pattern, rank=rank) for rank in here)
        return Traffic(name=f"{name} in {len(here)} ranks", timing=timing, lanes=lanes)

    def rates(self, npu: Phase, pim: Phase) -> Rates:
        """Return how fast two phases get on beside each other; see `Machine`."""
        assert isinstance(npu.traffic, Traffic)
        assert isinstance(pim.traffic, Traffic)
        return self._pair(npu.traffic, pim.traffic)

    def _pair_rates(self, npu: Traffic, pim: Traffic) -> Rates:
        together = self._progress(pim.timing, (*npu.lanes, *pim.lanes))
        rates: Rates = {}
        users: tuple[tuple[User, Traffic], ...] = (("npu", npu), ("pim", pim))
        for user, traffic in users:
            alone = self._alone(traffic)
            found = [got for lane, got in together if lane.user == user]
            rates[user] = min(ONE, int(ONE * min(found) / min(alone)))
        return rates

    def _segments_per_cycle(self, traffic: Traffic) -> tuple[float, ...]:
        return tuple(got for _, got in self._progress(traffic.timing, traffic.lanes))

    def _together_factor(self, traffic: Traffic) -> float:
        """Return how much longer a rank's commands take beside those of the other ranks.

        Bursts, which no refresh has interrupted, take longer by the refreshes.
        """
        if traffic.name.startswith(_BURSTS):
            gapless = 1 / (_LANE_BURSTS * traffic.timing.burst)
            return gapless / self._alone(traffic)[0]
        ((_, single),) = self._progress(traffic.timing, traffic.lanes[:1])
        return max(1.0, single / min(self._alone(traffic)))

    def _progress(self, timing: Timing, lanes: Sequence[Lane]) -> list[tuple[Lane, float]]:
        """Return the segments a cycle of each lane, together."""
        shared = share(FastSharer(FastEngine(timing), lanes, self._arbiter))
        self._simulated[0] += shared.commands
        return [
            (lane, segments / shared.cycles)
            for lane, segments in zip(lanes, shared.segments, strict=True)
        ]


def memory_timing(platform: Platform, *, refresh: bool = True) -> Timing:
    """Return the memory of a platform.

    Raises
    ------
    UserError
        It is unknown, or has other channels or ranks than the platform.
    """
    timing = load_timing(platform.dram)
    pim = platform.pim
    for name, here, there in (
        ("channels", pim.channels, timing.channels),
        ("ranks per channel", pim.ranks_per_channel, timing.ranks),
        (
            "bytes per rank",
            pim.rank_capacity_bytes,
            timing.banks * timing.rows * timing.row_bytes,
        ),
    ):
        if here != there:
            raise UserError(
                f"{platform.name} has {here} {name}, its memory {timing.name} has {there}: choose"
                ' another platform.dram, or memory.fidelity = "analytic", which asks for none'
            )
    return timing if refresh else replace(timing, t_refi=NEVER_CYCLES)


def _members(mask: int) -> tuple[int, ...]:
    return tuple(rank for rank in range(mask.bit_length()) if mask >> rank & 1)


def _streamed(phases: tuple[Phase, ...], streams: Sequence[Stream], model: PimModel) -> Task:
    """Return what streams of all ranks do."""
    commands = sum(each.simulated_commands + each.skipped_commands for each in streams)
    return Task(
        phases=phases,
        events=sum((each.events for each in streams), Events()),
        commands=len(model.ranks) * commands,
    )


def _task(phases: Sequence[Phase], events: Events, traffic: Traffic) -> Task:
    """Return a task of one kind of traffic, whose bytes cross the channels at an even pace."""
    memory_ps = sum(phase.memory_ps for phase in phases)
    crossing = events.read_bytes + events.write_bytes
    return Task(
        phases=tuple(
            replace(
                phase,
                channel_bytes=crossing * phase.memory_ps // memory_ps if memory_ps else 0,
                traffic=traffic if phase.memory_ps else None,
            )
            for phase in phases
        ),
        events=events,
    )
