# SPDX-License-Identifier: Apache-2.0
"""Our devices against what peer simulators measured."""
