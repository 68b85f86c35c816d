# SPDX-License-Identifier: Apache-2.0
"""Operands from their formats into mantissas, and into scaled numbers."""
