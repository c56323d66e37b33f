"""Development tasks that the probe's map is fitted on: those of the heads, and harder ones."""

from benchmarks.heads.tasks import DEVELOPMENT, FAR, LOWER, OTHER_HALF, Family
from benchmarks.probe.harder import PACKS

_NUMBERS = {
    f"{pack} {n} of 0-4": Family(f"{pack} {n} of 0-4", pack, LOWER, n, (OTHER_HALF,))
    for pack in PACKS
    for n in (2, 4)
}
_HARDER = {
    family.name: family
    for pack in PACKS
    for family in (
        Family(f"{pack} overlaid 0-4", f"{pack}-overlaid", LOWER, 5, FAR),
        Family(f"{pack} overlaid 3 of 0-4", f"{pack}-overlaid", LOWER, 3, (OTHER_HALF,)),
    )
}
FITTED_ON = {**DEVELOPMENT, **_NUMBERS, **_HARDER}
