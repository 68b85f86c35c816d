# SPDX-License-Identifier: Apache-2.0
"""Power of units: gates driven by the pins of a real run, energies from Liberty tables."""
