# SPDX-License-Identifier: Apache-2.0
"""What a run was like: figures by the definitions of the field, pooled and for each request."""
