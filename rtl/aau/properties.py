# SPDX-License-Identifier: Apache-2.0
"""What is proved of the AAU: rest and handshakes; arithmetic is compared with its model."""

from ahasd.rtl.lib.properties import Offers, Proof, Quiescence

PROOFS = (
    Proof(properties=Quiescence, configuration="test", cover_depth=4, timeout_s=600),
    Proof(properties=Offers, configuration="test", cover_depth=14, timeout_s=600),
)
