# SPDX-License-Identifier: Apache-2.0
"""Proofs: a unit with its properties becomes one graph of gates, which a model checker decides."""
