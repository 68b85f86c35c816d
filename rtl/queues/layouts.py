# SPDX-License-Identifier: Apache-2.0
"""Payloads of the queue controllers' streams, for Amaranth."""

from amaranth.lib import data

from ahasd.rtl.queues.params import Event, Kind, QueuesParams


def word(params: QueuesParams) -> data.Layout:
    """Return a word of the draft queue: kind, epoch, and a token or a batch's fields."""
    info = data.StructLayout(
        {
            "batch": params.batch_width,
            "branch": params.branch_width,
            "length": params.length_width,
        }
    )
    body = data.UnionLayout({"token": params.token_width, "info": info})
    return data.StructLayout({"kind": Kind, "epoch": params.epoch_width, "body": body})


def report(params: QueuesParams) -> data.Layout:
    """Return an entry of the feedback queue as the NPU gives it, without the epoch."""
    return data.StructLayout(
        {
            "event": Event,
            "batch": params.batch_width,
            "accepted": params.length_width,
            "full": 1,
            "void": 1,
            "last": 1,
            "next_valid": 1,
            "next_token": params.token_width,
            "npu_cycles": params.npu_cycles_width,
            "kv_length": params.kv_width,
        }
    )


def feedback(params: QueuesParams) -> data.Layout:
    """Return an entry of the feedback queue as the PIM gets it."""
    return data.StructLayout({"report": report(params), "epoch": params.epoch_width})


def preverify(params: QueuesParams) -> data.Layout:
    """Return an entry of the pre-verification queue."""
    return data.StructLayout(
        {
            "epoch": params.epoch_width,
            "branch": params.branch_width,
            "position": params.kv_width,
            "length": params.length_width,
            "task": params.task_width,
        }
    )
