# SPDX-License-Identifier: Apache-2.0
"""Our graphics processors against AttAcc's simulator: eight A100 with HBM3, FP16.

AttAcc's step is the layers of one token of every sequence, averaged over the tokens after the
first; the output projection is not in it.
"""

from ahasd.system.devices.gpu import GpuPass, load_gpu
from ahasd.system.model import load_model
from ahasd.system.validation.rows import Row

PEER = "AttAcc"
PROMPT = 2048

# Model, sequences, and ms measured on it for 128 tokens after a prompt of 2,048.
_STEPS = {
    ("gpt-175b", 1): 31.03,
    ("gpt-175b", 32): 46.57,
    ("opt-66b", 1): 15.57,
    ("opt-66b", 32): 22.67,
}
# Attention of GPT-175B in the same for 4 tokens, ms.
_ATTENTION_MS = 3.97


def rows() -> list[Row]:
    """Return a row for each step, and one for the attention in one."""
    made = [
        Row(
            peer=PEER,
            case=f"{model}, {batch} {'sequence' if batch == 1 else 'sequences'}, step",
            unit="ms",
            theirs=theirs,
            ours=step_ms(model, batch, PROMPT, 128),
        )
        for (model, batch), theirs in _STEPS.items()
    ]
    attention = mean_pass("gpt-175b", 1, PROMPT, 4).attention_ps / 1e9
    made.append(
        Row(
            peer=PEER,
            case="gpt-175b, 1 sequence, attention",
            unit="ms",
            theirs=_ATTENTION_MS,
            ours=attention,
        )
    )
    return made


def step_ms(model: str, batch: int, prompt: int, tokens: int) -> float:
    """Return our mean time of a token after the first, without the output projection, ms.

    Parameters
    ----------
    model
        Name of a packaged shape.
    batch
        Sequences at once.
    prompt, tokens
        Length of the prompt, and tokens after it; at least 2.
    """
    made = mean_pass(model, batch, prompt, tokens)
    return (made.total_ps - made.vocabulary_ps) / 1e9


def mean_pass(model: str, batch: int, prompt: int, tokens: int) -> GpuPass:
    """Return the pass of the middle token, which is the mean of all; arguments as `step_ms`."""
    # The n-th token after the first sees prompt + n keys, and times are linear in keys.
    keys = prompt + tokens // 2
    return load_gpu("a100a-attacc").forward(
        load_model(model), 1, keys - 1, batch=batch, weight_bytes_per_parameter=2
    )
