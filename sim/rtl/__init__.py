# SPDX-License-Identifier: Apache-2.0
"""Backend `rtl`: the unit's netlist compiled by CXXRTL and called through a C interface."""
