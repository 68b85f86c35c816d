# SPDX-License-Identifier: Apache-2.0
"""Host bridge: frames on a serial line to registers and streams."""
