# SPDX-License-Identifier: Apache-2.0
"""Payloads and structures of the host interface, for Amaranth."""

from amaranth.lib import data

from ahasd.rtl.host.map import WORD_BITS, WORD_BYTES, WORD_WIDTH
from ahasd.rtl.host.params import HostParams, Response, widths
from ahasd.rtl.tvc.params import Table


def structure(port: str) -> data.Layout:
    """Return the fields of a port of `params.widths`."""
    return data.StructLayout(widths(port))


def address(params: HostParams) -> data.Layout:
    """Return the payload of `aw` and `ar`."""
    return data.StructLayout({"addr": params.address_width})


WRITE = data.StructLayout({"data": WORD_BITS, "strb": WORD_BYTES})
"""Payload of `w`."""

WRITTEN = data.StructLayout({"resp": Response})
"""Payload of `b`."""

READ = data.StructLayout({"data": WORD_BITS, "resp": Response})
"""Payload of `r`, and answer to any access."""

ACCESS = data.StructLayout({"write": 1, "word": WORD_WIDTH, "data": WORD_BITS, "strb": WORD_BYTES})
"""Access to a block, by the number of the word in it."""

RECORD = data.StructLayout({"table": Table, "cycles": 32, "length": 16})
"""Payload of `tvc_record`."""
