# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd import UserError
from ahasd.system.devices.fit import MemoryFit
from ahasd.system.devices.gpu import load_gpu
from ahasd.system.devices.offload import Offload
from ahasd.system.model import load_model

GPU_BYTES = 16 * 10**9 * 9 // 10
"""A GPU of 16 GB, of which a tenth goes to the runtime and to activations."""


def pair(draft: str, target: str, usable_bytes: int = GPU_BYTES) -> MemoryFit:
    """Return both models with 1024 tokens of FP16 keys and values in a GPU's memory."""
    gpu = load_gpu(
        "rtx4090-laptop",
        {"name": "gpu", "memory_bytes": usable_bytes + 1, "reserved_bytes": 1},
    )
    return gpu.fit((load_model(draft), load_model(target)), 1024)


def test_the_opt_pair_fits_a_gpu_of_16_gb():
    found = pair("opt-1.3b", "opt-6.7b")
    # 1.32 + 6.66 GB of weights; 1024 tokens of 2 x 24 x 2048 and 2 x 32 x 4096 FP16 values.
    assert found.total_bytes / 1e9 == pytest.approx(1.316 + 6.657 + 0.201 + 0.537, abs=0.01)
    assert found.missing_bytes == 0
    assert found.spilled_bytes(None) == 0


def test_the_llama2_pair_does_not_and_the_error_holds_the_table():
    found = pair("llama2-7b", "llama2-13b")
    # 6.74 + 13.02 GB of weights; 0.54 and 0.84 of keys and values; 14.4 usable.
    assert found.missing_bytes / 1e9 == pytest.approx(
        6.738 + 13.016 + 0.537 + 0.839 - 14.4, abs=0.01
    )
    with pytest.raises(UserError) as caught:
        found.spilled_bytes(None)
    assert str(caught.value).startswith(
        "llama2-7b + llama2-13b do not fit on gpu: 6.729 GB of 21.13 GB missing"
    )
    assert "\n" not in str(caught.value)
    assert caught.value.__notes__ == [found.as_table()]
    assert [
        [cell.strip() for cell in line.split("|")[1:5]]
        for line in found.as_table().splitlines()[2:4]
    ] == [
        ["llama2-7b", "6.738 GB", "536.9 MB", "7.275 GB"],
        ["llama2-13b", "13.02 GB", "838.9 MB", "13.85 GB"],
    ]


def test_one_byte_decides():
    needed = pair("opt-1.3b", "opt-6.7b").total_bytes
    assert pair("opt-1.3b", "opt-6.7b", needed).spilled_bytes(None) == 0
    with pytest.raises(UserError, match=r"on gpu: 1 bytes of 8\.7"):
        pair("opt-1.3b", "opt-6.7b", needed - 1).spilled_bytes(None)


def test_what_is_missing_spills_to_a_tier_as_far_as_that_goes():
    found = pair("llama2-7b", "llama2-13b")
    missing = found.missing_bytes
    assert found.spilled_bytes(Offload(bandwidth_gb_s=25.0, capacity_bytes=missing)) == missing
    small = Offload(bandwidth_gb_s=25.0, capacity_bytes=missing - 1)
    with pytest.raises(UserError, match=r"the offload tier takes 6\.729 GB of weights"):
        found.spilled_bytes(small)


def test_keys_and_values_do_not_spill():
    tier = Offload(bandwidth_gb_s=25.0, capacity_bytes=10**12)
    found = pair("tiny-draft", "tiny-target", usable_bytes=1)
    assert found.missing_bytes > sum(share.weight_bytes for share in found.shares)
    with pytest.raises(UserError, match="keys/values never"):
        found.spilled_bytes(tier)
