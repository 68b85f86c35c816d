# SPDX-License-Identifier: Apache-2.0
"""The build cache: by content, atomic, and clear about what is missing."""

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from ahasd import UserError
from ahasd.gen.cache import cache_folder
from ahasd.rtl.configs import UNITS
from ahasd.sim.registry import make_engine
from ahasd.sim.rtl.build import build, compiler, intact

EDC = UNITS["edc"]
SMALL = EDC.configurations["test"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path))
    return tmp_path


def test_the_cache_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.delenv("AHASD_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "ahasd"
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


@pytest.mark.full
def test_the_same_content_is_compiled_once_and_needs_no_compiler_then(cache, monkeypatch):
    first = build(EDC, SMALL)
    stamp = (first / "unit.so").stat().st_mtime_ns
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert build(EDC, SMALL) == first
    assert (first / "unit.so").stat().st_mtime_ns == stamp


@pytest.mark.full
def test_other_content_has_another_place(cache, monkeypatch):
    places = {build(EDC, SMALL), build(EDC, replace(SMALL, llr_width=1))}
    monkeypatch.setattr(type(EDC), "source_sha256", lambda self: "changed")
    places.add(build(EDC, SMALL))
    assert len(places) == 3


@pytest.mark.full
def test_two_builds_at_once_both_succeed_and_leave_one_result(cache):
    program = (
        "from ahasd.rtl.configs import UNITS\n"
        "from ahasd.sim.registry import make_engine\n"
        "unit = UNITS['edc']\n"
        "make_engine('edc', unit.configurations['test'], 'rtl')\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    left = list((cache / "rtl").iterdir())
    assert len(left) == 1, f"nothing half-built may stay: {left}"
    assert (left[0] / "unit.so").exists()


def test_a_missing_compiler_is_one_line_that_says_how_to_get_it(cache, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(UserError, match="apt-get install g\\+\\+") as caught:
        make_engine("edc", SMALL, "rtl")
    assert "\n" not in str(caught.value)
    assert "--backend golden" in str(caught.value)


def test_a_compiler_that_fails_is_told_and_leaves_nothing(cache, monkeypatch, tmp_path):
    broken = tmp_path / "broken-g++"
    broken.write_text("#!/bin/sh\necho 'wrap.cc:1: error: out of cheese' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    with pytest.raises(UserError, match=r"failed on unit edc with code 3: .*out of cheese"):
        build(EDC, SMALL)
    assert list((cache / "rtl").iterdir()) == []


def test_cxx_chooses_the_compiler_and_a_wrong_one_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "sh")
    assert compiler().endswith("/sh")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match="CXX names 'no-such-compiler', which is no program"):
        compiler()


def test_a_library_that_does_not_load_never_enters_the_cache(cache, monkeypatch, tmp_path):
    lazy = tmp_path / "lazy-g++"
    lazy.write_text('#!/bin/sh\nfor last; do :; done; echo nonsense > "$last"\n')
    lazy.chmod(0o755)
    monkeypatch.setenv("CXX", str(lazy))
    with pytest.raises(UserError, match=r"lazy-g.. made of unit edc does not load"):
        build(EDC, SMALL)
    assert list((cache / "rtl").iterdir()) == []


def damage_library(entry):
    library = entry / "unit.so"
    content = library.read_bytes()
    library.unlink()  # it is mapped into this process: cutting it in place would be fatal
    library.write_bytes(content[:5000])


def damage_ports(entry):
    (entry / "entry.json").write_text("{")


def remove_library(entry):
    (entry / "unit.so").unlink()


def make_it_a_file(entry):
    shutil.rmtree(entry)
    entry.write_text("")


@pytest.mark.full
@pytest.mark.parametrize("damage", [damage_library, damage_ports, remove_library, make_it_a_file])
def test_a_damaged_entry_is_made_anew(damage, cache, monkeypatch):
    built = []

    def fake(target, *_):
        built.append(target)
        target.mkdir()

    entry = build(EDC, SMALL) if damage is damage_library else cache / "rtl" / "x"
    if damage is not damage_library:
        entry.mkdir(parents=True)
        (entry / "unit.so").write_bytes(b"library")
        digest = hashlib.sha256(b"library").hexdigest()
        (entry / "entry.json").write_text(json.dumps({"sha256": digest, "ports": []}))
    assert intact(entry)
    damage(entry)
    assert not intact(entry)
    monkeypatch.setattr("ahasd.sim.rtl.build._compile", fake)
    monkeypatch.setattr("ahasd.sim.rtl.build._key", lambda *_: "y")
    entry.rename(cache / "rtl" / "edc-y")
    build(EDC, SMALL)
    assert built == [cache / "rtl" / "edc-y"]


def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AHASD_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot keep compiled units in .*file: Not a directory"):
        build(EDC, SMALL)
