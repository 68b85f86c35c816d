# SPDX-License-Identifier: Apache-2.0
"""Results into their formats."""
