# SPDX-License-Identifier: Apache-2.0
"""Matrices of runs: their cells, what runs them, and what they show."""
