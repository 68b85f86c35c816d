# SPDX-License-Identifier: Apache-2.0
"""Logarithms of mantissas to base 2."""
