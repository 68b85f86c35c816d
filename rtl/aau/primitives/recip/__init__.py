# SPDX-License-Identifier: Apache-2.0
"""Reciprocals of mantissas."""
