# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the house that a reader should be able to rely on in every file."""

import ast
import dataclasses
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpydoc.validate
import pytest
from numpydoc.docscrape import NumpyDocString

import bagshift

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "bagshift"
LICENCE_LINE = "SPDX-License-Identifier: BSD-3-Clause"
MOST_LINES = 450

# From the ground up: a module imports from its own floor and from those below it.
FLOORS = tuple(
    names.split()
    for names in (
        "_core exceptions atomic noise _bags labels bags class_labels domains calibration kernels"
        " metrics privacy",
        "solvers",
        "estimators",
        "model_selection",
        "inspection",
        "columns tables features fingerprints _model_files persistence datasets plotting",
        "scale report",
        "workflows",
        "experiments",
        "cli",
    )
)
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}


def files(*folders: str, endings: tuple[str, ...] = (".py",)) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return sorted(
        path
        for path in found
        if path.suffix in endings
        and not {"_build", "gallery", "generated"} & set(path.relative_to(ROOT).parts)
    )


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


SOURCES = files(
    *("src", "tests", "benchmarks", "examples", "docs", "scripts", "cpp"),
    endings=(".py", ".pyi", ".sh", ".cpp", ".hpp"),
)
LIBRARY = files("src")


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_licence_line(path: Path) -> None:
    start = path.read_text(encoding="utf-8").splitlines()[:2]
    assert any(LICENCE_LINE in line for line in start), f"first line: # {LICENCE_LINE}"


@pytest.mark.parametrize(
    "path", files("src", "cpp", endings=(".py", ".cpp", ".hpp")), ids=relative
)
def test_file_is_short_enough_to_be_read(path: Path) -> None:
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= MOST_LINES, f"{n_lines} lines: split it"


def calls_of(tree: ast.AST, name: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


@pytest.mark.parametrize("path", LIBRARY, ids=relative)
def test_library_does_not_print(path: Path) -> None:
    if path.relative_to(PACKAGE).parts[0] == "cli":
        return
    lines = calls_of(ast.parse(path.read_text(encoding="utf-8")), "print")
    assert not lines, f"print in lines {lines}: return the value, or warn"


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) of everything imported anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def imports_upwards(path: Path) -> list[str]:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    wrong = []
    for line, name in imported_names(ast.parse(path.read_text(encoding="utf-8"))):
        top, _, rest = name.partition(".")
        if top != "bagshift":
            continue
        part = rest.partition(".")[0]
        # `from bagshift import TGPLM` hides which floor is meant, and makes import cycles below
        # the command line.
        if FLOOR_OF.get(part, len(FLOORS) - 1) > FLOOR_OF[own]:
            wrong.append(f"line {line}: {name}")
    return wrong


