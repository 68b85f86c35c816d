# SPDX-License-Identifier: Apache-2.0
"""Bitstreams of the top behind a serial line, and what they take of an FPGA."""
