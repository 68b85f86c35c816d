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
    "async": "the PIM drafts ahead without control",
    "async-edc": "the PIM drafts ahead as far as the EDC lets it",
    "ahasd": "the same, and the PIM pre-verifies where the TVC finds time for it",
}
HARDWARE_SCHEMES: tuple[Scheme, ...] = ("async", "async-edc", "ahasd")
"""Schemes that run on the control hardware."""
DECODERS: tuple[Scheme, ...] = ("gpu-ar", "npu-ar", "pim-ar")
"""Schemes without a draft model."""
ONE_DEVICE: tuple[Scheme, ...] = ("gpu-ar", "gpu-sd", "npu-sd", "pim-ar", "pim-sd")
"""Schemes in which one device does what NPU and PIM do in others."""