@pytest.mark.parametrize("path", LIBRARY, ids=relative)
def test_imports_point_downwards(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if own in {"__init__", "__main__"}:
        return
    assert own in FLOOR_OF, f"{own} has no floor yet: add it to FLOORS in this test"
    assert not imports_upwards(path)


def test_package_itself_does_not_import_the_command_line() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    assert not [name for _, name in imported_names(tree) if name.startswith("bagshift.cli")]


# --- importing bagshift changes nothing else ------------------------------------------------

SNAPSHOT = """
import json, locale, logging, os, random, signal, sys, warnings
import numpy, scipy.sparse, scipy.special, sklearn
import sklearn.svm, sklearn.model_selection

def state():
    return {
        "NumPy's error state": numpy.geterr(),
        "NumPy's print options": repr(numpy.get_printoptions()),
        "NumPy's random state": repr(numpy.random.get_state()),
        "Python's random state": repr(random.getstate()),
        "scikit-learn's configuration": repr(sklearn.get_config()),
        "warning filters": repr(warnings.filters),
        "the root logger": repr((logging.root.level, logging.root.handlers)),
        "environment variables": dict(os.environ),
        "the locale": repr(locale.setlocale(locale.LC_ALL)),
        "the import path": list(sys.path),
        "the interrupt handler": repr(signal.getsignal(signal.SIGINT)),
    }

before, modules = state(), set(sys.modules)
import bagshift
after = state()
print(json.dumps({
    "changed": [name for name in before if before[name] != after[name]],
    "modules": sorted({name.partition(".")[0] for name in set(sys.modules) - modules}),
}))
"""


@pytest.fixture(scope="module")
def fresh_import() -> dict[str, list[str]]:
    output = subprocess.run(
        [sys.executable, "-c", SNAPSHOT], check=True, capture_output=True, text=True
    ).stdout
    return json.loads(output)


def test_import_changes_no_global_state(fresh_import: dict[str, list[str]]) -> None:
    assert fresh_import["changed"] == []


def test_import_brings_no_optional_package(fresh_import: dict[str, list[str]]) -> None:
    optional = {"typer", "rich", "polars", "pandas", "pyarrow", "skrub", "skops", "matplotlib"}
    assert not optional & set(fresh_import["modules"])


# --- docstrings -----------------------------------------------------------------------------

# What numpydoc's own validation is asked: a summary in one line that begins and ends as a
# sentence, sections in their order, and no parameter described that does not exist.
CHECKS = {"GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04", "SS06", "PR02", "PR03", "PR05"}
# Where there is something to explain, that is, more than one parameter: each is described, and
# so is the result.
SECTIONS = {"PR01", "RT01", "YD01"}


def public_modules() -> list[str]:
    names = [
        module.name
        for module in pkgutil.walk_packages([str(PACKAGE)], "bagshift.")
        if not any(part.startswith("_") for part in module.name.split("."))
        and not module.name.startswith("bagshift.cli")
    ]
    return ["bagshift", *names]


def is_ours(thing: object) -> bool:
    return getattr(thing, "__module__", "").startswith("bagshift")


def public_objects() -> dict[str, object]:
    """Classes and functions that a public module defines, or lists in its ``__all__``."""
    found = {}
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        listed = getattr(module, "__all__", ())
        for name, thing in vars(module).items():
            defined_here = getattr(thing, "__module__", None) == module_name and name[0] != "_"
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and (
                defined_here or (name in listed and is_ours(thing))
            ):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


def own_methods(cls: type) -> Iterator[str]:
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, classmethod | staticmethod) or callable(member):
            yield name


def documented_names() -> list[str]:
    names = []
    for dotted, thing in public_objects().items():
        names.append(dotted)
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            names += [f"{dotted}.{method}" for method in own_methods(thing)]
    return sorted(names)


def fields_without_a_word(cls: type) -> set[str]:
    doc = NumpyDocString(inspect.getdoc(cls) or "")
    described = {
        name.strip()
        for section in ("Parameters", "Attributes")
        for parameter in doc[section]
        for name in parameter.name.split(",")
    }
    fields = {field.name for field in dataclasses.fields(cls) if field.name[0] != "_"}
    return fields - described


def n_parameters(thing: Callable[..., object] | type) -> int:
    if inspect.isclass(thing) and not is_ours(thing.__init__):
        return 0  # a constructor taken over from another package is explained there
    return len(set(inspect.signature(thing).parameters) - {"self", "cls"})


@pytest.mark.parametrize("name", documented_names())
def test_docstring_has_its_sections(name: str) -> None:
    thing: Callable[..., object] | type = numpydoc.validate.Validator._load_obj(name)
    checks = set(CHECKS)
    if inspect.isclass(thing) and dataclasses.is_dataclass(thing):
        # Fields may be described as attributes, which numpydoc does not count.
        checks -= {"PR02"}
        assert not fields_without_a_word(thing)
    elif not (inspect.isclass(thing) and issubclass(thing, BaseException)):
        checks |= SECTIONS if n_parameters(thing) > 1 else set()
    errors = numpydoc.validate.validate(name)["errors"]
    assert not [f"{code}: {text}" for code, text in errors if code in checks]


def test_some_docstrings_were_looked_at() -> None:
    assert len(documented_names()) >= 20


def test_every_public_name_exists() -> None:
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        missing = [n for n in getattr(module, "__all__", []) if not hasattr(module, n)]
        assert not missing, f"{module_name}.__all__ lists {missing}"
    assert "TGPLM" in bagshift.__all__


def test_every_public_name_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").split()
    assert set(bagshift.__all__) - set(page) == set()
