# SPDX-License-Identifier: Apache-2.0
"""The commands, put together."""

from cyclopts import App

from ahasd import __version__
from ahasd.cli.area import area
from ahasd.cli.compare import compare
from ahasd.cli.devices import devices
from ahasd.cli.doctor import doctor
from ahasd.cli.fpga import fpga
from ahasd.cli.gen import gen
from ahasd.cli.power import power
from ahasd.cli.run import run
from ahasd.cli.timing import timing
from ahasd.cli.trace import trace

app = App(
    name="ahasd",
    help="Hardware generator and RTL-in-the-loop simulator for speculative decoding in memory.",
    version=f"ahasd {__version__}",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` says what became of the work
)
app.command(run)
app.command(compare)
app.command(devices)
app.command(trace)
app.command(gen)
app.command(area)
app.command(timing)
app.command(fpga)
app.command(power)
app.command(doctor)
