# SPDX-License-Identifier: Apache-2.0
"""Roofline times of a draft step on the PIM and of a verification pass on the NPU.

A step takes as long as its slowest resource. Charged: weights and keys/values read from memory,
matrix arithmetic, weight load of the arrays.

Not charged: non-linear operators and their round trips, writes of keys and values, refresh and row
changes beyond the platform's efficiency factors, contention between NPU and PIM for
channels and ranks, task switches, and, but for pre-verifications, the arithmetic of attention. The
last makes grouped heads look better than they are where a PIM unit is limited by its multipliers.
"""

from collections.abc import Collection
from fractions import Fraction
from typing import Literal

from ahasd.system.devices.dram.timing import load_timing
from ahasd.system.devices.groups import GROUPS, Group, weight_bytes
from ahasd.system.devices.interface import Model
from ahasd.system.devices.npu.passes import pass_events
from ahasd.system.devices.work import Events, Phase, Task
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform

Limit = Literal["dram", "compute", "weight_load"]

_PS_PER_S = 10**12


class AnalyticDevices:
    """Times of one draft step and of one pass, in whole picoseconds, rounded up.

    Capacity is not checked: `ahasd.system.devices.capacity.rank_map` does that, and its
    `draft_ranks` is the number wanted here.

    Parameters
    ----------
    platform
        The machine.
    draft_shape
        The draft model (DLM), run by the PIM.
    target_shape
        The target model (TLM), run by the NPU.
    dlm_ranks
        Ranks that draft together, 1 to all of the platform.
    tlm_ranks
        Ranks that pre-verify together; 0 if there is no pre-verification.

    Raises
    ------
    ValueError
        `dlm_ranks` or `tlm_ranks` is out of range.
    UserError
        The platform's memory is unknown.
    """

    def __init__(
        self,
        platform: Platform,
        draft_shape: ModelShape,
        target_shape: ModelShape,
        dlm_ranks: int,
        tlm_ranks: int = 0,
    ) -> None:
        if not 1 <= dlm_ranks <= platform.pim.ranks:
            raise ValueError(f"dlm_ranks = {dlm_ranks} must be 1 to {platform.pim.ranks}")
        if not 0 <= tlm_ranks <= platform.pim.ranks:
            raise ValueError(f"tlm_ranks = {tlm_ranks} must be 0 to {platform.pim.ranks}")
        self.simulated_commands = 0
        self._row_bytes = load_timing(platform.dram).row_bytes
        self.platform = platform
        self.draft_shape = draft_shape
        self.target_shape = target_shape
        self.dlm_ranks = dlm_ranks
        self.tlm_ranks = tlm_ranks
        npu = platform.npu
        self._draft = _ps_per_unit(platform.pim.rank_stream_bytes_s * dlm_ranks)
        if tlm_ranks:
            pim = platform.pim
            efficiency = pim.rank_stream_bytes_s / min(pim.rank_bandwidth_bytes_s, pim.rank_mac_s)
            self._preverify_read = _ps_per_unit(pim.rank_bandwidth_bytes_s * efficiency * tlm_ranks)
            self._preverify_mac = _ps_per_unit(pim.rank_mac_s * efficiency * tlm_ranks)
        self._dram = _ps_per_unit(platform.offchip_bytes_s)
        self._mac = _ps_per_unit(npu.mac_s)
        self._load = None if npu.ideal_array else _ps_per_unit(npu.weight_load_bytes_s)

    @property
    def origin(self) -> object:
        """Itself; see `ahasd.system.devices.interface.Devices`."""
        return self

    def draft_step_ps(self, context: int) -> int:
        """Return the time of one draft token with `context` tokens in the cache, ps.

        Raises
        ------
        ValueError
            `context` is negative.
        """
        _check_context(context)
        read = self.draft_shape.read_bytes(context, self.platform.kv_bytes)
        return _time_ps(read, self._draft)

    def draft_limit(self) -> Limit:
        """Return what binds a draft step: its rank's banks (`dram`) or its unit (`compute`)."""
        pim = self.platform.pim
        return "dram" if pim.rank_bandwidth_bytes_s <= pim.rank_mac_s else "compute"

    def preverify_ps(self, rows: int, context: int) -> int:
        """Return the time of a pre-verification in the target model's ranks, ps.

        Weights, keys and values are read once for all rows. Each row takes a multiply-accumulate a
        weight, and as many for scores and mix as there are query heads; one of two bytes counts as
        two.

        Parameters
        ----------
        rows
            Token positions processed.
        context
            Tokens in the cache.

        Raises
        ------
        ValueError
            `rows` is below 1, `context` is negative, or there are no `tlm_ranks`.
        """
        return self._preverify_groups_ps(GROUPS, rows, context)

    def _preverify_groups_ps(self, groups: Collection[Group], rows: int, context: int) -> int:
        if rows < 1:
            raise ValueError(f"rows = {rows} must be at least 1")
        if not self.tlm_ranks:
            raise ValueError("tlm_ranks = 0: there are no ranks to pre-verify on")
        _check_context(context)
        shape = self.target_shape
        weights, keys = weight_bytes(shape, groups), self._key_bytes(shape, groups, context)
        macs = weights + shape.heads // shape.kv_heads * keys
        return max(
            _time_ps(weights + keys, self._preverify_read),
            _time_ps(macs * rows, self._preverify_mac),
        )

    def _key_bytes(self, shape: ModelShape, groups: Collection[Group], context: int) -> int:
        """Return the keys and values that groups read, bytes."""
        per_token = shape.kv_bytes_per_token(self.platform.kv_bytes)
        return context * per_token if "attention" in groups else 0

    def pass_ps(self, rows: int, context: int) -> int:
        """Return the time of one NPU pass, ps.

        Parameters
        ----------
        rows
            Token positions processed in the pass: 1 in autoregressive decoding.
        context
            Tokens in the cache that the pass reads.

        Raises
        ------
        ValueError
            `rows` is below 1 or `context` is negative.
        """
        return max(self.pass_terms_ps(rows, context).values())

    def draft(self, context: int) -> Task:
        """Return one draft step; errors as `draft_step_ps`."""
        events = self._pim_events(self.draft_shape, 1, context)
        return _task(self.draft_step_ps(context), events)

    def verify(self, rows: int, context: int) -> Task:
        """Return one NPU pass of the target model; parameters and errors as `pass_ps`."""
        return self.pass_of(self.target_shape, rows, context)

    def pass_of(self, shape: ModelShape, rows: int, context: int) -> Task:
        """Return one NPU pass of either model; parameters and errors as `pass_ps`."""
        events = pass_events(self.platform, shape, rows, context)
        time_ps = max(self._terms_ps(shape, rows, context).values())
        return _task(time_ps, self._with_activates(events))

    def preverify(self, rows: int, context: int) -> Task:
        """Return one pre-verification; parameters and errors as `preverify_ps`."""
        events = self._pim_events(self.target_shape, rows, context)
        return _task(self.preverify_ps(rows, context), events)

    def prefill(self, rows: int, *, drafts: bool) -> Task:
        """Return the way of a prompt of `rows` tokens through the target model, and the draft's."""
        time_ps, events = 0, Events()
        for shape in (self.target_shape, self.draft_shape) if drafts else (self.target_shape,):
            time_ps += max(self._terms_ps(shape, rows, 0).values())
            events += pass_events(self.platform, shape, rows, 0, logit_rows=1)
        return _task(time_ps, self._with_activates(events))

    def pim_group(self, which: Model, group: Group, tokens: int, context: int) -> Task:
        """Return one group of operators of a pass on the PIM; see `CommandDevices`."""
        shape = self.draft_shape if which == "draft" else self.target_shape
        read = weight_bytes(shape, (group,)) + self._key_bytes(shape, (group,), context)
        if which == "draft":
            time_ps = _time_ps(read, self._draft)
        else:
            time_ps = self._preverify_groups_ps((group,), tokens, context)
        return _task(time_ps, self._pim_events(shape, tokens, context, (group,)))

    def npu_groups(self, which: Model, groups: Collection[Group], rows: int, context: int) -> Task:
        """Return some groups of operators of a pass on the NPU; see `CommandDevices`."""
        shape = self.draft_shape if which == "draft" else self.target_shape
        events = pass_events(self.platform, shape, rows, context, groups=groups)
        time_ps = max(self._terms_ps(shape, rows, context, groups).values())
        return _task(time_ps, self._with_activates(events))

    @property
    def nonlinear_places(self) -> tuple[bool, bool]:
        """Whether the operators between the products can run in the ranks, and on the NPU."""
        return False, False

    def _rows(self, size_bytes: int) -> int:
        """Return the rows that so many bytes fill."""
        return -(-size_bytes // self._row_bytes)

    def _with_activates(self, events: Events) -> Events:
        return events + Events(activates=self._rows(events.read_bytes + events.write_bytes))

    def _pim_events(
        self,
        shape: ModelShape,
        rows: int,
        context: int,
        groups: Collection[Group] = GROUPS,
    ) -> Events:
        read = weight_bytes(shape, groups) + self._key_bytes(shape, groups, context)
        return Events(
            activates=self._rows(read),
            pim_read_bytes=read,
            pim_macs=rows * read,
            write_bytes=self._key_bytes(shape, groups, rows),
        )

    def pass_limit(self, rows: int, context: int) -> Limit:
        """Return which term makes `pass_ps`; of equal ones the first of `pass_terms_ps`."""
        terms = self.pass_terms_ps(rows, context)
        return max(terms, key=terms.__getitem__)

    def pass_terms_ps(self, rows: int, context: int) -> dict[Limit, int]:
        """Return the time of every resource in one pass, ps; arguments as for `pass_ps`."""
        return self._terms_ps(self.target_shape, rows, context)

    def _terms_ps(
        self, shape: ModelShape, rows: int, context: int, groups: Collection[Group] = GROUPS
    ) -> dict[Limit, int]:
        if rows < 1:
            raise ValueError(f"rows = {rows} must be at least 1")
        _check_context(context)
        weights = weight_bytes(shape, groups)
        return {
            "dram": _time_ps(weights + self._key_bytes(shape, groups, context), self._dram),
            # One multiply-accumulate a weight and row.
            "compute": _time_ps(weights * rows, self._mac),
            # The same for every pass: all weights enter the arrays once, however many rows.
            "weight_load": _time_ps(weights, self._load) if self._load else 0,
        }


def _task(time_ps: int, events: Events) -> Task:
    return Task(phases=(Phase(name="all", memory_ps=time_ps),), events=events)


def _check_context(context: int) -> None:
    if context < 0:
        raise ValueError(f"context = {context} must not be negative")


def _ps_per_unit(units_s: Fraction) -> tuple[int, int]:
    """Return ps a unit (byte, multiply-accumulate) as numerator and denominator."""
    return (_PS_PER_S / units_s).as_integer_ratio()


def _time_ps(units: int, ps_per_unit: tuple[int, int]) -> int:
    numerator, denominator = ps_per_unit
    return -(-units * numerator // denominator)
