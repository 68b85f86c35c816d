# SPDX-License-Identifier: Apache-2.0
"""The one interface under the system model, and its backends."""
