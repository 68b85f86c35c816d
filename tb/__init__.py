# SPDX-License-Identifier: Apache-2.0
"""cocotb benches on the emitted Verilog."""
