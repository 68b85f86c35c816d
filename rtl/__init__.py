# SPDX-License-Identifier: Apache-2.0
"""Hardware: one folder a unit, with its parameters, golden model and Amaranth source."""
