# SPDX-License-Identifier: BSD-3-Clause
"""How many threads a fit takes."""

from __future__ import annotations

from joblib import effective_n_jobs, parallel_config  # type: ignore[import-untyped]
from joblib.parallel import get_active_backend  # type: ignore[import-untyped]


def n_threads_of(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means for a fit.

    Parameters
    ----------
    n_jobs : int or None
        As in joblib: None is one, or what :func:`joblib.parallel_config` says; -1 is one for
        every processor.

    Returns
    -------
    int
        Threads of this process, whatever backend is in force: the workers of a cluster are none.
    """
    backend, _ = get_active_backend()
    if getattr(backend, "supports_sharedmem", False):  # as it nests
        return int(effective_n_jobs(n_jobs))
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))
