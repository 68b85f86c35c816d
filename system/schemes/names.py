# SPDX-License-Identifier: Apache-2.0
"""The schemes by name, and what some of them have in common."""

from typing import Literal

Scheme = Literal[
    "gpu-ar",
    "gpu-sd",
    "npu-ar",
    "npu-sd",
    "pim-ar",
    "pim-sd",
    "specpim",
    "sync",
    "amusd",
    "async",
    "async-edc",
    "ahasd",
]
Baseline = Literal[Scheme, "none"]
SCHEMES: dict[Scheme, str] = {
    "gpu-ar": "a GPU decodes alone, one token a pass",
    "gpu-sd": "a GPU drafts a batch and verifies it",
    "npu-ar": "the NPU decodes alone, one token a pass",
    "npu-sd": "the NPU drafts a batch and verifies it",
    "pim-ar": "the PIM decodes alone with all its ranks, one token a pass",
    "pim-sd": "the PIM drafts a batch and verifies it, with all its ranks",
    "specpim": "NPU and PIM draft a batch and verify it, each operator where a search puts it",
    "sync": "the PIM drafts a batch and waits for its verdict",
    "amusd": "the PIM drafts ahead token by token, and the NPU takes all that is there",
    "async": "the PIM drafts ahead without control",
    "async-edc": "the PIM drafts ahead as far as the EDC lets it",
    "ahasd": "the same, and the PIM pre-verifies where the TVC finds time for it",
}
"""Two of them are like published systems, and not the same.

`specpim` is like SpecPIM (ASPLOS 2024): see `ahasd.system.devices.mapping`.

`amusd` is like AMUSD (arXiv 2410.17375): both models work all the time on a device of their own,
nothing controls how far the draft runs ahead, the verifier takes every token drafted since it last
looked, and a wrong one rolls the draft back. What is not like it: a pass takes at most
`verification.pass_tokens`, as in the other schemes, and as many wait at most; the two devices share
one memory, where AMUSD has a GPU for each model; the queue costs no time. It has no drafting rule:
every token is a batch."""
HARDWARE_SCHEMES: tuple[Scheme, ...] = ("async", "async-edc", "ahasd")
"""Schemes that run on the control hardware."""
DECODERS: tuple[Scheme, ...] = ("gpu-ar", "npu-ar", "pim-ar")
"""Schemes without a draft model."""
WITHOUT_RULE: tuple[Scheme, ...] = (*DECODERS, "amusd")
"""Schemes that no drafting rule changes."""
DRAFTING_AHEAD: tuple[Scheme, ...] = ("amusd", *HARDWARE_SCHEMES)
"""Schemes whose PIM drafts on while the NPU verifies."""
ONE_DEVICE: tuple[Scheme, ...] = ("gpu-ar", "gpu-sd", "npu-sd", "pim-ar", "pim-sd")
"""Schemes in which one device does what NPU and PIM do in others."""
