# SPDX-License-Identifier: Apache-2.0
"""Asynchronous queue controllers between PIM and NPU."""
