# SPDX-License-Identifier: Apache-2.0
"""Attention algorithm unit (AAU): non-linear operators beside the banks of a rank."""
