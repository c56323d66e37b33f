"""The layers of the package, read from its imports: arrows point down only."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

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


def part_of(path):
    """The layer a file belongs to: its folder below the package, or its own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def module_of(path):
    return ".".join(("mixmood", *path.relative_to(PACKAGE).with_suffix("").parts))


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
        tree = ast.parse(path.read_text())
        outside = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            found += [(path, name, id(node) in outside) for name in imported(node)]
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
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def names_of(module):
    """What can be imported from a module of the package; None if there is no such module."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not source.exists():
        return None
    inside = {path.stem for path in place.glob("*")} if place.is_dir() else set()
    for node in ast.walk(ast.parse(source.read_text())):
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
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.module.split(".")[0] != "mixmood":
                continue
            names = known.setdefault(node.module, names_of(node.module))
            missing += [
                f"{path.relative_to(ROOT)}: {node.module}.{alias.name}"
                for alias in node.names
                if names is None or alias.name not in names
            ]
    assert not missing
