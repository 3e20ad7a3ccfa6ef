# SPDX-License-Identifier: BSD-3-Clause
"""Fits on more than one machine: rows in Dask data frames, passes on the workers of a cluster.

Dask reads, shuffles, keeps and recomputes rows; the optimiser is that of one process and asks
passes only (:mod:`bagshift.scale.dask_passes`). What lies in this process is one number or two
for each bag, a sample, and the few rows near a border that the exact minimum is searched with.
"""

from __future__ import annotations

from typing import Any, TypeVar

from bagshift.estimators import TGPLM, CountLikelihoodClassifier, InverseCalibrationSVM
from bagshift.exceptions import TableError

__all__ = ["fit_dask"]

Machine = TypeVar("Machine", TGPLM, InverseCalibrationSVM, CountLikelihoodClassifier)

INSTALL_LINE = 'More than one machine takes more packages: pip install "bagshift[dask]"'


def fit_dask(
    machine: Machine,
    target: Any,
    *,
    bag: str,
    shares: Any = None,
    counts: Any = None,
    sizes: Any = None,
    source: Any = None,
    label: str | None = None,
    columns: list[str] | None = None,
    positive: Any = None,
    on_unmatched: str = "raise",
    cluster: Any = None,
) -> Machine:
    """Fit a machine with a linear kernel to Dask data frames.

    Parameters
    ----------
    machine : TGPLM, InverseCalibrationSVM or CountLikelihoodClassifier
        With ``kernel="linear"``; fitted in place.
    target : dask.dataframe.DataFrame
        Rows of the target: a column of bag ids, whole numbers or text, and columns of numbers.
        It must give the same rows each time that it is computed.
    bag : str
        The column of bag ids.
    shares, counts, sizes : mapping, Series or frame, optional
        Share or count of positives of each bag, and the size of bags with more individuals than
        rows; by bag id, as :meth:`bagshift.Bags.from_arrays` takes them.
    source : dask.dataframe.DataFrame, optional
        Labelled history with the same columns of numbers.
    label : str, optional
        The column of labels in the source.
    columns : list of str, optional
        The features; by default all columns of the target but that of the bags.
    positive : label, optional
        Which class the shares are of.
    on_unmatched : {"raise", "drop"}, default="raise"
        What to do with bags that have rows and no share, or a share and no rows.
    cluster : None, str or distributed.Client, optional
        The address of a scheduler, or a client of one. By default a cluster of processes on this
        machine, one for each processor, that ends with the fit.

    Returns
    -------
    TGPLM, InverseCalibrationSVM or CountLikelihoodClassifier
        The machine, fitted as in memory: to rows in the order of the bag ids, and of the frame
        within each bag.

    Raises
    ------
    BagError
        When ids, shares, counts or sizes cannot be used.
    TableError
        When a frame lacks a column, or a column cannot be used.
    ImportError
        When Dask is not installed.
    ValueError
        When the arguments do not fit together, or the machine has another kernel.

    Warns
    -----
    BagWarning, PositiveClassWarning, ConvergenceWarning, ReversedScoresWarning
        As ``fit`` warns.

    Notes
    -----
    Passes are summed up in chunks of a fixed size in a fixed order, whoever computes them. So the
    machine is the same to the last digit for any number of workers, and when workers are lost;
    the counts' machine also for any partitions of the frames. Means of bags are added up from
    sums over partitions, so under other partitions the last digits of the others differ.

    Where the count likelihood begins, and which of several ends is taken, is found on a sample of
    whole bags and source rows.

    A worker that is lost takes its blocks with it. Dask computes them anew from what the frames
    were made of, so that must still be there.

    Examples
    --------
    In a script, stand this below ``if __name__ == "__main__":``, for the processes of a local
    cluster import it.

    >>> import dask.dataframe as dd
    >>> from bagshift import TGPLM
    >>> from bagshift.scale import fit_dask
    >>> machine = fit_dask(  # doctest: +SKIP
    ...     TGPLM(kernel="linear"),
    ...     dd.read_parquet("people/"),
    ...     bag="precinct",
    ...     shares={"north": 0.4, "south": 0.7},
    ...     source=dd.read_parquet("history/"),
    ...     label="voted",
    ...     cluster="tcp://scheduler:8786",
    ... )
    """
    _check_dask()
    from bagshift.scale._dask_cluster import client_of, one_thread_each
    from bagshift.scale._dask_frames import Frames, choose_columns, count, meet
    from bagshift.scale._dask_machines import fit

    _check(machine, target, source, label)
    machine._check_parameters()
    frames = Frames(target, bag, source, label)
    chosen = choose_columns(frames, columns)
    with client_of(cluster) as client, one_thread_each(client):
        known = count(client, frames, chosen)
        bags = meet(known, shares, counts, sizes, positive, on_unmatched)
        fit(machine, client, frames, known, bags)
    return machine


def _check_dask() -> None:
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError as error:
        raise ImportError(INSTALL_LINE) from error


def _check(machine: Any, target: Any, source: Any, label: str | None) -> None:
    import dask.dataframe as dd

    if not isinstance(machine, TGPLM | InverseCalibrationSVM | CountLikelihoodClassifier):
        raise ValueError(
            "fit_dask fits TGPLM, InverseCalibrationSVM and CountLikelihoodClassifier, not "
            f"{type(machine).__name__}."
        )
    if machine.kernel != "linear":
        raise ValueError(
            f"fit_dask fits linear machines: set kernel='linear' in place of {machine.kernel!r}, "
            "on columns that were mapped before where that is too plain."
        )
    for name, frame in (("target", target), ("source", source)):
        if frame is not None and not isinstance(frame, dd.DataFrame):
            raise TableError(
                f"{name} must be a Dask data frame, not {type(frame).__name__}; "
                "dask.dataframe.from_pandas and read_parquet make one."
            )
    if (source is None) != (label is None):
        raise ValueError("source= and label=, the name of its column of labels, go together.")
    if isinstance(machine, InverseCalibrationSVM) and source is not None:
        raise ValueError(
            "InverseCalibrationSVM learns from bags alone and cannot use source rows; leave them "
            "out, or use TGPLM."
        )
