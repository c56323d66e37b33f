"""The inputs of a filter: checked before any work is done, then opened."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.api.joined.backbone_choice import BackboneChoice, ChoiceOptions, choose_backbone
from mixmood.core.cache.features import FeatureCache
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.files.atomic import check_writable
from mixmood.core.progress import Progress
from mixmood.data.pools.candidates import found_again
from mixmood.data.pools.kept import lists_below, pool_word
from mixmood.data.pools.open import open_pool
from mixmood.data.pools.pool import FeatureSource, Pool
from mixmood.data.pools.wide_images import scaled_alike
from mixmood.features.backbones.backbone import Backbone, network_digest
from mixmood.selection.plan import FilterPlan

if TYPE_CHECKING:
    from mixmood.selection.fit import FeatureReader
    from mixmood.selection.scorer import Scorer


def check_paths(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse outputs that cannot be written or would change an input, before any work is done."""
    from mixmood.report.filter.lists import writer_for
    from mixmood.selection.image_folder import check_empty

    if (labelled is None) == (plan.load is None):
        raise OptionError("Give the labelled images, or a saved filter with load; not both.")
    for folder in (plan.link, plan.copy):
        if folder is not None:
            check_empty(Path(folder), resume=plan.resume)
    _check_inputs_stay(labelled, pool, out, plan)
    if out is None:
        if plan.resume:
            raise OptionError("resume needs the list of the scan to go on with: give out.")
        return
    writer_for(out)
    check_writable(out)
    word_for(pool, out)


def _check_inputs_stay(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse an output that is one of the inputs, or a list that the pool rests on."""
    inputs = [
        Path(what).expanduser().resolve()
        for what in (labelled, pool, plan.load)
        if isinstance(what, str | Path)
    ]
    if isinstance(pool, str | Path):
        inputs += lists_below(Path(pool).expanduser())
    for target in (out, plan.save):
        if target is not None and Path(target).resolve() in inputs:
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")
    for folder in (plan.link, plan.copy):
        place = None if folder is None else Path(folder).resolve()
        if place is not None and any(place.is_relative_to(one) for one in inputs if one.is_dir()):
            raise OptionError(
                f"{folder} lies in one of the inputs, which would grow by it. Name a folder "
                "elsewhere."
            )
    if out is not None and plan.save is not None and Path(plan.save).resolve() == out.resolve():
        raise OptionError(f"The list and the saved filter are both {out}. Name two files.")


def word_for(pool: Any, out: Path) -> str:
    """How the list names its pool; an object in memory has no place to be found again."""
    is_place = isinstance(pool, str | Path)
    return pool_word(str(pool), out) if is_place else type(pool).__name__


def findable(pool: Any) -> Any:
    """What a worker with another working directory opens the pool from."""
    if isinstance(pool, str) and ("://" in pool or pool.startswith("noise:")):
        return pool
    return Path(pool).expanduser().resolve() if isinstance(pool, str | Path) else pool


@dataclass(frozen=True)
class FilterInputs:
    """What a filter works on.

    Attributes:
        labelled: The labelled set; None with a saved filter.
        pool: The pool, its images of more than eight bits scaled as the labelled ones.
        source: What the same pool is opened from elsewhere; noise names its size and seed.
        saved: The saved filter, if one is used.
        backbone: What embeds images; None for features.
        choice: How the backbone was chosen; None if it was named.
    """

    labelled: Pool | None
    pool: Pool
    source: Any
    saved: "Scorer | None"
    backbone: Backbone | None
    choice: BackboneChoice | None = None

    def settled(self, plan: FilterPlan) -> FilterPlan:
        """The plan with the name of the backbone that was chosen."""
        return plan if self.choice is None else replace(plan, backbone=self.choice.chosen)

    def scorer(self, plan: FilterPlan, embedder: "FeatureReader") -> "Scorer":
        """The scorer: the saved one, or one that is fitted now."""
        from mixmood.selection.fit import fit_scorer

        if self.saved is not None:
            return self.saved
        if self.labelled is None:
            raise TypeError("A filter needs labelled images or a saved filter.")
        return fit_scorer(self.labelled, self.pool, plan, embedder)


def open_inputs(
    labelled: Any, pool: Any, plan: FilterPlan, cache: FeatureCache | None, progress: Progress
) -> FilterInputs:
    """Open the pool, the labelled set or the saved filter, and the backbone.

    Nothing is read except the labelled images, where they decide the backbone.
    """
    base = None if plan.load is not None else _opened(labelled, plan, cache, "labelled set")
    source = found_again(pool, base, plan.seed)
    crawl = _opened(source, plan, cache, "pool")
    if plan.link is not None or plan.copy is not None:
        from mixmood.selection.image_folder import images_of

        images_of(crawl)
    if base is None:
        return _with_saved_filter(source, crawl, plan)
    return _with_labelled(source, crawl, base, plan, cache, progress)


def _opened(what: Any, plan: FilterPlan, cache: FeatureCache | None, role: str) -> Pool:
    return open_pool(what, seed=plan.seed, cache=cache, role=role, frames=plan.frames)


def _with_saved_filter(source: Any, crawl: Pool, plan: FilterPlan) -> FilterInputs:
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.selection.scorer import load_scorer

    saved = load_scorer(Path(str(plan.load)))
    network = None
    if saved.backbone and not isinstance(crawl, FeatureSource):
        network = load_backbone(saved.backbone_name, saved.resolution, plan.device)
    _check_same_network(saved, network, crawl, plan)
    return FilterInputs(None, saved.scaled(crawl), source, saved, network)


def _with_labelled(
    source: Any,
    crawl: Pool,
    base: Pool,
    plan: FilterPlan,
    cache: FeatureCache | None,
    progress: Progress,
) -> FilterInputs:
    from mixmood.features.backbones.registry import load_backbone

    is_image = not isinstance(crawl, FeatureSource)
    if isinstance(base, FeatureSource) == is_image:
        raise ShapeError(
            f"Features cannot be mixed with images: {base.name} and {crawl.name} must both be "
            "features, or both images."
        )
    base, pools, _ = scaled_alike(base, {"pool": crawl})
    choice = choose_backbone(base, ChoiceOptions.of(plan), cache, progress)
    name = plan.backbone if choice is None else choice.chosen
    network = load_backbone(name, plan.resolution, plan.device) if is_image else None
    return FilterInputs(base, pools["pool"], source, None, network, choice)


def _check_same_network(
    saved: "Scorer", network: Backbone | None, pool: Pool, plan: FilterPlan
) -> None:
    if (network_digest(network) if network else "") != saved.backbone:
        raise InputError(
            f"{plan.load} was fitted on features of {saved.backbone_name or 'another kind'}, "
            f"which {pool.name} cannot give here. Fit the filter again."
        )
