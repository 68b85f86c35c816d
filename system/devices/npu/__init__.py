# SPDX-License-Identifier: Apache-2.0
"""NPU: systolic arrays, scratchpad tiling with double buffering, forward passes."""
