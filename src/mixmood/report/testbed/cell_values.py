"""A value of Table 2 as text: a distance, a useful share or the gain that the probe expects."""

from mixmood.report.charts.numbers import fixed, number, signed, with_spread
from mixmood.testbed.analysis.outlook import OutlookRow
from mixmood.testbed.analysis.statistics.predictors import GAIN
from mixmood.testbed.analysis.summary import DistanceRow

Valued = DistanceRow | OutlookRow


def value_of(row: Valued) -> float:
    """The mean over the runs of a cell."""
    return row.distance_mean if isinstance(row, DistanceRow) else row.mean


def value_words(row: Valued) -> str:
    """The measure and its value, for the text beside a point."""
    if isinstance(row, DistanceRow):
        weak = "" if row.is_significant else ", not significant"
        return f"{row.measure} {with_spread(row.distance_mean, row.distance_spread, number)}{weak}"
    if row.measure == GAIN:
        return f"{row.measure} {signed(row.mean, 1)} points"
    return f"{row.measure} {fixed(row.mean, 2)}"
