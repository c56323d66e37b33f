import pytest

from mixmood.core.errors import InputError
from mixmood.ssl.record import HeadRecord


def test_what_is_no_record_is_refused():
    with pytest.raises(InputError, match="This is no record of a head"):
        HeadRecord.from_json('{"schema": 1, "model": "wrn"}')
