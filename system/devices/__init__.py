# SPDX-License-Identifier: Apache-2.0
"""Device models: what a draft step and a verification pass cost, and what fits where."""
