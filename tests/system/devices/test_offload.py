# SPDX-License-Identifier: Apache-2.0
import pytest

from ahasd import UserError
from ahasd.system.devices.offload import Offload
from ahasd.system.toml import validated


@pytest.mark.parametrize(
    ("bandwidth_gb_s", "spilled_bytes", "expected_ps"),
    [
        (25.0, 6_600_000_000, 264_000_000_000),  # 6.6 GB over PCIe: 0.264 s
        (1.0, 1, 1000),
        (3.0, 1, 334),
        (0.1, 3, 30_000),
        (0.7, 7, 10_000),  # the binary neighbour of 0.7 would make it 10_001
        (7.0, 0, 0),
    ],
)
def test_spilled_weights_pass_the_link_once(bandwidth_gb_s, spilled_bytes, expected_ps):
    tier = Offload(bandwidth_gb_s=bandwidth_gb_s, capacity_bytes=1)
    assert tier.stream_ps(spilled_bytes) == expected_ps


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"bandwidth_gb_s": 0, "capacity_bytes": 1}, "bandwidth_gb_s = 0: must be"),
        ({"bandwidth_gb_s": 1.0, "capacity_bytes": 0}, "capacity_bytes = 0: must be"),
        ({"bandwidth_gb_s": 1.0}, "missing key capacity_bytes (weights that the tier holds"),
        ({"bandwith_gb_s": 1.0, "capacity_bytes": 1}, "did you mean bandwidth_gb_s?"),
    ],
)
def test_a_bad_tier_is_refused(data, told):
    with pytest.raises(UserError) as caught:
        validated(Offload, data, "platform x")
    assert told in str(caught.value)
