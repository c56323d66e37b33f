"""Documents that still parse but have other content: JSON, TOML and ONNX with changed values."""

import copy
import json
import random
import tomllib
from typing import Any

ODD = (
    None, True, False, 0, -1, 1.5, 10**9, 2**63, 10**30, -0.0, 1e300, float("nan"), float("inf"),
    "", "\x1b[2J", "=1+1", "../../x", "/etc/passwd", "x" * 300, "nan", "$x$", "<script>", "%s{0}\\",
    [], [[]], {}, {"a": 1}, [1, "a", None],
)  # fmt: skip


def json_tree(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    """The JSON document with a few values replaced, dropped, doubled or swapped."""
    return json.dumps(_changed(rng, json.loads(data))).encode()


def toml_tree(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    """The TOML document with the same done to it."""
    return _toml(_changed(rng, tomllib.loads(data.decode()))).encode()


def _changed(rng: random.Random, tree: Any) -> Any:
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        holder, key = rng.choice(list(_places(tree)))
        _change(rng, holder, key, tree)
    return tree


def _places(tree: Any) -> Any:
    """Every place of a document, as the list or dictionary it is in and its key."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        yield tree, key
        if isinstance(value, dict | list) and value:
            yield from _places(value)


def _change(rng: random.Random, holder: Any, key: Any, tree: Any) -> None:
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[rng.choice(["", "x", "\x1b[2J", str(key) + "s"])] = holder.pop(key)
    elif how == 2:
        other, place = rng.choice(list(_places(tree)))
        holder[key] = copy.deepcopy(other[place])
    elif how == 3 and isinstance(holder[key], int | float):
        holder[key] = holder[key] * rng.choice([-1, 0, 1000, 10**9, 0.37])
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))


def _toml(tree: dict[str, Any], head: str = "") -> str:
    """A document that `tomllib` reads; None, which TOML lacks, is left out."""
    plain = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    lines = [f"{json.dumps(k)} = {_toml_value(v)}" for k, v in plain.items() if v is not None]
    for key, value in tree.items():
        if isinstance(value, dict):
            name = f"{head}.{json.dumps(key)}" if head else json.dumps(key)
            lines += [f"[{name}]", _toml(value, name)]
    return "\n".join(lines)


def _toml_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(item) for item in value if item is not None)}]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {_toml_value(v)}" for k, v in value.items() if v is not None)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, float):
        return {"inf": "inf", "nan": "nan"}.get(str(value), repr(value))
    return json.dumps(value)


def onnx_tree(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    """The ONNX model with a few of its fields set to something else."""
    import onnx

    model = onnx.load_from_string(data)
    for _number in range(rng.choice([1, 1, 2, 3])):
        message, field = rng.choice(list(_fields(model)))
        try:
            _set_field(rng, message, field)
        except (TypeError, ValueError):
            continue
    content: bytes = model.SerializeToString()
    return content


def _fields(message: Any) -> Any:
    """Every field that is set, of the message and of all messages in it."""
    for field, value in message.ListFields():
        yield message, field
        if field.message_type is not None:
            for child in value if field.is_repeated else [value]:
                yield from _fields(child)


def _set_field(rng: random.Random, message: Any, field: Any) -> None:
    value = getattr(message, field.name)
    if field.is_repeated and rng.random() < 0.4:
        value.append(value[0]) if rng.random() < 0.5 else value.pop()
    elif field.message_type is not None:
        message.ClearField(field.name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        setattr(message, field.name, type(value)(rng.choice([0, 1, 2, -1, 7, 99, 2**31 - 1])))
    elif field.is_repeated:
        value[rng.randrange(len(value))] = rng.choice([0, 1, -1, 10**6, 2**40, 2**63 - 1])
    elif isinstance(value, bytes):
        setattr(message, field.name, rng.choice([b"", value[:-1], value * 2]))
    else:
        setattr(message, field.name, rng.choice(["", "x", "m", "y", "Loop", "Expand", "Resize"]))
