# SPDX-License-Identifier: Apache-2.0
"""Products of floating-point numbers."""
