# SPDX-License-Identifier: Apache-2.0
"""DRAM at command level: timing files, state machines of every bank and rank, streams."""
