# SPDX-License-Identifier: Apache-2.0
"""What the host writes into the control hardware before a run."""

from ahasd.system.config import RunConfig
from ahasd.system.devices.capacity import RankMap
from ahasd.system.devices.interface import Devices

PRELOADED_TOKENS = (1, 2, 4, 8)
"""Lengths of the profile's drafts and pre-verifications."""


def registers(
    config: RunConfig, devices: Devices, ranks: RankMap
) -> list[tuple[str, dict[str, int]]]:
    """Return registers and their fields, in the order of the writes.

    Parameters
    ----------
    config
        The run.
    devices
        Times for the profile, if there is to be one.
    ranks
        Where the models lie: the masks.
    """
    params = config.hardware.params
    npu, pim = config.platform.npu, config.platform.pim
    boundaries = params.edc.boundaries(config.edc.boundaries)
    ratio = params.tvc.encode_npu_ratio(npu.period_ps / pim.period_ps)
    # Without pre-verification nothing switches, and all ranks may draft.
    drafts_on = (1 << pim.ranks) - 1 if config.platform.dlm_ranks == "all" else ranks.dlm_mask
    verifies_on = ranks.tlm_mask if config.scheme == "ahasd" else 0
    found: list[tuple[str, dict[str, int]]] = [
        (f"pim.EDC_BOUNDARY_{i}", {"value": boundary}) for i, boundary in enumerate(boundaries)
    ]
    found += [
        ("pim.TVC_NPU_RATIO", {"value": ratio}),
        ("pim.TVC_SWITCH_CYCLES", {"value": config.gtsu.switch_cycles}),
        ("pim.TVC_SLOWDOWN_CYCLES", {"value": config.tvc.slowdown_cycles}),
        ("pim.TVC_MAX_LENGTH", {"value": config.tvc.max_length}),
        ("pim.TVC_COLD_CYCLES", {"value": config.tvc.cold_preverify_cycles}),
        ("pim.GTSU_DLM_MASK", {"value": drafts_on}),
        ("pim.GTSU_TLM_MASK", {"value": verifies_on}),
        ("pim.GTSU_SWITCH_CYCLES", {"value": config.gtsu.switch_cycles}),
        ("pim.GTSU_DRAIN_MAX", {"value": config.gtsu.drain_max_cycles}),
    ]
    if config.scheme == "ahasd" and config.tvc.preload:
        found += _profile(config, devices)
    found.append(
        (
            "pim.CONTROL",
            {
                "edc_enable": int(config.scheme != "async"),
                "edc_recheck": int(config.edc.recheck),
                "edc_explore": config.edc.explore,
                "tvc_affine_npu": int(config.tvc.affine_npu),
                "tvc_affine_preverify": int(config.tvc.affine_preverify),
                "gtsu_preempt": int(config.gtsu.preempt),
            },
        )
    )
    return found


def _profile(config: RunConfig, devices: Devices) -> list[tuple[str, dict[str, int]]]:
    """Return an offline profile: the devices' times, as a calibration run would measure them."""
    npu_ps, pim_ps = config.platform.npu.period_ps, config.platform.pim.period_ps
    found: list[tuple[str, dict[str, int]]] = []
    context = 64
    rows = [
        *((0, devices.verify(4, context << i).alone_ps, npu_ps, context << i) for i in range(4)),
        *((1, n * devices.draft(context).alone_ps, pim_ps, n) for n in PRELOADED_TOKENS),
        *((2, devices.preverify(n, context).alone_ps, pim_ps, n) for n in PRELOADED_TOKENS),
    ]
    for table, time_ps, period_ps, length in rows:
        cycles = min(-(-time_ps // period_ps), (1 << 32) - 1)
        found.append(("pim.TVC_PRELOAD_CYCLES", {"value": cycles}))
        found.append(("pim.TVC_PRELOAD", {"table": table, "length": length}))
    return found
