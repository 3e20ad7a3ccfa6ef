# SPDX-License-Identifier: BSD-3-Clause
"""The tasks of the league: which rows are source and target, and what they stand for.

A task is two domains of one data set with labels -1 and +1. Sets of several classes enter as
named pairs of classes. Sets without domains are cut at random, a third of their rows as the
source: there is nothing to adapt to, and a method is to show that it does no harm. The data are
third-party files in a folder of the user's (:func:`bagshift.datasets.data_folder`), or come with
scikit-learn. A file of the folder that is not named here enters with its first domain as source
and its second as target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from bagshift.datasets.data_folder import find_data_sets, read_row_table
from bagshift.datasets.labelled_domains import LabelledDomains
from bagshift.datasets.one_hot import one_hot_columns
from bagshift.datasets.rotated_digits import rotated_digits
from bagshift.datasets.row_table import RowTable, stack_tables
from bagshift.exceptions import TableError
from bagshift.experiments.draws import Kind

SOURCE_OF_ONE_DOMAIN = 1 / 3

# From the tables of the files and the number of the draw to both domains.
Read = Callable[[list[RowTable], int], LabelledDomains]


@dataclass(frozen=True)
class Task:
    """A source and a target domain with labels -1 and +1.

    Attributes
    ----------
    name : str
        Short name.
    about : str
        What is told apart, and between which domains.
    kind : {"text", "weights", "table", "skewed table", "pixels"}
        Which features are made of the columns.
    files : tuple of str
        Names of the data sets in the folder, without ending; none when bundled with scikit-learn.
    read : callable
        From their tables and the number of the draw to both domains.
    has_groups : bool
        Whether target rows have natural groups.
    has_shift : bool
        Whether source and target are different domains.
    counts : bool
        Whether it enters means, ranks and tests; not with so few rows that a result says little.
    """

    name: str
    about: str
    kind: Kind
    files: tuple[str, ...]
    read: Read
    has_groups: bool = False
    has_shift: bool = True
    counts: bool = True


# How to read -------------------------------------------------------------------------------


def _between(source: str, target: str, *, by: str | None = None) -> Read:
    return lambda tables, draw: tables[0].between(source, target, by=by)


def _classes(negative: int | str, positive: int | str, source: str, target: str) -> Read:
    return lambda tables, draw: tables[0].pair(negative, positive, source, target)


def _groups(positive: tuple[list[str], list[str]], negative: tuple[list[str], list[str]]) -> Read:
    """Return a reader whose domains are groups: positive and negative, each source and target."""

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        table = stack_tables(tables)
        source, target = (table.by_groups(positive[k], negative[k]) for k in (0, 1))
        return source.with_target(target)

    return read


def _counties_of(source: str, target: str) -> Read:
    """Return a reader of the counties of 2020 in two regions."""

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        return tables[0].take(tables[0].domains == "2020").between(source, target, by="region")

    return read


def _adult(tables: list[RowTable], draw: int) -> LabelledDomains:
    """Return the two files of the census, the groups being occupation by education."""
    table = tables[0]
    jobs, schools = (
        np.array(table.levels[name])[table.X[:, table.feature_names.index(name)].astype(np.intp)]
        for name in ("occupation", "education")
    )
    groups = np.char.add(np.char.add(jobs, " x "), schools)
    return one_hot_columns(replace(table, groups=groups)).between("data", "test")


def _one_domain(negative: int | str | None = None, positive: int | str | None = None) -> Read:
    """Return a reader that cuts one domain at random."""

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        table = tables[0]
        if negative is not None and positive is not None:
            table = table.as_binary(negative, positive)
        return _cut_at_random(np.asarray(table.X, dtype=np.float64), table.y, draw)

    return read


def _breast_cancer(tables: list[RowTable], draw: int) -> LabelledDomains:
    X, y = load_breast_cancer(return_X_y=True)
    return _cut_at_random(X, 2 * y - 1, draw)


def _cut_at_random(X: NDArray[np.float64], y: NDArray[np.int64], draw: int) -> LabelledDomains:
    order = np.random.default_rng(draw).permutation(len(y))
    n_source = round(SOURCE_OF_ONE_DOMAIN * len(y))
    source, target = order[:n_source], order[n_source:]
    labels = y.astype(np.int8)
    return LabelledDomains(X[source], labels[source], X[target], labels[target])


def _digits(angle: float) -> Read:
    """Return a reader of 120 upright digits and others, rotated; no image occurs twice."""

    def read(tables: list[RowTable], draw: int) -> LabelledDomains:
        digits = rotated_digits(angle, (3, 8), draw, n_source=120, bag_size=1)
        labels = (
            digits.y_source,
            np.concatenate([digits.y_bagged, digits.y_fresh]),
        )
        y_source, y_target = ((2 * y - 1).astype(np.int8) for y in labels)
        X_target = np.concatenate([digits.X_bagged, digits.X_fresh])
        return LabelledDomains(255.0 * digits.X_source, y_source, 255.0 * X_target, y_target)

    return read


# The tasks ---------------------------------------------------------------------------------

_COMP_SCI = _groups(
    (
        ["comp.graphics", "comp.os.ms-windows.misc"],
        ["comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "comp.windows.x"],
    ),
    (["sci.crypt", "sci.electronics"], ["sci.med", "sci.space"]),
)
_REC_SCI = _groups(
    (["rec.autos", "rec.sport.baseball"], ["rec.motorcycles", "rec.sport.hockey"]),
    (["sci.med", "sci.space"], ["sci.crypt", "sci.electronics"]),
)
_COMP_REC = _groups(
    (
        ["comp.graphics", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"],
        ["comp.os.ms-windows.misc", "comp.windows.x"],
    ),
    (["rec.motorcycles", "rec.sport.hockey"], ["rec.autos", "rec.sport.baseball"]),
)
_COMP_REC_BY_DATE = _groups(
    (
        ["comp.graphics", "comp.os.ms-windows.misc"],
        ["comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"],
    ),
    (["rec.autos", "rec.motorcycles"], ["rec.sport.baseball", "rec.sport.hockey"]),
)
_REC_SCI_BY_DATE = _groups(
    (["rec.autos", "rec.motorcycles"], ["rec.sport.baseball", "rec.sport.hockey"]),
    (["sci.crypt", "sci.electronics"], ["sci.med", "sci.space"]),
)


def _reuters(kind: str) -> Task:
    return Task(
        f"orgs/{kind}",
        f"Reuters: organisations against {kind}, other subcategories in the target",
        "text",
        (f"reuters_orgs_{kind}",),
        _between("source", "target"),
    )


def _news(name: str, read: Read) -> Task:
    about = f"20 Newsgroups: {name.replace('/', ' against ')}, other groups in the target"
    return Task(name, about, "text", ("news20_words",), read)


def _news_by_date(name: str, files: tuple[str, str], read: Read) -> Task:
    about = f"20 Newsgroups, version by date: {name.replace('/', ' against ')}"
    return Task(f"{name} by date", about, "weights", files, read)


def _intrusion(source: str, target: str) -> Task:
    about = f"KDD Cup 1999: normal against {source} attacks, then against {target} attacks"
    files = ("kdd99_intrusion",)
    return Task(f"{source}/{target}", about, "skewed table", files, _between(source, target))


def _faces(angle: int) -> Task:
    about = f"CMU PIE: two persons, upright faces, then rotated by {angle} degrees"
    read = _between("rot0", f"rot{angle}")
    # 44 fresh rows.
    return Task(f"pie {angle}", about, "pixels", ("pie_1_vs_35",), read, counts=False)


def _rotated_digits(angle: int) -> Task:
    about = f"scikit-learn digits: 3 against 8, upright, then rotated by {angle} degrees"
    return Task(f"digits {angle}", about, "pixels", (), _digits(angle))


def _handwriting(negative: int, positive: int) -> Task:
    name = f"mnist/usps {negative} {positive}"
    about = f"MNIST to USPS digits: {negative} against {positive}"
    read = _classes(negative + 1, positive + 1, "mnist", "usps")
    return Task(name, about, "pixels", ("mnist_usps",), read)


def _uci(name: str, file: str, about: str, read: Read) -> Task:
    return Task(name, f"UCI: {about}", "table", (f"uci/{file}",), read, has_shift=False)


_TASKS = [
    _reuters("people"),
    _reuters("places"),
    _news("comp/sci", _COMP_SCI),
    _news("rec/sci", _REC_SCI),
    _news("comp/rec", _COMP_REC),
    Task(
        "comp/talk",
        "20 Newsgroups: comp against talk, other groups in the target",
        "text",
        ("news20_comp_vs_talk",),
        _between("source", "target"),
    ),
    _news_by_date("comp/rec", ("news20_25804_comp", "news20_25804_rec"), _COMP_REC_BY_DATE),
    _news_by_date("rec/sci", ("news20_25804_rec", "news20_25804_sci"), _REC_SCI_BY_DATE),
    Task(
        "spam u00/u01",
        "ECML-PKDD 2006: spam in the inbox of one user, then of another",
        "text",
        ("ecml2006_spam",),
        _between("u00", "u01"),
    ),
    Task(
        "books/dvd",
        "Amazon reviews: positive against negative, of books, then of DVDs",
        "text",
        ("amazon_reviews",),
        _between("books", "dvd"),
    ),
    Task(
        "webcam/amazon",
        "Office objects as visual words: laptop against monitor, webcam, then shop pictures",
        "text",
        ("office_surf",),
        _classes(6, 7, "webcam", "amazon"),
    ),
    _intrusion("dos", "r2l"),
    _intrusion("r2l", "probe"),
    _intrusion("dos", "probe"),
    _faces(10),
    _faces(30),
    _faces(50),
    _handwriting(3, 8),
    _handwriting(4, 9),
    _rotated_digits(30),
    _rotated_digits(50),
    Task(
        "counties 2008/2020",
        "US counties: more Republican than Democratic votes, 2008, then 2020; groups are states",
        "table",
        ("us_counties",),
        _between("2008", "2020"),
        has_groups=True,
    ),
    Task(
        "counties south/west",
        "US counties in 2020: more Republican than Democratic votes, South, then West",
        "table",
        ("us_counties",),
        _counties_of("South", "West"),
        has_groups=True,
    ),
    Task(
        "adult",
        "Census income above 50,000 dollars, two random files; groups are occupation x education",
        "table",
        ("adult",),
        _adult,
        has_groups=True,
        has_shift=False,
    ),
    Task(
        "credit",
        "Default of credit card clients: university education, then other",
        "table",
        ("credit_default",),
        _between("university", "other_education"),
    ),
    Task(
        "breast cancer",
        "scikit-learn breast cancer: benign against malignant",
        "table",
        (),
        _breast_cancer,
        has_shift=False,
    ),
    _uci("breast", "breastcancer", "benign against malignant, cell scores", _one_domain()),
    _uci("votes", "housevotes84", "party of a congressman by his votes", _one_domain()),
    _uci("ionosphere", "ionosphere", "good against bad radar returns", _one_domain()),
    _uci("letters", "letterrecognition", "letter B against E", _one_domain("B", "E")),
    _uci("musk", "musk", "musks against other molecules", _one_domain()),
    _uci("diabetes", "pimaindiansdiabetes", "diabetes among Pima women", _one_domain()),
    _uci("sonar", "sonar", "mines against rocks", _one_domain()),
    _uci("spam words", "spam", "spam by frequencies of words", _one_domain()),
    _uci("vehicle", "vehicle", "opel against saab silhouettes", _one_domain("opel", "saab")),
]
TASKS = {task.name: task for task in _TASKS}


def tasks_in(folder: Path | None) -> dict[str, Task]:
    """List the tasks that can be read.

    Parameters
    ----------
    folder : Path or None
        Folder of the data sets; None for those of scikit-learn alone.

    Returns
    -------
    dict of str to Task
        By name: the named ones whose files are there, then files of the folder that no named
        task reads.

    Raises
    ------
    TableError
        When such a further file cannot be read.
    """
    there = {} if folder is None else find_data_sets(folder)
    found = {name: task for name, task in TASKS.items() if set(task.files) <= set(there)}
    named = {file for task in TASKS.values() for file in task.files}
    for file, path in there.items():
        if file not in named:
            found[file] = _task_of_file(file, path)
    return found


def _task_of_file(file: str, path: Path) -> Task:
    """Return the task of a file that is not named: its first domain, then its second."""
    table = read_row_table(path)
    has_counts = not isinstance(table.X, np.ndarray)
    kind: Kind = "text" if has_counts else "table"
    if len(table.domain_names) < 2:
        return Task(file, f"{file}, one domain", kind, (file,), _one_domain(), has_shift=False)
    source, target = table.domain_names[:2]
    return Task(
        file,
        f"{file}: {source}, then {target}",
        kind,
        (file,),
        _between(source, target),
        has_groups=table.groups is not None,
    )


def find_task(name: str, folder: Path | None) -> Task:
    """Return the task of a name.

    Parameters
    ----------
    name : str
        Name of a task, or of a file in the folder.
    folder : Path or None
        Folder of the data sets.

    Returns
    -------
    Task

    Raises
    ------
    TableError
        When there is no such task.
    """
    if name in TASKS:
        return TASKS[name]
    path = (folder or Path()) / f"{name}.npz"
    if folder is None or not path.is_file():
        raise TableError(f"There is no task {name!r}; `bagshift league --list` names them.")
    return _task_of_file(name, path)


def load_task(task: Task, folder: Path | None, draw: int = 0) -> LabelledDomains:
    """Read the domains of a task.

    Parameters
    ----------
    task : Task
        The task.
    folder : Path or None
        Folder of the data sets.
    draw : int, default=0
        Number of the draw, on which the domains of some tasks depend.

    Returns
    -------
    LabelledDomains

    Raises
    ------
    TableError
        When a file is missing or cannot be read.
    """
    if not task.files:
        return task.read([], draw)
    if folder is None:
        raise TableError(
            f"The task {task.name} reads {task.files[0]}.npz; name the folder of the data sets "
            "with --data or the environment variable BAGSHIFT_DATA."
        )
    return task.read([_table(folder / f"{file}.npz") for file in task.files], draw)


@lru_cache(maxsize=2)
def _table(path: Path) -> RowTable:
    return read_row_table(path)
