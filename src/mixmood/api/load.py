"""`mixmood.load`: a record that a command has written as JSON."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mixmood.api.check import CheckReport
from mixmood.api.rank import RankReport
from mixmood.core.errors import InputError, errors_as
from mixmood.core.files import expanded
from mixmood.core.records.check import LabelCheck
from mixmood.core.records.filtering import Filtering
from mixmood.core.records.labelling import Proposals
from mixmood.core.records.ranking import Ranking
from mixmood.ssl.record import HEAD, HeadRecord, TrainingRecord
from mixmood.ssl.run_folder import RECORD
from mixmood.testbed.analysis.correlate import Agreement

Loaded = (
    RankReport
    | CheckReport
    | Filtering
    | Proposals
    | HeadRecord
    | TrainingRecord
    | list[Agreement]
    | dict[str, Any]
)


def load(path: str | Path) -> Loaded:
    """The record of a command; tables of a test bed as dictionaries.

    A loaded ranking or check shows itself like a new one, but its page has no pictures.

    Args:
        path: The JSON file, or the folder of a run.
    """
    file = expanded(path)
    file = file / RECORD if file.is_dir() else file
    with errors_as(InputError, f"Cannot load {file}"):
        text = file.read_text("utf-8")
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("it is not a record of mixmood")
        if "candidates" in content:
            return RankReport(**vars(TypeAdapter(Ranking).validate_python(content)))
        if "findings" in content:
            return CheckReport.of(TypeAdapter(LabelCheck).validate_python(content))
        if "images" in content:
            return TypeAdapter(Proposals).validate_python(content)
        if "useful_share" in content:
            return TypeAdapter(Filtering).validate_python(content)
        if content.get("model") == HEAD:
            return HeadRecord.from_json(text)
        if "epochs" in content:
            return TrainingRecord.from_json(text)
        if "rows" in content:
            return TypeAdapter(list[Agreement]).validate_python(content["rows"])
        if "table1" in content:
            return content
        raise ValueError("it is not a record of mixmood")
