# SPDX-License-Identifier: Apache-2.0
"""The system model: workload, drafting rules, devices, schemes, reports."""
