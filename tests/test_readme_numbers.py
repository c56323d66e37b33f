"""The README says what the records say."""

from benchmarks.readme_numbers import claims, is_written


def test_every_measured_number_of_the_readme_is_that_of_the_records():
    found = claims()
    missing = [claim for claim in found if not is_written(claim)]
    assert len(found) > 10
    assert not missing, "see python -m benchmarks.readme_numbers"
