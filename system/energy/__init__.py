# SPDX-License-Identifier: Apache-2.0
"""Energy of what a run did: tables of energy per event, accounts, reports."""
