# SPDX-License-Identifier: BSD-3-Clause
"""From files bigger than memory to a fitted model that can be saved.

Settings are compared on a sample of whole bags and history in memory. The machine of the best
settings is then fitted on everything, by passes over what the steps of reading left in files; the
answers of passes are kept, too, so that a run that was killed goes on to the same model.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bagshift._bags.noise_column import places_by_law
from bagshift.bags import Bags
from bagshift.estimators import CountLikelihoodClassifier
from bagshift.estimators._guesses import guess
from bagshift.estimators._mapped_rows import SampledMap, sampled_map
from bagshift.estimators._stored_counts import fit_stored_counts
from bagshift.estimators._stored_data import StoredBags, StoredData
from bagshift.estimators._stored_units import fit_stored_units
from bagshift.exceptions import TableError
from bagshift.metrics import constant_share_error
from bagshift.model_selection import BagKFold, path_search
from bagshift.persistence import Manifest, SavedModel, describe_model
from bagshift.scale.prepared_columns import PreparedColumns
from bagshift.solvers.count_passes import RowPasses
from bagshift.solvers.count_rows import LabelledRows
from bagshift.solvers.recorded_passes import PassLog, recorded_linear_passes, recorded_passes
from bagshift.workflows.count_fit import count_fit
from bagshift.workflows.fitting import MACHINES, MOST_FOLDS, FitOutcome, precision_of, settings_of
from bagshift.workflows.mapped_means import COMPONENTS, components_of, with_mapped_means
from bagshift.workflows.requests import FitRequest, MachineRequest
from bagshift.workflows.streamed_inputs import (
    SAMPLED_ROWS,
    Steps,
    StreamedInputs,
    StreamRequest,
    read_streamed_inputs,
)

# Parameters that multiply a sum over rows or bags, by which of them it is. Those of the count
# likelihood are variances of a prior, and mean the same at any number.
SUMMED = {"C_source": "source", "C_target": "bags", "C": "bags"}


KERNELS = ("linear", "rbf")


@dataclass(frozen=True)
class StreamedOutcome:
    """A fitted model and how it did on a sample of the bags it was fitted on.

    Attributes
    ----------
    fit : FitOutcome
        The model; errors are those of the sample.
    n_sampled_bags, n_sampled_source : int
        Bags and rows of history that settings were compared on.
    n_passes : int
        Passes over all rows.
    """

    fit: FitOutcome
    n_sampled_bags: int
    n_sampled_source: int
    n_passes: int


def fit_streamed(
    request: FitRequest,
    machine: MachineRequest,
    stream: StreamRequest,
    steps: Steps,
    on_inputs: Callable[[StreamedInputs], None] = lambda inputs: None,
) -> StreamedOutcome:
    """Fit a machine on files bigger than memory, or go on with that.

    With another kernel than the linear one, its machine is linear on a map of the kernel, made
    from the sample.

    Parameters
    ----------
    request : FitRequest
        Files and columns.
    machine : MachineRequest
        Method, search and given settings.
    stream : StreamRequest
        Limits, and the folder where results of steps are kept.
    steps : callable
        Shows how far each step is.
    on_inputs : callable, optional
        Called with what was read before the machine is fitted.

    Returns
    -------
    StreamedOutcome

    Raises
    ------
    TableError, BagError
        When the files cannot be used, the limits do not suffice, or the method cannot be fitted
        in this way.
    """
    template = _template(machine)
    counter = _Counter()
    rows_needed = isinstance(template, CountLikelihoodClassifier)
    n_components = 0 if template.kernel == "linear" else components_of(template)
    inputs = read_streamed_inputs(
        request,
        stream,
        steps,
        rows_needed=rows_needed,
        n_components=n_components,
        on_read=counter.add,
    )
    on_inputs(inputs)
    if isinstance(template, MACHINES["ic-svm"]):
        inputs = replace(inputs, X_source=None, source_labels=None)
    bags = _sampled_bags(inputs)
    source = _sampled_source(inputs)
    scale = _scale_of_costs(template, inputs, source)
    with steps("Comparing settings on held-out bags") as tell:
        chosen, n_settings, best = _search(template, inputs, bags, source, machine, scale, tell)
    history = None if source is None else source[0]
    mapped = sampled_map(
        chosen, history, inputs.sample.features, n_components=components_of(chosen)
    )
    if mapped is not None and not rows_needed:
        with steps("Mapping rows, and averaging them by bag") as tell:
            inputs = with_mapped_means(inputs, mapped, stream, progress=tell, on_read=counter.add)
    with steps("Fitting: passes over the rows") as tell, counter.told(tell, inputs):
        fitted, n_passes = _fit(chosen, inputs, stream, mapped)
    by_probability = rows_needed
    guesses = guess(fitted, inputs.sample.features, fitted.positive_class_)
    in_sample = guesses.share_error if by_probability else guesses.labelled_share_error
    outcome: dict[str, Any] = {
        "settings": settings_of(fitted, has_source=inputs.X_source is not None),
        "n_settings": n_settings,
        "by_probability": by_probability,
        "held_out_share_error": best.get("share_error"),
        "share_error": in_sample(bags),
        "constant_share_error": constant_share_error(bags),
        "held_out_counts": count_fit(bags, best["score"]) if best and by_probability else None,
    }
    sampled: dict[str, int] = {
        "n_sampled_bags": bags.n_bags,
        "n_sampled_source": 0 if source is None else len(source[1]),
        "n_passes": n_passes,
    }
    columns = PreparedColumns(inputs.preparation.to_json()).fit()
    model = Pipeline([("columns", columns), ("machine", fitted)])
    papers = _manifest(inputs, machine, fitted, {**outcome, **sampled})
    return StreamedOutcome(FitOutcome(saved=SavedModel(model, papers), **outcome), **sampled)


def _template(request: MachineRequest) -> Any:
    """Return the unfitted machine with the settings that were given."""
    if request.method == "svm":
        raise TableError(
            "The method svm learns from history alone and has no fit with --memory; take tgplm, "
            "or leave out --memory."
        )
    given = {"kernel": "linear", **request.parameters}
    if given["kernel"] not in KERNELS:
        raise TableError(
            f"A fit with --memory has no kernel {given['kernel']}; take --kernel rbf or linear, "
            "or leave out --memory."
        )
    if given["kernel"] == "linear":
        given.pop("gamma", None)
    else:
        given.setdefault("n_components", COMPONENTS)
    machine = MACHINES[request.method]()
    if isinstance(machine, CountLikelihoodClassifier):
        given["standardize"] = False  # the columns are prepared with variance one already
    return machine.set_params(**given)


# Sample -----------------------------------------------------------------------------------


def _sampled_bags(inputs: StreamedInputs) -> Bags:
    """Return the bags of the sample, with their shares."""
    chosen, index = inputs.sample.bags, inputs.bags
    assert index.shares is not None
    assert index.sizes is not None
    places = range(len(chosen))
    return Bags.from_arrays(
        inputs.sample.bag_of_row,
        dict(zip(places, index.shares[chosen].tolist(), strict=True)),
        sizes=dict(zip(places, index.sizes[chosen].tolist(), strict=True)),
        noise=None
        if index.noise is None
        else dict(zip(places, index.noise[chosen].tolist(), strict=True)),
        positive=inputs.positive,
        negative=inputs.negative,
    )


def _sampled_source(inputs: StreamedInputs) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return some rows of history with their labels."""
    if inputs.X_source is None or inputs.source_labels is None:
        return None
    signs = np.where(inputs.source_labels > 0, 1.0, -1.0)
    rows = LabelledRows(inputs.X_source, signs, np.ones(len(signs)))
    part = min(1.0, SAMPLED_ROWS / len(signs))
    drawn: Any = RowPasses(rows).sample(part) or rows
    labels = np.where(drawn.signs > 0, inputs.positive, inputs.negative)
    return np.asarray(drawn.features), labels


