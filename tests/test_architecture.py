"""The six layers of the package, read from its imports: arrows point down only."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "mixmood"

LAYERS = [
    {"core"},
    {"data"},
    {"features", "measures"},
    {"ssl", "ranking"},
    {"report", "testbed"},
    {"cli", "api", "__main__"},
]
HEIGHT = {part: height for height, layer in enumerate(LAYERS) for part in layer}
DEEP = {"torch", "onnxruntime", "onnx", "mlflow", "ray"}
SLOW = {*DEEP, "sklearn", "matplotlib", "scipy", "pandas", "jinja2", "pyarrow", "datasets"}
MAY_IMPORT_DEEP = {"torch": {"features", "ssl"}, "onnxruntime": {"features", "ssl"}}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path):
    """The layer a file belongs to: its folder below the package, or its own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        # `from mixmood import data` names a layer in its aliases.
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def imports(path):
    tree = ast.parse(path.read_text())
    return [name for node in ast.walk(tree) for name in imported(node)]


def top_level_imports(path):
    return [name for node in ast.parse(path.read_text()).body for name in imported(node)]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_layer_imports_only_layers_below_it(path):
    own = part_of(path)
    if own == "__init__":
        return
    for name in imports(path):
        parts = name.split(".")
        if parts[0] != "mixmood" or len(parts) < 2 or parts[1] == own:
            continue
        # The package itself re-exports the public names: reaching for them from within is a loop.
        assert parts[1] in HEIGHT, f"{path.name} imports {name}, which belongs to no layer"
        allowed = (own, parts[1]) in {("cli", "api"), ("__main__", "cli")}
        assert HEIGHT[parts[1]] < HEIGHT[own] or allowed, f"{own} may not import {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_deep_learning_libraries_stay_in_features_and_ssl(path):
    for name in imports(path):
        allowed = MAY_IMPORT_DEEP.get(name.split(".")[0])
        assert allowed is None or part_of(path) in allowed, f"{part_of(path)} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_command_line_and_the_core_import_slow_libraries_only_inside_functions(path):
    """`mixmood --help` stays instant."""
    if part_of(path) not in {"cli", "core", "data", "api", "__init__"}:
        return
    slow = [name for name in top_level_imports(path) if name.split(".")[0] in SLOW]
    assert not slow, f"{path.name} imports {slow} at import time"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_file_is_named_for_what_it_holds(path):
    assert path.stem not in {"utils", "util", "helpers", "helper", "misc", "common", "manager"}
