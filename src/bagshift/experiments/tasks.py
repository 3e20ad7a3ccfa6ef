# SPDX-License-Identifier: BSD-3-Clause
"""The tasks of the league: which rows are source and target, and what they stand for.

A task is two domains of one data set with labels -1 and +1. Sets of several classes enter as
named pairs of classes. Sets without domains are cut at random, a third of their rows as the
source: there is nothing to adapt to, and a method is to show that it does no harm. The data are
third-party files in a folder of the user's (:func:`bagshift.datasets.data_folder`), or come with
scikit-learn. A file of the folder that is not named here enters with its first domain as source
and its second as target, under its own name; with its ending where a task has that name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from scipy import sparse

from bagshift.datasets.data_folder import find_data_sets, read_row_table
from bagshift.datasets.labelled_domains import LabelledDomains
from bagshift.datasets.row_table import RowTable
from bagshift.exceptions import TableError, name_some
from bagshift.experiments._task_readers import (
    Read,
    between,
    by_groups,
    census,
    classes,
    counties_of,
    one_domain,
    tumours,
    turned_digits,
)
from bagshift.experiments.draws import Kind


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


# The tasks ---------------------------------------------------------------------------------

_COMP_SCI = by_groups(
    (
        ["comp.graphics", "comp.os.ms-windows.misc"],
        ["comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware", "comp.windows.x"],
    ),
    (["sci.crypt", "sci.electronics"], ["sci.med", "sci.space"]),
)
_REC_SCI = by_groups(
    (["rec.autos", "rec.sport.baseball"], ["rec.motorcycles", "rec.sport.hockey"]),
    (["sci.med", "sci.space"], ["sci.crypt", "sci.electronics"]),
)
_COMP_REC = by_groups(
    (
        ["comp.graphics", "comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"],
        ["comp.os.ms-windows.misc", "comp.windows.x"],
    ),
    (["rec.motorcycles", "rec.sport.hockey"], ["rec.autos", "rec.sport.baseball"]),
)
_COMP_REC_BY_DATE = by_groups(
    (
        ["comp.graphics", "comp.os.ms-windows.misc"],
        ["comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"],
    ),
    (["rec.autos", "rec.motorcycles"], ["rec.sport.baseball", "rec.sport.hockey"]),
)
_REC_SCI_BY_DATE = by_groups(
    (["rec.autos", "rec.motorcycles"], ["rec.sport.baseball", "rec.sport.hockey"]),
    (["sci.crypt", "sci.electronics"], ["sci.med", "sci.space"]),
)


def _reuters(kind: str) -> Task:
    return Task(
        f"orgs/{kind}",
        f"Reuters: organisations against {kind}, other subcategories in the target",
        "text",
        (f"reuters_orgs_{kind}",),
        between("source", "target"),
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
    return Task(f"{source}/{target}", about, "skewed table", files, between(source, target))


def _faces(angle: int) -> Task:
    about = f"CMU PIE: two persons, upright faces, then rotated by {angle} degrees"
    read = between("rot0", f"rot{angle}")
    # 44 fresh rows.
    return Task(f"pie {angle}", about, "pixels", ("pie_1_vs_35",), read, counts=False)


def _rotated_digits(angle: int) -> Task:
    about = f"scikit-learn digits: 3 against 8, upright, then rotated by {angle} degrees"
    return Task(f"digits {angle}", about, "pixels", (), turned_digits(angle))


def _handwriting(negative: int, positive: int) -> Task:
    name = f"mnist/usps {negative} {positive}"
    about = f"MNIST to USPS digits: {negative} against {positive}"
    read = classes(negative + 1, positive + 1, "mnist", "usps")
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
        between("source", "target"),
    ),
    _news_by_date("comp/rec", ("news20_25804_comp", "news20_25804_rec"), _COMP_REC_BY_DATE),
    _news_by_date("rec/sci", ("news20_25804_rec", "news20_25804_sci"), _REC_SCI_BY_DATE),
    Task(
        "spam u00/u01",
        "ECML-PKDD 2006: spam in the inbox of one user, then of another",
        "text",
        ("ecml2006_spam",),
        between("u00", "u01"),
    ),
    Task(
        "books/dvd",
        "Amazon reviews: positive against negative, of books, then of DVDs",
        "text",
        ("amazon_reviews",),
        between("books", "dvd"),
    ),
    Task(
        "webcam/amazon",
        "Office objects as visual words: laptop against monitor, webcam, then shop pictures",
        "text",
        ("office_surf",),
        classes(6, 7, "webcam", "amazon"),
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
        between("2008", "2020"),
        has_groups=True,
    ),
    Task(
        "counties south/west",
        "US counties in 2020: more Republican than Democratic votes, South, then West",
        "table",
        ("us_counties",),
        counties_of("South", "West"),
        has_groups=True,
    ),
    Task(
        "adult",
        "Census income above 50,000 dollars, two random files; groups are occupation x education",
        "table",
        ("adult",),
        census,
        has_groups=True,
        has_shift=False,
    ),
    Task(
        "credit",
        "Default of credit card clients: university education, then other",
        "table",
        ("credit_default",),
        between("university", "other_education"),
    ),
    Task(
        "breast cancer",
        "scikit-learn breast cancer: benign against malignant",
        "table",
        (),
        tumours,
        has_shift=False,
    ),
    _uci("breast", "breastcancer", "benign against malignant, cell scores", one_domain()),
    _uci("votes", "housevotes84", "party of a congressman by his votes", one_domain()),
    _uci("ionosphere", "ionosphere", "good against bad radar returns", one_domain()),
    _uci("letters", "letterrecognition", "letter B against E", one_domain("B", "E")),
    _uci("musk", "musk", "musks against other molecules", one_domain()),
    _uci("diabetes", "pimaindiansdiabetes", "diabetes among Pima women", one_domain()),
    _uci("sonar", "sonar", "mines against rocks", one_domain()),
    _uci("spam words", "spam", "spam by frequencies of words", one_domain()),
    _uci("vehicle", "vehicle", "opel against saab silhouettes", one_domain("opel", "saab")),
]
TASKS = {task.name: task for task in _TASKS}


@dataclass(frozen=True)
class FoundTasks:
    """What a folder has.

    Attributes
    ----------
    tasks : dict of str to Task
        By name: the named ones whose files are there, then files of the folder that no named
        task reads.
    left_out : dict of str to str
        Such files that cannot be used, and why.
    """

    tasks: dict[str, Task]
    left_out: dict[str, str]


def tasks_in(folder: Path | None) -> FoundTasks:
    """List the tasks that can be read.

    Parameters
    ----------
    folder : Path or None
        Folder of the data sets; None for those of scikit-learn alone.

    Returns
    -------
    FoundTasks

    Raises
    ------
    TableError
        When there is no such folder.
    """
    there = {} if folder is None else find_data_sets(folder)
    tasks = {name: task for name, task in TASKS.items() if set(task.files) <= set(there)}
    left_out = {}
    for name, file in _names_of_other_files(there).items():
        try:
            tasks[name] = _task_of_file(name, file, there[file])
        except TableError as error:
            left_out[name] = str(error)
    return FoundTasks(tasks, left_out)


def _names_of_other_files(there: dict[str, Path]) -> dict[str, str]:
    """Name the files that no task of this module reads; none is taken for such a task."""
    read = {file for task in TASKS.values() for file in task.files}
    others = [file for file in there if file not in read]
    return {f"{file}.npz" if file in TASKS else file: file for file in others}


def _task_of_file(name: str, file: str, path: Path) -> Task:
    """Return the task of a file that is not named: its first domain, then its second."""
    if "," in name or name != name.strip() or not name.isprintable():
        raise TableError(
            f"{path} cannot be asked for by its name; rename it, without commas, blanks at its "
            "ends and characters that are not printed."
        )
    table = _table(path)
    kind: Kind = "text" if sparse.issparse(table.X) else "table"
    if len(table.domain_names) < 2:
        task = Task(name, f"{file}, one domain", kind, (file,), one_domain(), has_shift=False)
    else:
        source, target = table.domain_names[:2]
        about, has_groups = f"{file}: {source}, then {target}", table.groups is not None
        task = Task(name, about, kind, (file,), between(source, target), has_groups=has_groups)
    task.read([table], 0)  # refuses other labels
    return task


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
        When there is no such task, or its file cannot be used.
    """
    if name in TASKS:
        return TASKS[name]
    there = {} if folder is None else find_data_sets(folder)
    files = _names_of_other_files(there)
    if name not in files:
        raise TableError(f"There is no task {name!r}; `bagshift league --list` names them.")
    return _task_of_file(name, files[name], there[files[name]])


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
        When a file is missing, cannot be read, or is not the one that the task is about.
    """
    if not task.files:
        return task.read([], draw)
    if folder is None:
        raise TableError(
            f"The task {task.name} reads {task.files[0]}.npz; name the folder of the data sets "
            "with --data or the environment variable BAGSHIFT_DATA."
        )
    tables = [_table(folder / f"{file}.npz") for file in task.files]
    try:
        return task.read(tables, draw)
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        files = name_some(f"{file}.npz" for file in task.files)
        raise TableError(
            f"{files} in {folder} is another data set than the task {task.name} reads "
            f"({type(error).__name__}: {error}); rename or replace it."
        ) from error


@lru_cache(maxsize=2)
def _table(path: Path) -> RowTable:
    return read_row_table(path)
