# SPDX-License-Identifier: Apache-2.0
"""Every drafting rule that a run configuration can name."""

from typing import Annotated

from pydantic import Field

from ahasd.system.drafting.adaedl import AdaEdlOptions
from ahasd.system.drafting.banditspec import BanditSpecOptions
from ahasd.system.drafting.disco import DiscoLiteOptions
from ahasd.system.drafting.file import FileOptions
from ahasd.system.drafting.fixed import FixedOptions
from ahasd.system.drafting.hf_confidence import HfConfidenceOptions
from ahasd.system.drafting.hf_heuristic import HfHeuristicOptions
from ahasd.system.drafting.oracle import OracleOptions
from ahasd.system.drafting.saddle import SaddleOptions
from ahasd.system.drafting.specdecpp import SpecDecPpOptions
from ahasd.system.drafting.svip import SvipOptions

AnyRuleOptions = Annotated[
    FixedOptions
    | HfHeuristicOptions
    | HfConfidenceOptions
    | SvipOptions
    | AdaEdlOptions
    | SpecDecPpOptions
    | BanditSpecOptions
    | SaddleOptions
    | DiscoLiteOptions
    | OracleOptions
    | FileOptions,
    Field(discriminator="rule"),
]
"""The options of any rule; a table's field `rule` says whose."""
