# SPDX-License-Identifier: Apache-2.0
"""The top: all control units of AHASD, wired, and their host interface."""
