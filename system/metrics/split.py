# SPDX-License-Identifier: Apache-2.0
"""What both devices do at the same time; the shares add up to the run."""

from collections import Counter

from ahasd.system.schemes.activity import Activity

PARTS = (
    "draft_only",
    "verify_only",
    "draft_and_verify",
    "preverify_only",
    "preverify_and_verify",
    "prefill",
    "neither",
)
_DRAFTER = {"drafting": "draft", "preverifying": "preverify"}


class Split:
    """Watch two devices, from time 0 on.

    Parameters
    ----------
    npu, pim
        Their activities, in their first states; `pim` is None where nothing drafts.
    """

    def __init__(self, npu: Activity, pim: Activity | None) -> None:
        self._npu, self._pim = npu, pim
        self._since_ps = 0
        self._parts: Counter[str] = Counter()
        for each in (npu, pim):
            if each is not None:
                each.watch = self._note

    def _note(self, now_ps: int) -> None:
        self._parts[self._part()] += now_ps - self._since_ps
        self._since_ps = now_ps

    def _part(self) -> str:
        if self._npu.state == "prefilling":
            return "prefill"
        verifies = self._npu.state == "verifying"
        work = _DRAFTER.get(self._pim.state) if self._pim is not None else None
        if work is None:
            return "verify_only" if verifies else "neither"
        return f"{work}_and_verify" if verifies else f"{work}_only"

    @property
    def parts_ps(self) -> dict[str, int]:
        """Time of every part up to the last change, ps."""
        return {part: self._parts[part] for part in PARTS}
