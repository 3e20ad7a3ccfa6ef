# SPDX-License-Identifier: BSD-3-Clause
"""``python -m bagshift`` is the command ``bagshift``."""

from bagshift.cli import main

if __name__ == "__main__":
    main()
