# SPDX-License-Identifier: Apache-2.0
"""Emission of Verilog and of the JSON manifest that describes it."""
