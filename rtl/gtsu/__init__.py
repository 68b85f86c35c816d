# SPDX-License-Identifier: Apache-2.0
"""GTSU, gated task scheduling unit."""