def _scale_of_costs(machine: Any, inputs: StreamedInputs, source: Any) -> dict[str, float]:
    """Return by how much less each cost is for all rows than for the sample."""
    if isinstance(machine, CountLikelihoodClassifier):
        return {}
    n_source = 0 if inputs.source_labels is None else len(inputs.source_labels)
    scales = {
        "source": len(source[1]) / n_source if source is not None else 1.0,
        "bags": len(inputs.sample.bags) / inputs.bags.n_bags,
    }
    known = machine.get_params()
    return {name: scales[what] for name, what in SUMMED.items() if name in known}


def _scaled(machine: Any, factors: dict[str, float]) -> Any:
    known = machine.get_params()
    return clone(machine).set_params(**{name: f * known[name] for name, f in factors.items()})


def _search(
    template: Any,
    inputs: StreamedInputs,
    bags: Bags,
    source: tuple[Any, Any] | None,
    request: MachineRequest,
    scale: dict[str, float],
    progress: Callable[[int, int], None],
) -> tuple[Any, int, dict[str, Any]]:
    """Return the machine for all rows, how many settings were compared, and how the best did."""
    if bags.n_bags < 2:
        return template, 1, {}
    on_sample = _scaled(template, {name: 1.0 / factor for name, factor in scale.items()})
    found = path_search(
        on_sample,
        inputs.sample.features.astype(np.float64),
        bags,
        source=source,
        grid={} if request.search == "none" else request.search,
        fixed=[*request.parameters, "kernel", "standardize", "n_components"],
        cv=_folds(bags.n_bags, request.seed),
        progress=progress,
    )
    best = found.table[found.best_index]
    chosen = clone(template).set_params(**found.best_params)
    if found.best_params:
        unscaled = {name: f for name, f in scale.items() if name in found.best_params}
        chosen = _scaled(chosen, unscaled)
    return chosen, len(found.table), best


def _folds(n_bags: int, seed: int | None) -> Any:
    """Return folds for a given seed; without one, the library's own choice."""
    if seed is None:
        return None
    return BagKFold(min(MOST_FOLDS, n_bags), shuffle=True, random_state=seed)


# Fit --------------------------------------------------------------------------------------


