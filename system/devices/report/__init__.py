# SPDX-License-Identifier: Apache-2.0
"""What a platform's file means: figures, their tables and their plots."""
