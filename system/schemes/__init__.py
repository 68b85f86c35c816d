# SPDX-License-Identifier: Apache-2.0
"""Schemes: who drafts, who verifies, and who waits for whom."""
