# SPDX-License-Identifier: Apache-2.0
"""Kernels of the processing-in-memory ranks as sequences of memory commands."""
