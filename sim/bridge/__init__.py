# SPDX-License-Identifier: Apache-2.0
"""The host's side of the bridge: its protocol, lines to it, and the self-test of a board."""
