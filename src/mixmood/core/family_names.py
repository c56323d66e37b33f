"""Names of the measures, heads and other families, for help texts, without importing them."""

import ast
from importlib import import_module
from pathlib import Path

DEFAULT_BACKBONE = "efficientnet-lite0"
AUTO_BACKBONE = "auto"
"""Chooses the backbone with which the supervised head is most accurate."""
DEFAULT_MEASURE = "cosine"
DEFAULT_SCORE = "combined"

PACKAGE = Path(__file__).parent.parent


def member_names(module: str, registry: str) -> tuple[str, ...]:
    """The keys of a registry, in its order.

    They are read from the source, so that `--help` imports neither NumPy nor a family.

    Args:
        module: The module below the package, such as "heads.registry".
        registry: The name of the dictionary, such as "HEADS".

    >>> member_names("heads.registry", "HEADS")[:2]
    ('supervised', 'mixmatch')
    """
    source = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    if not source.is_file():  # an installation with compiled files only
        return tuple(getattr(import_module(f"mixmood.{module}"), registry))
    for node in ast.parse(source.read_bytes()).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == registry:
            keys = node.value.keys if isinstance(node.value, ast.Dict) else []
            return tuple(str(key.value) for key in keys if isinstance(key, ast.Constant))
    raise LookupError(f"{module} has no dictionary {registry}.")


def either(names: tuple[str, ...], last: str = "") -> str:
    """The names in a sentence.

    >>> either(("a", "b"), "all"), either(("a", "b"))
    ('a, b or all', 'a or b')
    """
    words = [*names, last] if last else list(names)
    return f"{', '.join(words[:-1])} or {words[-1]}"
