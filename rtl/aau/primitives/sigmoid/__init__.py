# SPDX-License-Identifier: Apache-2.0
"""The logistic function to base 2."""
