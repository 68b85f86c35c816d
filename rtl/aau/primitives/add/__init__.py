# SPDX-License-Identifier: Apache-2.0
"""Sums of floating-point numbers."""
