# SPDX-License-Identifier: Apache-2.0
"""Which ranks hold which model, and whether both fit.

Ranks are numbered across channels: rank r lies on channel r mod channels. The target (TLM) is
striped over all channels, so that the NPU reads it at full bandwidth: it takes the smallest
multiple of the channel count that holds its weights and its keys/values, from the top rank down.
The draft (DLM) is striped over the others. The NPU streams the very copy that the PIM ranks hold;
nothing is stored twice. Stripes are taken as even to one byte.

With an offload tier, weights of the target that find no place lie there. Then the draft keeps the
fewest ranks that hold it, and the target gets the others.
"""

from dataclasses import dataclass, replace

from ahasd import UserError
from ahasd.system.devices.markdown import markdown_table
from ahasd.system.devices.offload import Offload
from ahasd.system.model import ModelShape
from ahasd.system.platform import Platform


@dataclass(frozen=True, kw_only=True)
class Share:
    """One model's part of the memory."""

    model: str
    weight_bytes: int
    kv_bytes: int
    """Keys and values of the whole planned context, bytes."""
    mask: int
    """Ranks that hold it, bit r for rank r; 0 where none is left."""
    spilled_bytes: int = 0
    """Weights that lie on the offload tier, bytes."""

    @property
    def total_bytes(self) -> int:
        """Weights and keys/values, bytes."""
        return self.weight_bytes + self.kv_bytes

    @property
    def resident_bytes(self) -> int:
        """What of them its ranks must hold, bytes."""
        return self.total_bytes - self.spilled_bytes

    @property
    def ranks(self) -> int:
        """Number of ranks that hold it."""
        return self.mask.bit_count()

    @property
    def members(self) -> tuple[int, ...]:
        """Numbers of those ranks, rising."""
        return tuple(rank for rank in range(self.mask.bit_length()) if self.mask >> rank & 1)

    @property
    def bytes_per_rank(self) -> int:
        """Bytes used in each of its ranks, rounded up; everything where it has no rank."""
        return -(-self.resident_bytes // max(self.ranks, 1))

    def missing_bytes(self, rank_capacity_bytes: int) -> int:
        """Bytes that find no place in its ranks."""
        return max(0, self.resident_bytes - self.ranks * rank_capacity_bytes)


@dataclass(frozen=True, kw_only=True)
class RankMap:
    """Placement of both models. `plan_ranks` makes one that need not fit, `rank_map` one that does.

    Masks are 16 bits wide, as in the task scheduling unit.
    """

    platform: str
    context_tokens: int
    draft: Share
    target: Share
    rank_count: int
    rank_capacity_bytes: int
    draft_ranks: int
    """Ranks whose bandwidth drafts: those of the draft, or all by the platform's `dlm_ranks`."""
    offload_bytes: int = 0
    """Capacity of the offload tier, bytes; 0 without one."""

    @property
    def dlm_mask(self) -> int:
        """Ranks that hold the draft model."""
        return self.draft.mask

    @property
    def tlm_mask(self) -> int:
        """Ranks that hold the target model."""
        return self.target.mask

    @property
    def used_bytes(self) -> tuple[int, ...]:
        """Bytes used in every rank, rank 0 first."""
        return tuple(
            sum(share.bytes_per_rank for share in (self.draft, self.target) if share.mask >> r & 1)
            for r in range(self.rank_count)
        )

    def check(self) -> None:
        """Refuse a map that does not fit.

        Raises
        ------
        UserError
            The pair exceeds the memory, or the draft what the target leaves; says by how much, with
            the map as a note.
        """
        missing = self._missing()
        if missing:
            error = UserError(missing)
            error.add_note(self.as_table())
            raise error

    def _missing(self) -> str:
        """Return what is missing, and what can be done; empty if everything fits."""
        spilled = self.target.spilled_bytes
        need = self.draft.resident_bytes + self.target.resident_bytes
        have = self.rank_count * self.rank_capacity_bytes
        remedy = (
            "choose a smaller pair, a shorter context, platform.kv_bytes = 1 "
            "or a larger platform.pim.rank_capacity_bytes"
        )
        if spilled and spilled > self.offload_bytes:
            return (
                f"{self.draft.model} + {self.target.model} do not fit on {self.platform} and its "
                f"offload tier: {size_text(spilled - self.offload_bytes)} of "
                f"{size_text(spilled)} that spill missing (tier "
                f"{size_text(self.offload_bytes)}); {remedy}"
            )
        if need > have:
            return (
                f"{self.draft.model} + {self.target.model} do not fit on {self.platform}: "
                f"{size_text(need - have)} of {size_text(need)} missing (weights, and keys/values "
                f"of {self.context_tokens} tokens; memory {size_text(have)}); {remedy}"
            )
        if not self.draft.ranks:
            return (
                f"{self.draft.model} has no rank left beside {self.target.model} on "
                f"{self.platform}: the target is striped over all channels, which takes all "
                f"{self.rank_count} ranks; choose more platform.pim.ranks than channels"
            )
        for share, other in ((self.draft, self.target), (self.target, self.draft)):
            missing = share.missing_bytes(self.rank_capacity_bytes)
            if missing:
                left = share.ranks * self.rank_capacity_bytes
                return (
                    f"{share.model} does not fit beside {other.model} on {self.platform}: "
                    f"{size_text(missing)} of {size_text(share.resident_bytes)} missing "
                    f"({share.ranks} of {self.rank_count} ranks left, {size_text(left)}); {remedy}"
                )
        return ""

    def as_table(self) -> str:
        """Return the map as a Markdown table, fit or not. Units are decimal."""
        capacity = self.rank_capacity_bytes
        rows = [
            (
                f"{share.model} ({role})",
                str(share.ranks),
                f"0x{share.mask:04X}",
                size_text(share.weight_bytes),
                size_text(share.kv_bytes),
                size_text(share.bytes_per_rank),
                size_text(capacity),
                size_text(share.spilled_bytes),
                size_text(share.missing_bytes(capacity)),
            )
            for role, share in (("draft", self.draft), ("target", self.target))
        ]
        header = (
            "model",
            "ranks",
            "mask",
            "weights",
            "KV",
            "per rank",
            "rank holds",
            "offloaded",
            "missing",
        )
        return markdown_table(header, rows)


def rank_map(
    platform: Platform,
    draft: ModelShape,
    target: ModelShape,
    context_tokens: int,
    offload: Offload | None = None,
) -> RankMap:
    """Place both models, or say what is missing.

    Parameters
    ----------
    platform
        The machine.
    draft, target
        The model that the PIM drafts with, and the one that the NPU verifies with.
    context_tokens
        Longest context of the run, prompt included, at least 1.
    offload
        Where weights of the target go that find no place; None refuses them.

    Raises
    ------
    UserError
        The pair does not fit, or a model was not made for so long a context.
    """
    placed = plan_ranks(platform, draft, target, context_tokens, offload)
    placed.check()
    return placed


def shared_ranks(
    platform: Platform, draft: ModelShape, target: ModelShape, context_tokens: int
) -> RankMap:
    """Place both models over all ranks, for a PIM that drafts and verifies by turns.

    Parameters and errors as for `rank_map`.
    """
    placed = plan_ranks(platform, draft, target, context_tokens)
    everywhere = (1 << platform.pim.ranks) - 1
    placed = replace(
        placed,
        draft=replace(placed.draft, mask=everywhere),
        target=replace(placed.target, mask=everywhere),
        draft_ranks=platform.pim.ranks,
    )
    placed.check()
    return placed


def plan_ranks(
    platform: Platform,
    draft: ModelShape,
    target: ModelShape,
    context_tokens: int,
    offload: Offload | None = None,
) -> RankMap:
    """Place both models as `rank_map` does, without refusing what does not fit.

    For tables of what is missing: a target that is too large takes all ranks, a draft may be left
    with none. With the platform's `dlm_ranks = "all"` the placement is the same, and only
    `draft_ranks` differs: it counts the bandwidth of every rank, also of those that do not hold the
    draft. That is an upper bound, the option under which the roofline tables are given.

    Raises
    ------
    UserError
        A model was not made for so long a context.
    """
    for shape in (draft, target):
        if not 1 <= context_tokens <= shape.max_context:
            raise UserError(
                f"a context of {context_tokens} tokens is outside 1 to {shape.max_context}, what "
                f"{shape.name} was made for: generate fewer tokens or choose another model"
            )
    pim = platform.pim
    draft_kv_bytes = context_tokens * draft.kv_bytes_per_token(platform.kv_bytes)
    target_kv_bytes = context_tokens * target.kv_bytes_per_token(platform.kv_bytes)
    # Whole rounds over the channels: one rank of each.
    per_round = pim.channels * pim.rank_capacity_bytes
    rounds = -(-(target.weight_bytes + target_kv_bytes) // per_round)
    tlm_ranks = min(rounds * pim.channels, pim.ranks)
    spilled_bytes = 0
    if offload:
        draft_rounds = -(-(draft.weight_bytes + draft_kv_bytes) // per_round)
        tlm_ranks = max(0, min(tlm_ranks, pim.ranks - draft_rounds * pim.channels))
        homeless = target.weight_bytes + target_kv_bytes - tlm_ranks * pim.rank_capacity_bytes
        # Only weights spill: keys and values are written every pass.
        spilled_bytes = min(max(0, homeless), target.weight_bytes)
    dlm_ranks = pim.ranks - tlm_ranks
    dlm_mask = (1 << dlm_ranks) - 1
    return RankMap(
        platform=platform.name,
        context_tokens=context_tokens,
        draft=Share(
            model=draft.name,
            weight_bytes=draft.weight_bytes,
            kv_bytes=draft_kv_bytes,
            mask=dlm_mask,
        ),
        target=Share(
            model=target.name,
            weight_bytes=target.weight_bytes,
            kv_bytes=target_kv_bytes,
            mask=(1 << pim.ranks) - 1 - dlm_mask,
            spilled_bytes=spilled_bytes,
        ),
        rank_count=pim.ranks,
        rank_capacity_bytes=pim.rank_capacity_bytes,
        draft_ranks=pim.ranks if platform.dlm_ranks == "all" else dlm_ranks,
        offload_bytes=offload.capacity_bytes if offload else 0,
    )


def size_text(size_bytes: int) -> str:
    """Return a size with four digits and a decimal unit."""
    scale, unit = next(
        (scale, unit)
        for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
        if size_bytes >= scale or scale == 1
    )
    return f"{size_bytes / scale:.4g} {unit}"
