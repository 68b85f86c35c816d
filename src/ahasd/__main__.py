# SPDX-License-Identifier: Apache-2.0
"""`python -m ahasd`."""

import sys

from ahasd.cli import main

sys.exit(main())
