# SPDX-License-Identifier: Apache-2.0
"""Arithmetic units of the AAU that stand alone, each a pipeline with one result a cycle."""
