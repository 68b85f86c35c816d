# SPDX-License-Identifier: Apache-2.0
"""What the AAU's arithmetic does to numbers, and to decisions that rest on them."""
