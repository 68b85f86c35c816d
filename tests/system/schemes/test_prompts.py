# SPDX-License-Identifier: Apache-2.0
"""Prompts that no model takes."""

import re
from dataclasses import replace

import pytest

from ahasd import UserError
from ahasd.system.config import load_config
from ahasd.system.simulate import prepare
from ahasd.system.workload.source import open_trace
from ahasd.system.workload.synthetic import Size
from ahasd.system.workload.trace import save_trace

TOKENS = 5
"""Of every request."""


@pytest.fixture
def configured(tmp_path):
    """Configure a run of three requests whose prompts have given lengths."""

    def configure(lengths, **overrides):
        made = open_trace("synthetic:chat@0.8", size=Size(requests=3, tokens=TOKENS, k_max=3))
        path = str(tmp_path / "prompts.npz")
        save_trace(replace(made, header={**made.header, "prompt_len": lengths}), path)
        settings = {
            "workload.trace": path,
            "workload.tokens": 3 * TOKENS,
            "backend.ahasd": "golden",
            "dlm": "tiny-draft",
            "tlm": "tiny-target",
            "gpu.offload": False,
        }
        return path, load_config(
            "default", settings | {key.replace("__", "."): each for key, each in overrides.items()}
        )

    return configure


@pytest.mark.parametrize(
    ("lengths", "playback", "request_", "prompt", "adds"),
    [
        ([10**30, 2, 3], "stream", 0, 10**30, 3 * TOKENS),
        ([10**30, 2, 3], "requests", 0, 10**30, TOKENS),
        ([2, 3, 5000], "requests", 2, 5000, TOKENS),
    ],
)
def test_a_prompt_that_no_model_takes_is_told_with_trace_and_request(
    configured, lengths, playback, request_, prompt, adds
):
    path, config = configured(lengths, workload__playback=playback)
    limit = config.dlm.max_context
    line = re.escape(
        f"{path}: request {request_} begins with a prompt of {prompt:,} tokens (prompt_len) and the"
        f" run adds {adds}; tiny-draft was made for {limit:,} in all: shorten the prompt, generate"
        " fewer tokens (--tokens), or choose another model"
    )
    with pytest.raises(UserError, match=f"^{line}$"):
        prepare(config)


def test_what_only_later_requests_of_a_stream_say_of_prompts_is_not_read(configured):
    _, config = configured([2, 10**30, 3], workload__playback="stream")
    _, ranks = prepare(config)
    assert ranks.context_tokens == 2 + 3 * TOKENS
