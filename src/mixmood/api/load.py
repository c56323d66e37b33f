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
from mixmood.ssl.record import HeadRecord, TrainingRecord
from mixmood.ssl.run_folder import RECORD
from mixmood.testbed.analysis.correlate import Agreement

Record = RankReport | CheckReport | Filtering | Proposals | HeadRecord | TrainingRecord
Loaded = Record | list[Agreement] | dict[str, Any]
KINDS: dict[str, Any] = {
    "candidates": Ranking,
    "findings": LabelCheck,
    "images": Proposals,
    "useful_share": Filtering,
    "takes": HeadRecord,
    "epochs": TrainingRecord,
}
"""What a file holds, by the first of these keys that it has."""


def load(path: str | Path) -> Loaded:
    """The record of a command; tables of a test bed as dictionaries.

    A loaded ranking or check shows itself like a new one, but its page has no pictures.

    Args:
        path: The JSON file, or the folder of a run.
    """
    file = expanded(path)
    file = file / RECORD if file.is_dir() else file
    with errors_as(InputError, f"Cannot load {file}"):
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not a record of mixmood")
        if "table1" in content:
            return content
        if "rows" in content:
            return TypeAdapter(list[Agreement]).validate_python(content["rows"])
        kinds = [kind for key, kind in KINDS.items() if key in content]
        if not kinds:
            raise ValueError("it is not a record of mixmood")
        record = TypeAdapter(kinds[0]).validate_python(content)
    if isinstance(record, Ranking):
        return RankReport.of(record)
    return CheckReport.of(record) if isinstance(record, LabelCheck) else record
