# SPDX-License-Identifier: BSD-3-Clause
"""The command ``bagshift``. It parses, calls and shows; the work is in ``bagshift.workflows``."""

from __future__ import annotations

import sys

INSTALL_LINE = "The command line needs more packages: pip install 'bagshift[cli]'"


def main() -> None:
    """Run the command line; without the packages it needs, print how to install them."""
    try:
        from bagshift.cli.app import app
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] == "bagshift":
            raise
        sys.exit(INSTALL_LINE)
    app(prog_name="bagshift")
