# SPDX-License-Identifier: Apache-2.0
"""EDC, entropy-history-aware drafting control."""
