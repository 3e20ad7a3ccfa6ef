# SPDX-License-Identifier: BSD-3-Clause
"""``bagshift fit``: from files to a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bagshift.cli import _options as options
from bagshift.cli._errors import explained, say_error

if TYPE_CHECKING:
    from bagshift.workflows.requests import BagRequest, FitRequest, MachineRequest


class Method(StrEnum):
    """Machines to choose from."""

    COUNT_LIKELIHOOD = "count-likelihood"
    TGPLM = "tgplm"
    IC_SVM = "ic-svm"
    SVM = "svm"


class Search(StrEnum):
    """How hard to look for settings."""

    NONE = "none"
    QUICK = "quick"
    FULL = "full"
    PAPER = "paper"


class KernelName(StrEnum):
    """Kernels that a model file can hold."""

    RBF = "rbf"
    LINEAR = "linear"
    POLY = "poly"


@explained
def fit(
    target: options.Target,
    bag: options.Bag,
    output: options.Output,
    shares: options.Shares = None,
    shares_bag: options.SharesBag = None,
    share_column: options.ShareColumns = None,
    count_column: options.CountColumns = None,
    other: options.Other = None,
    size_column: options.SizeColumn = None,
    noise: options.Noise = None,
    source: options.Source = None,
    label: options.Label = None,
    positive: options.Positive = None,
    negative: options.Negative = None,
    id_column: options.Id = None,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    on_unmatched: options.Unmatched = options.OnUnmatched.RAISE,
    method: Annotated[
        Method,
        typer.Option(
            help="count-likelihood: the counts of bags, and history if given; tgplm: the same "
            "by mean scores; ic-svm: shares only; svm: history only."
        ),
    ] = Method.COUNT_LIKELIHOOD,
    search: Annotated[
        Search,
        typer.Option(help="Choose settings on held-out bags; no label is used."),
    ] = Search.QUICK,
    kernel: Annotated[
        KernelName | None,
        typer.Option(help="Kernel between rows; by default rbf, and linear with --memory."),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Kernel width: a number, 'scale' or 'paper'."),
    ] = None,
    components: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=2,
            help="With --memory and an rbf kernel: features of its map, by default 300.",
        ),
    ] = None,
    c_source: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0, help="Cost of errors in the history.")
    ] = None,
    c_target: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0, help="Cost of errors in the bags.")
    ] = None,
    coupling: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", min=0, help="0: ignore the history; inf: one machine."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="Of the folds of bags.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Read files and folders bigger than memory and hold no more than this, "
            "such as 4GB; goes on after an interrupt.",
        ),
    ] = None,
    work_folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where --memory keeps what is done; by default beside the model until it is "
            "written.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model to rows in bags with known shares.

    Labelled history of a similar kind helps. For example:

    \b
    bagshift fit --target people.parquet --bag precinct \\
                 --shares results.csv --share-column yes_share \\
                 --source history.parquet --label voted --positive yes \\
                 -o model.skops

    Shares of more than two classes have a column each, named as the labels:
    --share-column left --share-column right --other none.
    """  # noqa: D301 (the line break of the help text is a control character)
    options.check_source_options(source, label)
    options.check_class_options(positive, negative)
    if work_folder is not None and memory is None:
        raise typer.BadParameter("--work-folder goes with --memory.")
    options.check_memory(memory)
    if components is not None and (memory is None or kernel is not KernelName.RBF):
        raise typer.BadParameter("--components goes with --memory and --kernel rbf.")
    if kernel is None:
        kernel = KernelName.RBF if memory is None else KernelName.LINEAR
    in_bags = options.with_classes(
        options.bag_request(
            target,
            bag,
            shares,
            shares_bag,
            options.first_of(share_column),
            options.first_of(count_column),
            size_column,
            on_unmatched,
            noise,
        ),
        share_column or count_column,
        other,
    )
    options.check_no_positive(in_bags, positive)
    _check_memory_of_classes(in_bags, memory)
    request = _fit_request(
        in_bags,
        source,
        label,
        positive,
        negative,
        id_column,
        columns,
        ignore,
    )
    machine = _machine_request(
        method,
        search,
        _settings(kernel, gamma, c_source, c_target, coupling, components),
        seed,
        has_source=source is not None,
    )
    if memory is None:
        _run(request, machine, output, quiet)
    else:
        _run_streamed(request, machine, output, memory, work_folder, quiet)


def _check_memory_of_classes(bags: BagRequest, memory: str | None) -> None:
    """Refuse a streamed fit of more than two classes."""
    if bags.has_more_classes and memory is not None:
        raise typer.BadParameter(
            "--memory fits two classes; leave it out, or give one class at a time as --positive."
        )


def _run(request: FitRequest, machine: MachineRequest, output: Path, quiet: bool) -> None:
    from time import perf_counter

    from bagshift.cli._echo import echo_inputs, echo_outcome
    from bagshift.cli._files import check_inputs, check_model_ending, check_output
    from bagshift.cli._screen import Screen
    from bagshift.workflows.inputs import read_fit_inputs

    screen = Screen(quiet)
    files = (request.bags.target, request.bags.shares, request.source)
    check_output(output, *files)
    check_model_ending(output)
    check_inputs(*files)
    inputs = read_fit_inputs(request)
    echo_inputs(screen, inputs)
    _warn_of_noise(request, machine)
    # These take seconds to import; trouble in the files should be told at once.
    from bagshift.persistence import save_model
    from bagshift.workflows.fitting import fit_model

    started = perf_counter()
    with screen.progress("Comparing settings on held-out bags") as progress:
        outcome = fit_model(inputs, machine, progress)
    saved = outcome.saved
    save_model(saved.model, output, saved.manifest, fitted_rows=saved.fitted_rows)
    echo_outcome(screen, inputs, machine, outcome, output, perf_counter() - started)


