# SPDX-License-Identifier: Apache-2.0
"""Payloads of the bridge's streams, for Amaranth; those of AXI4-Lite are the host interface's."""

from amaranth.lib import data

from ahasd.rtl.bridge.params import ADDRESS_BITS, BridgeParams, Status

ADDRESS = data.StructLayout({"addr": ADDRESS_BITS})
"""Payload of `aw` and `ar`."""


def access(params: BridgeParams) -> data.Layout:
    """Return an access to a stream: what it is pushed, or that it is popped."""
    return data.StructLayout({"pop": 1, "channel": ADDRESS_BITS, "data": params.data_bits})


def answer(params: BridgeParams) -> data.Layout:
    """Return the answer to it."""
    return data.StructLayout({"status": Status, "data": params.data_bits})
