# SPDX-License-Identifier: Apache-2.0
"""Payloads of the top's own streams, for Amaranth."""

from amaranth.lib import data

from ahasd.rtl.ahasd.params import AhasdParams, request_widths
from ahasd.rtl.queues import layouts


def draft(params: AhasdParams) -> data.Layout:
    """Return a word from the sequencer."""
    return data.StructLayout(
        {"word": layouts.word(params.queues), "entropy": params.edc.entropy_width}
    )


def request(params: AhasdParams) -> data.Layout:
    """Return a question to the TVC, with what the pre-verification queue needs to know."""
    return data.StructLayout(request_widths(params))
