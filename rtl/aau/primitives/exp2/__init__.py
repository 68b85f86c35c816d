# SPDX-License-Identifier: Apache-2.0
"""Powers of two with exponents of 0 and below."""
