# SPDX-License-Identifier: Apache-2.0
"""What becomes of a design's memories: flip-flops, latch arrays, or macros; told for each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FLOPS, LATCHES, MACROS = "flops", "latches", "macros"
CHOICES = (FLOPS, LATCHES, MACROS)
MACRO_BITS = 1024
"""Smallest memory for which a macro is considered: below, its periphery is most of it."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory of a design.

    Parameters
    ----------
    cell, module
        The cell, and the module that it is in.
    words, width
        Its size; `width` in bits.
    reads
        Read ports.
    clocked
        Whether all of them have a register.
    plain
        Whether it has one write port, writes whole words, and its read ports have no reset and
        do not forward: what latch arrays and macros can do.
    """

    cell: str
    module: str
    words: int
    width: int
    reads: int
    clocked: bool
    plain: bool

    @property
    def bits(self) -> int:
        """Bits that it holds."""
        return self.words * self.width

    def treatment(self, choice: str) -> tuple[str, str]:
        """Return what becomes of it, and why not what was chosen, '' if it does.

        Parameters
        ----------
        choice
            One of `CHOICES`; `macros` takes macros where they can be had, and latch arrays
            elsewhere.
        """
        if choice == FLOPS:
            return FLOPS, ""
        if not self.plain:
            return FLOPS, "its ports are more than a latch array or a macro has"
        if choice == LATCHES:
            return LATCHES, ""
        if self.bits < MACRO_BITS:
            return LATCHES, f"a macro needs {MACRO_BITS} bits"
        if not self.clocked or self.reads != 1:
            return LATCHES, "a macro has one read port, which answers a cycle later"
        return MACROS, ""


def found(design: Mapping[str, Any]) -> tuple[Memory, ...]:
    """List the memories of a design in the form of Yosys' `write_json`, after `memory_collect`."""
    memories = []
    for module, content in design["modules"].items():
        for name, cell in content["cells"].items():
            if cell["type"] != "$mem_v2":
                continue
            told, pins = cell["parameters"], cell["connections"]
            clocked = told["RD_CLK_ENABLE"]
            resets = {*pins["RD_ARST"], *pins["RD_SRST"]}
            plain = (
                int(told["WR_PORTS"], 2) == 1
                and len(set(map(str, pins["WR_EN"]))) == 1
                and resets <= {"0"}
                and "1" not in told["RD_WIDE_CONTINUATION"] + told["RD_TRANSPARENCY_MASK"]
                and len(set(clocked)) == 1
            )
            memories.append(
                Memory(
                    cell=name,
                    module=module,
                    words=int(told["SIZE"], 2),
                    width=int(told["WIDTH"], 2),
                    reads=int(told["RD_PORTS"], 2),
                    clocked="0" not in clocked,
                    plain=plain,
                )
            )
    return tuple(sorted(memories, key=lambda memory: (memory.module, memory.cell)))


def commands(memories: Iterable[Memory], choice: str) -> list[str]:
    """Return the Yosys commands that replace memories, before technology mapping."""
    script = []
    for memory in memories:
        treatment, _ = memory.treatment(choice)
        if treatment != FLOPS:
            script += [
                f"select -set memory {memory.module}/c:{memory.cell}",
                f"techmap -map {treatment}.v @memory",
            ]
    return script


_HEAD = """
(* techmap_celltype = "$mem_v2" *)
module replaced (
  RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA
);
  parameter MEMID = "";
  parameter signed SIZE = 1, OFFSET = 0, ABITS = 1, WIDTH = 1;
  parameter signed INIT = 0;
  parameter signed RD_PORTS = 1, RD_CLK_ENABLE = 0, RD_CLK_POLARITY = 0, RD_WIDE_CONTINUATION = 0;
  parameter RD_TRANSPARENCY_MASK = 0, RD_COLLISION_X_MASK = 0, RD_CE_OVER_SRST = 0;
  parameter RD_ARST_VALUE = 0, RD_SRST_VALUE = 0, RD_INIT_VALUE = 0;
  parameter signed WR_PORTS = 1, WR_CLK_ENABLE = 0, WR_CLK_POLARITY = 0;
  parameter WR_PRIORITY_MASK = 0, WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input WR_CLK;
  input [WIDTH-1:0] WR_EN, WR_DATA;
  input [ABITS-1:0] WR_ADDR;
"""

