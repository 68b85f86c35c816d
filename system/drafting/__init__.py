# SPDX-License-Identifier: Apache-2.0
"""Drafting rules: when a draft batch ends."""
