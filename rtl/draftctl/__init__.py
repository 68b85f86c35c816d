# SPDX-License-Identifier: Apache-2.0
"""Draft-length control: ends a draft batch by a rule."""
