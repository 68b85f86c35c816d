# SPDX-License-Identifier: Apache-2.0
"""The top behind a serial line, for an FPGA."""
