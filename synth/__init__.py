# SPDX-License-Identifier: Apache-2.0
"""Synthesis: area, timing and power of the emitted Verilog."""
