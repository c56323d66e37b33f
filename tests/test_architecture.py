"""The layers of the package, read from its imports: arrows point down only."""

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mixmood"

LAYERS = [
    {"core"},
    {"jobs"},
    {"data"},
    {"features"},
    {"numerics"},
    {"heads", "measures", "scores"},
    {"evidence"},
    {"ssl", "ranking", "selection"},
    {"testbed"},
    {"report"},
    {"api"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}
DEEP = {"torch", "onnxruntime", "onnx", "transformers"}
"""Deep-learning libraries: `features` and `ssl` alone import them."""
SLOW = {
    *DEEP, "mlflow", "ray", "sklearn", "matplotlib", "scipy", "pandas", "jinja2", "pyarrow",
    "datasets", "joblib",
}  # fmt: skip
QUICK = {"cli", "core", "data", "api", "jobs", "__init__"}
"""What `mixmood --help` imports: it stays instant."""
OUTSIDE = ("benchmarks", "fuzz", "scripts")
VAGUE = {"utils", "util", "helpers", "helper", "misc", "common", "manager"}


SHORT = 60
"""A module of at most so many lines is part of another one, unless two modules import it."""


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def part_of(path):
    """The layer a file belongs to: its folder below the package, or its own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def module_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("mixmood", *parts)).removesuffix(".__init__")


def folder_of(path):
    return str(path.relative_to(PACKAGE).parent)


def is_deep(name):
    return name.split(".")[0] in DEEP


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        # `from mixmood import data` names a layer in its aliases.
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


@cache
def imports():
    """Every import of the package: the file, the name, and whether it is outside of functions."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = tree_of(path)
        outside = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            found += [(path, name, id(node) in outside) for name in imported(node)]
    return found


@cache
def importers():
    """For each file of the package, the other files of it that import it, anywhere in them."""
    paths = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    found = {path: set() for path in paths.values()}
    for path, name, _ in imports():
        # A name within a module, or the module itself.
        home = paths.get(name) or paths.get(name.rpartition(".")[0])
        if home is not None and home != path:
            found[home].add(path)
    return found


def test_a_layer_imports_only_layers_below_it():
    breaches = []
    for path, name, _ in imports():
        own, parts = part_of(path), name.split(".")
        if own == "__init__" or parts[0] != "mixmood" or len(parts) < 2 or parts[1] == own:
            continue
        # The package itself re-exports the public names: importing them from within is a loop.
        if parts[1] not in HEIGHT or HEIGHT[parts[1]] >= HEIGHT[own]:
            breaches.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert not breaches


def test_folders_import_each_other_without_cycles():
    """A folder is any folder with modules; the package's own `__init__` re-exports, as it may."""
    below = defaultdict(set)
    for home, paths in importers().items():
        for path in paths - {PACKAGE / "__init__.py"}:
            below[folder_of(path)] |= {folder_of(home)} - {folder_of(path)}
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        cycle = set(error.args[1])
        pytest.fail("\n".join(between(cycle)))


def between(folders):
    """The imports from one of these folders by another."""
    return [
        f"{path.relative_to(PACKAGE)} imports {home.relative_to(PACKAGE)}"
        for home, paths in importers().items()
        for path in paths
        if folder_of(home) != folder_of(path) and {folder_of(home), folder_of(path)} <= folders
    ]


def test_a_short_module_has_two_importers_or_is_a_member_of_a_family_or_a_command():
    families = {path.parent for path in PACKAGE.rglob("registry.py")}
    assert not [
        f"{home.relative_to(PACKAGE)}, which {next(iter(paths)).relative_to(PACKAGE)} alone imports"
        for home, paths in importers().items()
        if len(paths) == 1
        and len(home.read_text().splitlines()) <= SHORT
        and home.parent not in families
        and home.name != "__init__.py"
        and part_of(home) not in {"api", "cli"}
    ]


def test_deep_learning_libraries_are_loaded_by_ssl_alone_and_by_others_inside_functions():
    """Whoever imports a module outside of functions imports all that this one imports so."""
    found = [(module_of(path), name, is_outside) for path, name, is_outside in imports()]
    assert not [
        f"{module} imports {name}"
        for module, name, _ in found
        if is_deep(name) and module.split(".")[1] not in {"features", "ssl"}
    ]
    loading = {module for module, name, is_outside in found if is_outside and is_deep(name)}
    while more := {
        module
        for module, name, is_outside in found
        if is_outside and {name, name.rpartition(".")[0]} & loading and module not in loading
    }:
        loading |= more
    assert not [module for module in loading if not module.startswith("mixmood.ssl.")]


def test_the_command_line_imports_slow_libraries_only_inside_functions():
    assert not [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, name, is_outside in imports()
        if is_outside and name.split(".")[0] in SLOW and part_of(path) in QUICK
    ]


def test_a_module_is_named_for_what_is_in_it():
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in VAGUE]


def test_two_classes_never_share_a_name():
    """A reader who meets a name must not have to ask which of two things it is."""
    homes = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def names_of(module):
    """What can be imported from a module of the package; None if there is no such module."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    is_folder = (place / "__init__.py").exists()
    source = place / "__init__.py" if is_folder else place.with_suffix(".py")
    if not source.exists():
        return None
    inside = {path.stem for path in place.glob("*")} if is_folder else set()
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            inside.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            inside.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            inside |= {alias.asname or alias.name for alias in node.names}
    return inside


def test_benchmarks_fuzzers_and_scripts_import_what_is_there():
    """No test runs them, so that a name that moved would be noticed by users only."""
    known, missing = {}, []
    for path in (path for folder in OUTSIDE for path in (ROOT / folder).rglob("*.py")):
        if ".venv" in path.parts:
            continue
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] != "mixmood":
                continue
            names = known.setdefault(node.module, names_of(node.module))
            missing += [
                f"{path.relative_to(ROOT)}: {node.module}.{alias.name}"
                for alias in node.names
                if names is None or alias.name not in names
            ]
    assert not missing


def files_named_in(text):
    """The modules that a text names in backquotes, as paths below the package."""
    return re.findall(r"`([a-z_/]+\.pyi?)`", text)


def test_pages_about_the_code_name_modules_that_exist():
    known = {"tests/test_architecture.py", "registry.py", "plan.py"}
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        named = files_named_in((ROOT / page).read_text())
        assert len(named) > 9
        places = [(ROOT / path, PACKAGE / path) for path in named if path not in known]
        assert not [own for top, own in places if not (top.exists() or own.exists())], page


def test_each_question_is_answered_by_at_most_four_files():
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, _, table = page.partition("## Questions")
    rows = [
        row for row in table.partition("\n## ")[0].splitlines() if re.match(r"\| [A-Z].*\?", row)
    ]
    assert len(rows) == 5
    for row in rows:
        assert 1 <= len({*files_named_in(row)} - {"plan.py"}) <= 4, row