class _Counter:
    """Turns the rows that were read into how far a pass is."""

    def __init__(self) -> None:
        self._tell: Callable[[int, int], None] | None = None
        self._total = 1
        self._n_read = 0

    def add(self, n_rows: int) -> None:
        self._n_read += n_rows
        if self._tell:
            self._tell(self._n_read % self._total or self._total, self._total)

    @contextmanager
    def told(self, tell: Callable[[int, int], None], inputs: StreamedInputs) -> Any:
        """Tell of the rows that are read within the block."""
        parts = (inputs.X_target, inputs.X_source)
        self._total = sum(len(part) for part in parts if part is not None)
        self._n_read, self._tell = 0, tell
        try:
            yield
        finally:
            self._tell = None


def _fit(
    machine: Any, inputs: StreamedInputs, stream: StreamRequest, mapped: SampledMap | None
) -> tuple[Any, int]:
    """Fit on everything; return the machine and the passes that there were."""
    data = _stored_data(inputs)
    mark = _mark(machine, inputs, None if mapped is None else mapped.mark)
    folder = inputs.folder / "passes" / mark
    logs = {}
    for domain in ("source", "target"):
        (folder / domain).mkdir(parents=True, exist_ok=True)
        logs[domain] = PassLog(folder / domain)
    n_threads = stream.n_threads or effective_n_jobs(-1)
    if isinstance(machine, CountLikelihoodClassifier):
        fitted: Any = fit_stored_counts(
            machine,
            data,
            record=lambda passes, domain: recorded_passes(passes, logs[domain]),
            mapped=mapped,
            n_threads=n_threads,
        )
    else:
        fitted = fit_stored_units(
            machine,
            data,
            record=lambda passes, domain: recorded_linear_passes(passes, logs[domain]),
            mapped=mapped,
            n_threads=n_threads,
        )
    return fitted, logs["target"].n_answers


def _stored_data(inputs: StreamedInputs) -> StoredData:
    classes = np.sort(np.array([inputs.negative, inputs.positive]))
    index, codes = inputs.bags, inputs.source_labels
    assert index.shares is not None
    assert index.sizes is not None
    signs = np.empty(0)
    if codes is not None:
        is_second = codes == (1 if classes[1] == inputs.positive else 0)
        signs = np.where(is_second, 1.0, -1.0)
    return StoredData(
        classes=classes,
        positive=classes[1] if classes[1] == inputs.positive else classes[0],
        X_source=inputs.X_source,
        X_target=inputs.X_target,
        source_signs=signs,
        bags=StoredBags(index.shares, index.sizes, index.n_rows, index.noise),
    )


def _mark(machine: Any, inputs: StreamedInputs, of_map: str | None) -> str:
    """Return what stands for everything that the answers of passes depend on."""
    index = inputs.bags
    facts = [
        type(machine).__name__,
        {name: str(value) for name, value in machine.get_params().items()},
        inputs.preparation.to_json(),
        index.mark,
        str(inputs.positive),
        of_map,
        None if index.noise is None else _mark_of_laws(index.noise),
        len(inputs.X_target),
        0 if inputs.X_source is None else len(inputs.X_source),
    ]
    digest = blake2b(json.dumps(facts).encode(), digest_size=8)
    for numbers in (index.shares, index.sizes, index.n_rows, inputs.source_labels):
        if numbers is not None:
            digest.update(np.ascontiguousarray(numbers).data)
    return digest.hexdigest()


def _mark_of_laws(laws: NDArray[np.object_]) -> list[Any]:
    """Return what stands for the laws of all bags."""
    places = places_by_law(laws)
    marks = {repr(law): blake2b(some.tobytes(), digest_size=8) for law, some in places.items()}
    return sorted((law, mark.hexdigest()) for law, mark in marks.items())


def _manifest(
    inputs: StreamedInputs, request: MachineRequest, machine: Any, outcome: dict[str, Any]
) -> Manifest:
    asked, counts = inputs.request, outcome["held_out_counts"]
    return replace(
        describe_model(machine),
        method=request.method,
        columns=dict(inputs.preparation.kinds),
        bag_column=asked.bags.bag,
        id_column=asked.id_column,
        label_column=asked.label,
        fit={
            "n_target_rows": int(inputs.bags.n_rows.sum()),
            "n_bags": inputs.bags.n_bags,
            "n_source_rows": 0 if inputs.X_source is None else len(inputs.X_source),
            "ignored_columns": dict(inputs.preparation.ignored),
            "noise": asked.bags.noise.as_dict() if asked.bags.noise else None,
            "search": request.search,
            "seed": request.seed,
            "is_streamed": True,
            "n_iterations": int(machine.n_iter_),
            "converged": bool(machine.converged_),
            **precision_of(machine),
            **outcome,
            "held_out_counts": asdict(counts) if counts else None,
        },
    )


def default_folder(output: Path) -> Path:
    """Return the folder beside a model where results of steps are kept while it is fitted.

    Parameters
    ----------
    output : Path
        The model file.

    Returns
    -------
    Path
    """
    return output.with_name(f"{output.name}.work")
