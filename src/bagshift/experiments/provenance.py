# SPDX-License-Identifier: BSD-3-Clause
"""Where results come from: versions, machine, command, time."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version

LIBRARIES = ("bagshift", "numpy", "scipy", "scikit-learn")


def provenance(command: str) -> dict[str, str]:
    """Return what a reader needs to make the same results again.

    Parameters
    ----------
    command : str
        The command line that made them.

    Returns
    -------
    dict of str to str
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **{name: version(name) for name in LIBRARIES},
        "Python": sys.version.split()[0],
        "machine": f"{platform.machine()}, {cores} cores, {platform.system()}",
    }
