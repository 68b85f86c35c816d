# SPDX-License-Identifier: Apache-2.0
"""Workloads: draft/target traces and their exact replay."""
