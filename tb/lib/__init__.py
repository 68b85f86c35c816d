# SPDX-License-Identifier: Apache-2.0
"""Drivers, monitors and scoreboards that every bench shares."""
