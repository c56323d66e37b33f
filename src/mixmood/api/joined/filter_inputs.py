"""Checks and opens the inputs of a filter."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixmood.api.joined.backbone_choice import BackboneChoice, ChoiceOptions, choose_backbone
from mixmood.core.cache import FeatureCache
from mixmood.core.errors import InputError, OptionError, ShapeError
from mixmood.core.files import check_writable, expanded
from mixmood.core.listener import Listener
from mixmood.core.options import DEFAULT_BACKBONE, DEFAULT_SCORE
from mixmood.data.images.names import is_url_or_noise, split_options
from mixmood.data.images.pool import FeatureSource, Pool, scaled_alike
from mixmood.data.open import open_pool, with_noise_settings
from mixmood.data.readers.files import is_read_by_a_folder
from mixmood.data.readers.kept import chain_of_lists, pool_reference
from mixmood.features.backbones.backbone import Backbone, network_digest
from mixmood.features.backbones.registry import is_auto
from mixmood.selection.plan import FilterPlan

if TYPE_CHECKING:
    from mixmood.features.sample import Extractor
    from mixmood.selection.scorer import Scorer


def check_paths(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse outputs that cannot be written or would change an input, before any work is done."""
    from mixmood.report.filter import writer_for
    from mixmood.selection.image_folder import check_empty

    if (labelled is None) == (plan.load is None):
        raise OptionError("Give the labelled images, or a saved filter with load; not both.")
    for folder in (plan.link, plan.copy):
        if folder is not None:
            check_empty(Path(folder), resume=plan.resume)
    _check_inputs_stay(labelled, pool, out, plan)
    if out is None:
        if plan.resume:
            raise OptionError(
                "resume continues the scan of a list, and no list was named: give out."
            )
        return
    writer_for(out)
    check_writable(out)
    reference_for(pool, out)


def _check_inputs_stay(labelled: Any, pool: Any, out: Path | None, plan: FilterPlan) -> None:
    """Refuse an output that is one of the inputs, or a list from which the pool is read."""
    inputs = [
        split_options(expanded(what)).path.resolve()
        for what in (labelled, pool, plan.load)
        if isinstance(what, str | Path)
    ]
    if isinstance(pool, str | Path):
        inputs += chain_of_lists(expanded(pool))
    for target in (out, plan.save):
        place = None if target is None else Path(target).resolve()
        if place is not None and (
            place in inputs or any(is_read_by_a_folder(place, one) for one in inputs)
        ):
            raise OptionError(f"{target} is one of the inputs. Name another file to write.")
    for folder in (plan.link, plan.copy):
        place = None if folder is None else Path(folder).resolve()
        if place is not None and any(place.is_relative_to(one) for one in inputs if one.is_dir()):
            raise OptionError(
                f"{folder} lies inside one of the inputs and would become a part of it. Name a "
                "folder elsewhere."
            )
    if out is not None and plan.save is not None and Path(plan.save).resolve() == out.resolve():
        raise OptionError(f"The list and the saved filter are both {out}. Name two files.")


def reference_for(pool: Any, out: Path) -> str:
    """The name of the pool in the list `out`; of an object in memory, the name of its type."""
    is_place = isinstance(pool, str | Path)
    return pool_reference(str(pool), out) if is_place else type(pool).__name__


def with_absolute_path(pool: Any) -> Any:
    """The same pool for a worker with another working directory: a path is made absolute."""
    if not isinstance(pool, str | Path) or is_url_or_noise(pool):
        return pool
    return expanded(pool).resolve()


@dataclass(frozen=True)
class FilterInputs:
    """The opened inputs of a filter.

    Attributes:
        base: The labelled set, or the saved filter.
        pool: The pool; its images of more than eight bits are scaled as the labelled ones.
        source: The path, text or object from which the pool can be opened again; the text of
            noise includes its size and seed.
        backbone: The network that computes features; None if the pool has features.
        choice: The choice of the backbone by `auto`; None if a backbone was named.
    """

    base: "Pool | Scorer"
    pool: Pool
    source: Any
    backbone: Backbone | None
    choice: BackboneChoice | None = None

    @property
    def labelled(self) -> Pool | None:
        """The labelled set; None with a saved filter."""
        from mixmood.selection.scorer import Scorer

        return None if isinstance(self.base, Scorer) else self.base

    def settled(self, plan: FilterPlan) -> FilterPlan:
        """The plan with the name of the backbone that was chosen."""
        return plan if self.choice is None else replace(plan, backbone=self.choice.chosen)

    def scorer(self, plan: FilterPlan, extractor: "Extractor") -> "Scorer":
        """The scorer: the saved one, or one that is fitted now."""
        from mixmood.selection.scorer import Scorer, fit_scorer

        if isinstance(self.base, Scorer):
            return self.base
        return fit_scorer(self.base, self.pool, plan, extractor)


