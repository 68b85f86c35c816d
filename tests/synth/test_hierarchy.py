# SPDX-License-Identifier: Apache-2.0
"""Equal parts of a design: found whatever their names are, and nothing else is."""

import pytest

from ahasd.gen.emit import to_rtlil
from ahasd.synth.hierarchy import equal, kind_name, merged

TOP = r"""
attribute \top 1
module \top
  wire width 1 \i
  wire width 1 \x
  wire width 1 \y
  cell \top.a_0 \a_0
    connect \in \i
    connect \out \x
  end
  cell \top.a_1 \a_1
    connect \out$2 \y
    connect \in$1 \x
  end
  cell $not $1
    parameter \A_WIDTH 1
    connect \A \x
    connect \Y \y
  end
end
module \top.a_0
  wire width 1 input 0 \in
  wire width 1 output 1 \out
  cell $and \gate
    parameter \A_WIDTH 1
    connect \A \in
    connect \B \in
    connect \Y \out
  end
  cell \top.a_0.deep \deep
    connect \left \in
    connect \right \out
  end
end
module \top.a_0.deep
  wire width 1 input 0 \left
  wire width 1 input 1 \right
end
"""
SECOND = r"""
module \top.a_1
  wire width 1 input 0 \in$1
  wire width 1 output 1 \out$2
  cell $and \other
    parameter \A_WIDTH 1
    connect \A \in$1
    connect \B \in$1
    connect \Y \out$2
  end
  cell \top.a_1.deep \deep$3
    connect \wrong \in$1
    connect \right \out$2
  end
end
module \top.a_1.deep
  wire width 1 input 0 \wrong
  wire width 1 input 1 \right
end
"""


def test_parts_are_equal_whatever_their_wires_and_cells_are_called():
    design, kinds = merged(TOP + SECOND, "top")
    assert kinds == {"top.a_0": ("a_0", "a_1")}
    # The second is an instance of the first, with its ports.
    assert "  cell \\top.a_0 \\a_1\n    connect \\out \\y\n    connect \\in \\x\n" in design
    assert design.count("cell \\top.a_0 ") == 2
    # What is not a part is what it was.
    assert design.replace(
        "cell \\top.a_0 \\a_1\n    connect \\out \\y\n    connect \\in \\x",
        "cell \\top.a_1 \\a_1\n    connect \\out$2 \\y\n    connect \\in$1 \\x",
    ) == (TOP + SECOND)


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("$and", "$or"),
        (r"connect \B \in$1", r"connect \B \out$2"),
        (r"parameter \A_WIDTH 1", r"parameter \A_WIDTH 2"),
        (r"parameter \A_WIDTH 1", r"parameter \Y_WIDTH 1"),
        ("wire width 1 input 0 \\in$1", "wire width 2 input 0 \\in$1"),
        ("wire width 1 input 1 \\right", "wire width 3 input 1 \\right"),
        # The same but for two ports of a part of it, which change places.
        (
            "connect \\wrong \\in$1\n    connect \\right \\out$2",
            "connect \\right \\in$1\n    connect \\wrong \\out$2",
        ),
        ("wire width 1 input 0 \\in$1", "attribute \\init 1'1\n  wire width 1 input 0 \\in$1"),
    ],
)
def test_parts_that_differ_in_anything_else_are_not(here, there):
    assert here in SECOND
    other = SECOND.replace(here, there)
    design, kinds = merged(TOP + other, "top")
    assert kinds == {"top.a_0": ("a_0",), "top.a_1": ("a_1",)}
    assert design == TOP + other
    assert equal(kinds) == {}


def test_hardware_of_the_same_class_is_one_kind(parts):
    design = parts.several(
        a=parts.pair(), b=parts.pair(), c=parts.register(2), d=parts.register(3), e=parts.pair()
    )
    _, kinds = merged(to_rtlil(design, "unit"), "unit")
    assert kinds == {"unit.a": ("a", "b", "e"), "unit.c": ("c",), "unit.d": ("d",)}
    assert equal(kinds) == {"unit.a": ("a", "b", "e")}


@pytest.mark.parametrize(
    ("instances", "name"),
    [
        (("lane_0", "lane_1", "lane_2"), "lane x 3"),
        (("gate_0",), "gate_0"),
        (("lane7", "lane8"), "lane x 2"),
        (("left", "right"), "left x 2"),
    ],
)
def test_a_kind_is_called_after_its_first(instances, name):
    assert kind_name(instances) == name