def _warn_of_noise(request: FitRequest, machine: MachineRequest) -> None:
    if request.bags.noise and machine.method != "count-likelihood":
        say_error(
            f"Warning: --method {machine.method} takes noisy numbers as they are; only "
            "count-likelihood weighs them by their noise."
        )


def _run_streamed(
    request: FitRequest,
    machine: MachineRequest,
    output: Path,
    memory: str,
    work_folder: Path | None,
    quiet: bool,
) -> None:
    import shutil
    from time import perf_counter

    from bagshift.cli._echo_streamed import echo_streamed_inputs, echo_streamed_outcome
    from bagshift.cli._errors import INTERRUPTED
    from bagshift.cli._files import check_model_ending, check_output
    from bagshift.cli._screen import Screen
    from bagshift.persistence import save_model
    from bagshift.workflows.streamed_fit import default_folder, fit_streamed
    from bagshift.workflows.streamed_inputs import StreamRequest, check_streamable

    screen = Screen(quiet)
    files = (request.bags.target, request.bags.shares, request.source)
    check_output(output, *files)
    check_model_ending(output)
    check_streamable(request)
    _warn_of_noise(request, machine)
    folder = work_folder or default_folder(output)
    started = perf_counter()
    try:
        outcome = fit_streamed(
            request,
            machine,
            StreamRequest(memory, folder),
            lambda step: screen.progress(step, "" if "settings" in step else "rows"),
            lambda inputs: echo_streamed_inputs(screen, inputs),
        )
    except KeyboardInterrupt:
        say_error(f"Interrupted; the same command goes on from what is kept in {folder}.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception:
        # Files that were refused are mended in seconds; what took longer is kept.
        if work_folder is None and not any(folder.rglob("*.npy")):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    save_model(outcome.fit.saved.model, output, outcome.fit.saved.manifest)
    if work_folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    echo_streamed_outcome(
        screen, request, machine, outcome, output, perf_counter() - started, work_folder
    )


def _fit_request(
    bags: Any,
    source: Path | None,
    label: str | None,
    positive: str | None,
    negative: str | None,
    id_column: str | None,
    columns: str | None,
    ignore: str | None,
) -> FitRequest:
    from bagshift.workflows.requests import FitRequest

    return FitRequest(
        bags=bags,
        source=source,
        label=label,
        positive=positive,
        negative=negative,
        id_column=id_column,
        only=options.names(columns),
        ignore=options.names(ignore),
    )


def _settings(
    kernel: KernelName,
    gamma: str | None,
    c_source: float | None,
    c_target: float | None,
    coupling: float | None,
    components: int | None,
) -> dict[str, Any]:
    """Return the settings that were given, by the parameters of machines with two costs."""
    given: dict[str, Any] = {"C_source": c_source, "C_target": c_target, "coupling": coupling}
    given["kernel"] = kernel.value
    given["n_components"] = components
    if gamma is not None:
        given["gamma"] = _gamma(gamma)
    return {name: value for name, value in given.items() if value is not None}


def _gamma(written: str) -> str | float:
    if written in ("scale", "paper"):
        return written
    try:
        number = float(written)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise typer.BadParameter("--gamma is a number above 0, 'scale' or 'paper'.")
    return number


def _machine_request(
    method: Method,
    search: Search,
    settings: dict[str, Any],
    seed: int | None,
    *,
    has_source: bool,
) -> MachineRequest:
    from bagshift.workflows.requests import MachineRequest

    if method is Method.SVM and not has_source:
        raise typer.BadParameter("--method svm learns from history; give --source and --label.")
    if search is Search.PAPER and method is Method.COUNT_LIKELIHOOD:
        raise typer.BadParameter(
            "--search paper is the grid of the paper's machines; give --method tgplm, ic-svm or "
            "svm, or take --search full."
        )
    return MachineRequest(
        method=method.value,
        search=search.value,
        parameters=_for_method(method, settings, has_source),
        seed=seed,
    )


def _for_method(method: Method, settings: dict[str, Any], has_source: bool) -> dict[str, Any]:
    """Rename the settings for machines with a single cost; refuse those without effect."""
    own = {Method.IC_SVM: "C_target", Method.SVM: "C_source"}.get(method)
    renamed = {}
    for name, value in settings.items():
        if own is None and not has_source and name in ("C_source", "coupling"):
            raise typer.BadParameter(f"{_option(name)} has no effect without --source.")
        if own is None or name in ("kernel", "gamma", "n_components"):
            renamed[name] = value
        elif name == own:
            renamed["C"] = value
        else:
            raise typer.BadParameter(
                f"{_option(name)} has no effect with --method {method.value}."
            )
    return renamed


def _option(name: str) -> str:
    return "--" + name.lower().replace("_", "-")
