# SPDX-License-Identifier: Apache-2.0
"""The rules of a trace's JSON header, each with its own message."""

import reprlib
from collections.abc import Mapping
from typing import Any

from ahasd import UserError
from ahasd.system.workload.schema import COUPLINGS, K_MAX_LIMIT, SCHEMA

_VOCAB_LIMIT = 2**31 - 1  # token ids are int32


def check_header(source: str, header: object) -> Mapping[str, Any]:
    """Check what the header says by itself, and return it.

    Parameters
    ----------
    source : str
        File or name that messages begin with.
    header : object
        The decoded JSON; anything but a mapping is refused.

    Raises
    ------
    UserError
        At the first broken rule, the schema's name before all others.
    """
    if not isinstance(header, Mapping):
        raise UserError(
            f"{source}: the header must be a JSON object, but it is {reprlib.repr(header)}; "
            "write names and values in braces"
        )
    schema = header.get("schema")
    if schema != SCHEMA:
        raise UserError(
            f"{source}: schema must be {SCHEMA!r}, but it is {reprlib.repr(schema)}; "
            "dump the trace in that schema, or use a version of ahasd that knows the other"
        )
    _check_header_int(source, header, "k_max", 1, K_MAX_LIMIT, "number of steps in a rollout")
    _check_header_int(source, header, "vocab_size", 2, _VOCAB_LIMIT, "tokenizer's number of ids")
    coupling = header.get("coupling")
    if coupling not in COUPLINGS:
        raise UserError(
            f"{source}: coupling must be one of {', '.join(COUPLINGS)}, but it is "
            f"{reprlib.repr(coupling)}; state how draft tokens were judged"
        )
    logarithm = header.get("log", "e")
    if logarithm != "e":
        raise UserError(
            f"{source}: entropies must be in nats (log 'e'), but log is "
            f"{reprlib.repr(logarithm)}; multiply bits by ln 2 and write 'e'"
        )
    return header


def _check_header_int(
    source: str, header: Mapping[str, Any], field: str, low: int, high: int, meaning: str
) -> None:
    if field not in header:
        raise UserError(f"{source}: the header lacks {field}; add the {meaning}")
    value = header[field]
    # JSON's true is an int in Python
    if type(value) is not int or not low <= value <= high:
        raise UserError(
            f"{source}: {field} must be an integer in {low}..{high}, but it is "
            f"{reprlib.repr(value)}; write the {meaning}"
        )


def check_request_lists(source: str, header: Mapping[str, Any], requests: int) -> None:
    """Check the optional fields that list one value for each of `requests` requests.

    Raises
    ------
    UserError
        At the first broken rule.
    """
    lengths = _check_list(source, header, "prompt_len", requests)
    for number, value in enumerate(lengths):
        if type(value) is not int or value < 1:
            raise UserError(
                f"{source}: prompt_len must hold integers of at least 1, but request {number} has "
                f"{reprlib.repr(value)}; write the prompt's number of tokens, that of its beginning"
                " included"
            )
    for number, value in enumerate(_check_list(source, header, "category", requests)):
        if not isinstance(value, str):
            raise UserError(
                f"{source}: category must hold strings, but request {number} has "
                f"{reprlib.repr(value)}; write the name of the kind of prompt"
            )


def _check_list(source: str, header: Mapping[str, Any], field: str, requests: int) -> list[Any]:
    """Return an optional header field that lists one value a request, [] where it is absent."""
    if field not in header:
        return []
    values = header[field]
    if not isinstance(values, list) or len(values) != requests:
        raise UserError(
            f"{source}: {field} must list one value for each of {requests} requests, but it is "
            f"{reprlib.repr(values)}; complete it or leave it out"
        )
    return values