LATCH_ARRAY = (
    "// A latch a bit; the word line is gated by the clock, the data held while it is high."
    + _HEAD
    + r"""
  localparam DEPTH = $clog2(SIZE);
  localparam LEAVES = 1 << DEPTH;
  wire [WIDTH-1:0] held;
  \$dlatch #(.WIDTH(WIDTH), .EN_POLARITY(0)) hold (.EN(WR_CLK), .D(WR_DATA), .Q(held));
  wire [LEAVES*WIDTH-1:0] words;
  genvar i, d, p;
  generate
    for (i = 0; i < LEAVES; i = i + 1) begin : word
      if (i < SIZE) begin : used
        wire chosen, gate;
        \$dlatch #(.WIDTH(1), .EN_POLARITY(0))
          enable (.EN(WR_CLK), .D(WR_EN[0] & (WR_ADDR == i)), .Q(chosen));
        assign gate = WR_CLK & chosen;
        \$dlatch #(.WIDTH(WIDTH), .EN_POLARITY(1))
          bits (.EN(gate), .D(held), .Q(words[i*WIDTH +: WIDTH]));
      end else begin : unused
        assign words[i*WIDTH +: WIDTH] = {WIDTH{1'bx}};
      end
    end
    for (p = 0; p < RD_PORTS; p = p + 1) begin : port
      wire [ABITS-1:0] address = RD_ADDR[p*ABITS +: ABITS];
      wire [(2*LEAVES-1)*WIDTH-1:0] tree;
      assign tree[(LEAVES-1)*WIDTH +: LEAVES*WIDTH] = words;
      for (d = 0; d < DEPTH; d = d + 1) begin : level
        for (i = (1 << d) - 1; i < (2 << d) - 1; i = i + 1) begin : node
          assign tree[i*WIDTH +: WIDTH] = address[DEPTH-1-d]
            ? tree[(2*i+2)*WIDTH +: WIDTH] : tree[(2*i+1)*WIDTH +: WIDTH];
        end
      end
      if (RD_CLK_ENABLE[p]) begin : clocked
        \$dffe #(.WIDTH(WIDTH), .CLK_POLARITY(1), .EN_POLARITY(1)) answer
          (.CLK(RD_CLK[p]), .EN(RD_EN[p]), .D(tree[0 +: WIDTH]), .Q(RD_DATA[p*WIDTH +: WIDTH]));
      end else begin : direct
        assign RD_DATA[p*WIDTH +: WIDTH] = tree[0 +: WIDTH];
      end
    end
  endgenerate
endmodule
"""
)

MACRO = (
    "// A black box; its area is that of a model, not of cells."
    + _HEAD
    + r"""
  ahasd_macro #(.SIZE(SIZE), .WIDTH(WIDTH), .ABITS(ABITS)) macro (
    .read_clock(RD_CLK), .read(RD_EN), .read_address(RD_ADDR), .read_data(RD_DATA),
    .write_clock(WR_CLK), .write(WR_EN[0]), .write_address(WR_ADDR), .write_data(WR_DATA));
endmodule
"""
)

BLACK_BOX = """
(* blackbox *)
module ahasd_macro #(parameter SIZE = 1, WIDTH = 1, ABITS = 1) (
  input read_clock, read, input [ABITS-1:0] read_address, output [WIDTH-1:0] read_data,
  input write_clock, write, input [ABITS-1:0] write_address, input [WIDTH-1:0] write_data);
endmodule
"""

FILES = {f"{LATCHES}.v": LATCH_ARRAY, f"{MACROS}.v": MACRO, "black_box.v": BLACK_BOX}
"""What `commands` reads, by file name."""
