import numpy as np
import pytest
import torch

from mixmood.core.errors import OptionError
from mixmood.ssl.augment import (
    AUGMENTATIONS,
    N_KINDS,
    Augment,
    augmentation,
    rotations,
    strong_augment,
    warp,
)


def batch(n_images=64, channels=3, height=6, width=8):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (n_images, height, width, channels), dtype=np.uint8)
    return torch.from_numpy(pixels).permute(0, 3, 1, 2)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_flips_give_one_of_four_mirror_images_each_about_as_often():
    pixels = batch(400)
    views = AUGMENTATIONS["flips"](pixels, rng())
    mirrors = [pixels, pixels.flip(3), pixels.flip(2), pixels.flip(2, 3)]
    matches = torch.stack([(views == mirror).flatten(1).all(1) for mirror in mirrors])
    assert torch.equal(matches.sum(0), torch.ones(400))
    assert all(70 < count < 130 for count in matches.sum(1).tolist())


def test_a_shift_keeps_the_inside_and_reflects_at_the_edge():
    pixels = torch.arange(8.0).view(1, 1, 1, 8).expand(50, 1, 8, 8)
    views = Augment(pad_share=1 / 8)(pixels, rng())
    rows = {tuple(view[0, 0].tolist()) for view in views}
    assert rows == {
        (0, 1, 2, 3, 4, 5, 6, 7),
        (1, 0, 1, 2, 3, 4, 5, 6),
        (1, 2, 3, 4, 5, 6, 7, 6),
    }


def test_no_augmentation_gives_the_pixels_as_floats():
    pixels = batch()
    views = AUGMENTATIONS["none"](pixels, rng())
    assert views.dtype == torch.float32
    assert torch.equal(views, pixels.float())


def test_a_quarter_turn_is_exact_on_square_images():
    pixels = batch(2, height=6, width=6).float()
    turned = warp(pixels, rotations(np.array([np.pi / 2, -np.pi / 2])))
    assert torch.allclose(turned[0], pixels[0].rot90(1, (1, 2)), atol=1e-2)
    assert torch.allclose(turned[1], pixels[1].rot90(-1, (1, 2)), atol=1e-2)


def test_a_half_turn_is_exact_on_any_image():
    pixels = batch(1).float()
    assert torch.allclose(warp(pixels, rotations(np.array([np.pi]))), pixels.flip(2, 3), atol=1e-2)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_an_augmentation_keeps_shape_and_range_and_depends_on_its_generator_only(name, channels):
    pixels = batch(channels=channels, height=8)
    views = [AUGMENTATIONS[name](pixels, rng(seed)) for seed in (1, 1, 2)]
    assert views[0].shape == pixels.shape
    assert 0 <= views[0].min() <= views[0].max() <= 255
    assert torch.equal(views[0], views[1])
    assert name == "none" or not torch.equal(views[0], views[2])


@pytest.mark.parametrize("channels", [1, 3])
def test_strong_views_stay_within_the_range_of_pixels(channels):
    pixels = batch(channels=channels)
    views = [strong_augment(pixels, rng(seed)) for seed in (1, 1, 2)]
    assert views[0].shape == pixels.shape
    assert 0 <= views[0].min() <= views[0].max() <= 255
    assert torch.equal(views[0], views[1])
    assert not torch.equal(views[0], views[2])


def test_a_strong_view_loses_a_square_to_grey():
    views = strong_augment(torch.full((200, 1, 16, 16), 30.0), rng())
    shares = (views == 127).flatten(1).float().mean(1)
    assert shares.max() == pytest.approx(0.25, abs=0.02)
    assert shares.min() > 0.05
    assert N_KINDS == 12


def test_an_unknown_augmentation_is_refused_with_the_nearest_name():
    with pytest.raises(OptionError, match="Unknown augmentation 'flip'. Did you mean 'flips'"):
        augmentation("flip")


def test_dihedral_gives_each_symmetry_of_the_square_about_as_often():
    pixels = batch(800, height=6, width=6)
    views = AUGMENTATIONS["dihedral"](pixels, rng())
    flipped = [pixels, pixels.flip(3), pixels.flip(2), pixels.flip(2, 3)]
    matches = torch.stack(
        [(views == one).flatten(1).all(1) for f in flipped for one in (f, f.transpose(2, 3))]
    )
    assert torch.equal(matches.sum(0), torch.ones(800))
    assert all(70 < count < 130 for count in matches.sum(1).tolist())
    with pytest.raises(OptionError, match="needs square images; got 6 x 8"):
        AUGMENTATIONS["dihedral"](batch(4), rng())
