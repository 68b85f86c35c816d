# SPDX-License-Identifier: Apache-2.0
"""Sums into mantissas and exponents."""
