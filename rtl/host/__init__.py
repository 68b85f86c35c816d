# SPDX-License-Identifier: Apache-2.0
"""Host interface: an AXI4-Lite port to the registers of both clock domains."""