def open_inputs(
    labelled: Any, pool: Any, plan: FilterPlan, cache: FeatureCache | None, listener: Listener
) -> FilterInputs:
    """Open the pool, the labelled set or the saved filter, and the backbone.

    Of the images, only labelled ones are read: to fit the range of images of more than eight bits,
    and to choose the backbone with `auto`.
    """
    base = None if plan.load is not None else _opened(labelled, plan, cache, "labelled set")
    source = with_noise_settings(pool, base, plan.seed)
    opened = _opened(source, plan, cache, "pool")
    if plan.link is not None or plan.copy is not None:
        from mixmood.selection.image_folder import images_of

        images_of(opened)
    if base is None:
        return _with_saved_filter(source, opened, plan)
    return _with_labelled(source, opened, base, plan, cache, listener)


def _opened(what: Any, plan: FilterPlan, cache: FeatureCache | None, role: str) -> Pool:
    return open_pool(what, seed=plan.seed, cache=cache, role=role, frames=plan.frames)


def _with_saved_filter(source: Any, pool: Pool, plan: FilterPlan) -> FilterInputs:
    from mixmood.features.backbones.registry import load_backbone
    from mixmood.selection.scorer import load_scorer

    saved = load_scorer(Path(str(plan.load)))
    family = saved.filter.score.family
    if plan.score not in (DEFAULT_SCORE, family):
        raise OptionError(
            f"{plan.load} was fitted with the score {family}; got {plan.score}. Leave the score "
            "out, or fit the filter again."
        )
    network = None
    if saved.backbone and not isinstance(pool, FeatureSource):
        # A file that was moved may be named again; its digest decides whether it is the same.
        is_named = plan.backbone != DEFAULT_BACKBONE and not is_auto(plan.backbone)
        name = plan.backbone if is_named else saved.backbone_name
        network = load_backbone(name, plan.resolution or saved.resolution, plan.device)
    _check_same_network(saved, network, pool, plan)
    return FilterInputs(saved, saved.scaled(pool), source, network)


def _with_labelled(
    source: Any,
    pool: Pool,
    base: Pool,
    plan: FilterPlan,
    cache: FeatureCache | None,
    listener: Listener,
) -> FilterInputs:
    from mixmood.features.backbones.registry import load_backbone

    is_image = not isinstance(pool, FeatureSource)
    if isinstance(base, FeatureSource) == is_image:
        raise ShapeError(
            f"Features cannot be mixed with images: {base.name} and {pool.name} must both be "
            "features, or both images."
        )
    base, pools, _ = scaled_alike(base, {"pool": pool})
    choice = choose_backbone(base, ChoiceOptions.of(plan), cache, listener)
    name = plan.backbone if choice is None else choice.chosen
    network = load_backbone(name, plan.resolution, plan.device) if is_image else None
    return FilterInputs(base, pools["pool"], source, network, choice)


def _check_same_network(
    saved: "Scorer", network: Backbone | None, pool: Pool, plan: FilterPlan
) -> None:
    if not saved.backbone and not isinstance(pool, FeatureSource):
        raise InputError(
            f"{plan.load} was fitted on features, and {pool.name} holds images. Give features of "
            "the same kind, or fit the filter on images."
        )
    if (network_digest(network) if network else "") != saved.backbone:
        is_other = plan.backbone != DEFAULT_BACKBONE or plan.resolution is not None
        can_leave_out = network is not None and is_other
        own = f"Leave out backbone and resolution ({saved.resolution} there), or fit"
        advice = own if can_leave_out else "Fit"
        raise InputError(
            f"{plan.load} was fitted on features of {saved.backbone_name}, which {pool.name} "
            f"cannot give here. {advice} the filter again."
        )
