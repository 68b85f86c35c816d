# SPDX-License-Identifier: Apache-2.0
"""TVC, time-aware pre-verification control."""
