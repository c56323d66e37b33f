"""Which columns of a Parquet table hold the images and their classes."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from mixmood.core.errors import InputError
from mixmood.core.suggest import unknown_name
from mixmood.data.labels.tables import LABEL_COLUMNS

_IMAGE_COLUMNS = ("image", "img", "picture", "photo", "bytes")


class Columns(NamedTuple):
    """The columns of images and of classes, and the names of the classes if the table has them."""

    image: str
    is_struct: bool
    label: str | None
    class_names: tuple[str, ...] | None


def choose_columns(path: Path, schema: Any, wanted: str | None) -> Columns:
    """The columns of a table; InputError if it has no images, OptionError without the one wanted.

    Args:
        path: The file, for messages.
        schema: Its schema in Arrow.
        wanted: The column with the classes; by default the ClassLabel of Hugging Face, or one with
            a usual name.
    """
    import pyarrow

    stated = _hugging_face_features(schema)
    structs = [field.name for field in schema if pyarrow.types.is_struct(field.type)]
    structs = [name for name in structs if schema.field(name).type.get_field_index("bytes") >= 0]
    binaries = [
        field.name
        for field in schema
        if pyarrow.types.is_binary(field.type) or pyarrow.types.is_large_binary(field.type)
    ]
    named = [name for name in binaries if name.lower() in _IMAGE_COLUMNS]
    stored = [*structs, *binaries]
    images = [name for name in stored if stated.get(name, {}).get("_type") == "Image"]
    chosen = next(iter([*images, *structs, *named]), None)
    if chosen is None:
        raise InputError(
            f"{path} has no column of images (bytes, or a struct with a field 'bytes'); "
            f"it has: {', '.join(schema.names) or 'none'}."
        )
    classes = [name for name in schema.names if stated.get(name, {}).get("_type") == "ClassLabel"]
    usual = [
        field.name
        for field in schema
        if field.name.lower() in LABEL_COLUMNS and _may_be_classes(field.type)
    ]
    if wanted is not None and wanted not in schema.names:
        raise unknown_name("label column", wanted, schema.names)
    label = wanted or next(iter([*classes, *usual]), None)
    names = stated.get(label, {}).get("names") if label is not None else None
    class_names = tuple(map(str, names)) if names and isinstance(names, list) else None
    return Columns(chosen, chosen in structs, label, class_names)


def _may_be_classes(kind: Any) -> bool:
    """Whether a column of this type of Arrow holds whole numbers, bools or texts.

    Libraries store texts in several types: pandas as large strings, categories as a dictionary.
    """
    from pyarrow import types

    if types.is_dictionary(kind):
        return _may_be_classes(kind.value_type)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(is_text or types.is_integer(kind) or types.is_boolean(kind))


def _hugging_face_features(schema: Any) -> dict[str, dict[str, Any]]:
    """The Hugging Face description of each column; empty if the metadata has none."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return {}
    if not isinstance(features, dict):
        return {}
    return {name: stated for name, stated in features.items() if isinstance(stated, dict)}


def unfit_labels(schema: Any) -> str:
    """A sentence about a column with the name of labels that holds other values; else empty."""
    found = [one for one in schema if one.name.lower() in LABEL_COLUMNS]
    if not found:
        return ""
    return (
        f"Its column '{found[0].name}' holds values of the type {found[0].type}; classes are whole "
        "numbers or texts."
    )
