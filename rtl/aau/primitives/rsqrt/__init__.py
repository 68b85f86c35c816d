# SPDX-License-Identifier: Apache-2.0
"""Reciprocal square roots."""
