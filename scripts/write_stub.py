"""Write src/mixmood/__init__.pyi from the plans: .venv/bin/python scripts/write_stub.py

Options are declared once, as fields of a plan. Editors and type checkers cannot see them behind
the decorator that makes them arguments; this stub shows them, each with its type and default.
"""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import mixmood

STUB = Path(mixmood.__file__).with_suffix(".pyi")
HEAD = '"""Public names of mixmood and their types, written by scripts/write_stub.py."""\n'


def stub() -> str:
    """The stub as it should be."""
    imports = {"from mixmood import measures as measures"}
    functions, names = [], sorted(set(mixmood.__all__) - {"__version__", "measures"})
    for name in names:
        public = getattr(mixmood, name)
        if hasattr(public, "__wrapped__"):
            functions.append(_function(name, public, imports))
        else:
            imports.add(f"from {public.__module__} import {name} as {name}")
    # A public name that a signature uses too is imported once.
    imports -= {line.partition(" as ")[0] for line in imports if " as " in line}
    parts = [HEAD, *sorted(imports), "", "__version__: str", "", *functions]
    return _formatted("\n".join(parts))


def _function(name: str, function: Any, imports: set[str]) -> str:
    parameters, is_named = [], False
    signature = inspect.signature(function)
    for one in signature.parameters.values():
        if one.kind is inspect.Parameter.KEYWORD_ONLY and not is_named:
            parameters.append("*")
            is_named = True
        kind = _kind(one.annotation, imports)
        if one.default is None and "None" not in kind and kind != "Any":
            kind = f"{kind} | None"
        has_default = one.default is not inspect.Parameter.empty
        parameters.append(f"{one.name}: {kind}" + (f" = {_default(one.default)}" * has_default))
    returned = _kind(signature.return_annotation, imports)
    doc = (
        '"""' + inspect.getdoc(function).replace("\\", "\\\\").replace("\n", "\n    ") + '\n    """'
    )
    return f"def {name}({', '.join(parameters)}) -> {returned}:\n    {doc}\n"


def _kind(annotation: Any, imports: set[str]) -> str:
    """An annotation as text; the modules of its names are added to the imports."""
    text = inspect.formatannotation(annotation)
    # A tuple of a plan may be given as any sequence.
    text = re.sub(r"tuple\[(\w+), \.\.\.\]", r"collections.abc.Sequence[\1]", text)

    def short(dotted: re.Match[str]) -> str:
        module, _, word = dotted[0].rpartition(".")
        imports.add(f"from {module} import {word}")
        return word

    return re.sub(r"(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*", short, text)


def _default(value: Any) -> str:
    is_plain = isinstance(value, bool | int | float | str | tuple | None)
    return repr(value) if is_plain else "..."


def _formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    for words in (["check", "--fix", "--exit-zero"], ["format"]):
        command = [*ruff, *words, "--quiet", "--stdin-filename", str(STUB), "-"]
        text = subprocess.run(
            command, input=text, capture_output=True, text=True, check=True
        ).stdout
    return text


if __name__ == "__main__":
    STUB.write_text(stub())
