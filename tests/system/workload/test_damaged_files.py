# SPDX-License-Identifier: Apache-2.0
import io
import json
import random
import zipfile
from importlib.resources import files

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.workload.trace import Trace, load_trace, save_trace

SHIPPED = files("ahasd.system.workload").joinpath("data", "smollm2-rtn4.npz")


def _loads(path):
    """Return whether the file loads; anything but a UserError of one line escapes."""
    try:
        trace = load_trace(path)
    except UserError as refusal:
        message = str(refusal)
    else:
        return isinstance(trace, Trace)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return False


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_of_the_archive_never_give_a_traceback(seed, tmp_path):
    draw = random.Random(seed)
    good = SHIPPED.read_bytes()
    path = tmp_path / "user.npz"
    refused = 0
    for _ in range(60):
        content = bytearray(good)
        for _ in range(draw.choice([1, 1, 2, 8])):
            # half of the flips hit the local headers and the central directory
            low = draw.choice([0, len(content) - 600])
            content[draw.randrange(low, len(content))] = draw.randrange(256)
        path.write_bytes(content)
        refused += not _loads(path)
    assert refused > 30


def test_truncated_archives_are_always_refused(tmp_path):
    good = SHIPPED.read_bytes()
    path = tmp_path / "user.npz"
    for length in [*range(0, 200, 7), *range(200, len(good), 1999), len(good) - 1]:
        path.write_bytes(good[:length])
        assert not _loads(path)


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bytes_behind_the_checksums_never_give_a_traceback(seed, parts, pack, tmp_path):
    draw = random.Random(seed)
    header, columns = parts
    path = tmp_path / "user.npz"
    refused = 0
    for _ in range(40):
        damaged = {name: values.copy() for name, values in columns.items()}
        for name in draw.sample(list(damaged), 2):
            raw = damaged[name].reshape(-1).view(np.uint8)
            raw[draw.randrange(raw.size)] = draw.randrange(256)
        refused += not _loads(pack(path, header, damaged))
    assert refused > 10


def test_random_bytes_in_the_json_header_never_give_a_traceback(micro_trace, pack, tmp_path):
    draw = random.Random(0)
    plain = json.dumps(dict(micro_trace.header)).encode()
    for _ in range(100):
        header = bytearray(plain)
        header[draw.randrange(len(header))] = draw.randrange(256)
        _loads(pack(tmp_path / "user.npz", bytes(header), micro_trace.columns()))


def test_random_bytes_in_an_array_header_never_give_a_traceback(parts, tmp_path):
    draw = random.Random(0)
    path = tmp_path / "user.npz"
    np.savez(path, **{name: values[:1] for name, values in parts[1].items()})
    plain = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        members = {entry: archive.read(entry) for entry in archive.namelist()}
    for _ in range(100):
        with zipfile.ZipFile(path, "w") as archive:
            for entry, content in members.items():
                changed = bytearray(content)
                changed[draw.randrange(80)] = draw.randrange(256)
                archive.writestr(entry, changed)
        assert not _loads(path)


def test_an_array_that_comes_twice_is_refused(tmp_path, shipped):
    path = tmp_path / "twice.npz"
    save_trace(shipped, path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("run.npy", archive.read("run.npy"))
    with pytest.raises(UserError, match=r"holds run twice; dump the trace again"):
        load_trace(path)
