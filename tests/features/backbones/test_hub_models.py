"""Models in the form of Hugging Face: tiny random ones of four families, saved to a folder."""

import json
import sys

import numpy as np
import pytest
from tests.fixtures.counted_pool import extract, n_embedded
from tests.fixtures.hub_families import CLIP_TEXT, FAMILIES, SMALL

from mixmood.core.errors import BackboneError, MissingExtraError
from mixmood.data.open import open_pool
from mixmood.features.backbones import hub_files as find
from mixmood.features.backbones.hub_model import PixelSteps, agrees, processed, steps_of
from mixmood.features.backbones.registry import load_backbone

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def images(n_images, side):
    return np.random.default_rng(0).integers(0, 256, (n_images, side, side, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("family", "side", "width", "pooling"),
    [
        ("vit", 32, 16, "pooled output"),
        ("dinov2", 32, 16, "pooled output"),
        ("convnext", 64, 8, "pooled output"),
        ("clip", 32, 12, "image embedding"),
    ],
)
def test_a_model_of_a_family_gives_the_features_of_a_plain_loop(
    saved, family, side, width, pooling
):
    backbone = load_backbone(f"hf:{saved[family]}")
    assert (backbone.resolution, backbone.width) == (side, width)
    about = backbone.describe()
    assert (about["pooling"], about["device"]) == (pooling, "cpu")
    assert about["family"].startswith(family)
    batch = images(5, side)
    processor = transformers.AutoImageProcessor.from_pretrained(saved[family])
    tower = transformers.CLIPVisionModelWithProjection if family == "clip" else FAMILIES[family]
    if family != "clip":
        tower = type(FAMILIES[family]()[0])
    pixels = torch.from_numpy(processed(processor, batch))
    with torch.inference_mode():
        output = tower.from_pretrained(saved[family]).eval()(pixel_values=pixels)
    expected = output.image_embeds if family == "clip" else output.pooler_output.flatten(1)
    assert np.allclose(backbone.embed(batch), expected.numpy(), atol=1e-4)


def test_features_do_not_depend_on_how_many_images_come_at_once(saved):
    backbone = load_backbone(f"hf:{saved['vit']}")
    batch = images(9, 32)
    alone = np.concatenate([backbone.embed(batch[k : k + 1]) for k in range(9)])
    assert np.array_equal(backbone.embed(batch), alone)
    assert backbone.embed(batch[:0]).shape == (0, 16)


def test_features_are_kept_in_the_cache_under_weights_and_settings(saved, copied, cache):
    pool = open_pool(images(6, 20))
    first = extract(pool, range(6), load_backbone(f"hf:{saved['vit']}"), cache=cache)
    again = n_embedded(pool, range(6), load_backbone(f"hf:{copied}"), cache=cache)
    assert (cache.info().n_images, again) == (6, 0), "the same files in another folder"
    settings = json.loads((copied / "preprocessor_config.json").read_text())
    settings["image_mean"] = [0.4, 0.4, 0.4]
    (copied / "preprocessor_config.json").write_text(json.dumps(settings))
    other = extract(pool, range(6), load_backbone(f"hf:{copied}"), cache=cache)
    assert cache.info().n_images == 12
    assert not np.array_equal(other.features, first.features)


def test_without_weights_of_its_pooler_a_model_gives_its_class_token(saved, copied):
    from safetensors.torch import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    kept = {key: value for key, value in weights.items() if "pooler" not in key}
    save_file(kept, copied / "model.safetensors", metadata={"format": "pt"})
    backbone = load_backbone(f"hf:{copied}")
    assert backbone.describe()["pooling"] == "class token"
    again = load_backbone(f"hf:{copied}")
    assert np.array_equal(backbone.embed(images(2, 32)), again.embed(images(2, 32)))


def test_a_processor_that_does_more_than_the_usual_steps_is_used_itself(copied, monkeypatch):
    plain = load_backbone(f"hf:{copied}")
    monkeypatch.setattr("mixmood.features.backbones.hub_model.agrees", lambda *_: False)
    careful = load_backbone(f"hf:{copied}")
    assert np.allclose(plain.embed(images(3, 32)), careful.embed(images(3, 32)), atol=1e-5)


def test_steps_that_differ_from_the_processor_are_noticed(saved):
    processor = transformers.AutoImageProcessor.from_pretrained(saved["dinov2"])
    steps = steps_of(processor.to_dict())
    assert agrees(steps, processor)
    assert not agrees(PixelSteps(32, 28, 1 / 255, (0.0,) * 3, (1.0,) * 3), processor)
    assert not agrees(PixelSteps(32, 32, steps.factor, steps.mean, steps.std), processor)


def test_of_a_model_of_images_and_texts_the_image_part_is_used(copied):
    config = transformers.ChineseCLIPConfig(
        vision_config=SMALL, text_config=CLIP_TEXT, projection_dim=12
    )
    transformers.ChineseCLIPModel(config).save_pretrained(copied)
    backbone = load_backbone(f"hf:{copied}")
    assert (backbone.width, backbone.describe()["pooling"]) == (12, "image embedding")
    assert backbone.embed(images(3, 32)).std(axis=0).max() > 0


def test_batches_are_halved_where_memory_does_not_suffice(saved, monkeypatch):
    backbone = load_backbone(f"hf:{saved['vit']}")
    whole, run = backbone.embed(images(40, 32)), backbone._output
    backbone.use_device("cpu")
    assert backbone.batch_size == 64

    def short_of_memory(batch):
        if len(batch) > 20:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return run(batch)

    monkeypatch.setattr(backbone, "_output", short_of_memory)
    assert np.allclose(backbone.embed(images(40, 32)), whole, atol=1e-5)
    assert backbone.batch_size == 16


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        (
            "DefaultCPUAllocator: can't allocate memory",
            BackboneError,
            "needs more memory on the device cpu than there is",
        ),
        ("shapes do not fit", RuntimeError, "shapes do not fit"),
    ],
)
def test_only_a_lack_of_memory_is_called_so(said, error, message, saved, monkeypatch):
    backbone = load_backbone(f"hf:{saved['vit']}")

    def broken(batch):
        raise RuntimeError(said)

    monkeypatch.setattr(backbone, "_output", broken)
    with pytest.raises(error, match=message):
        backbone.embed(images(2, 32))


def test_a_name_is_looked_for_on_this_machine_first(saved, monkeypatch):
    asked = []

    def snapshot(name, *, revision, local_files_only, **_):
        asked.append((name, revision, local_files_only))
        return str(saved["vit"])

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert load_backbone("hf:google/vit@v1.0").width == 16
    assert asked == [("google/vit", "v1.0", True)]


def test_a_copy_that_was_fetched_in_part_is_completed(saved, copied, monkeypatch):
    (copied / "preprocessor_config.json").unlink()

    def snapshot(name, *, local_files_only, **_):
        return str(copied if local_files_only else saved["vit"])

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    assert find.model_folder("hf:google/vit") == saved["vit"]


def test_without_a_network_what_is_wrong_with_a_copy_is_said(copied, monkeypatch):
    (copied / "config.json").unlink()

    def snapshot(name, *, local_files_only, **_):
        if not local_files_only:
            raise OSError("offline")
        return str(copied)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(BackboneError, match="has no config.json, so it is not a model"):
        find.model_folder("hf:google/vit")


def test_without_the_package_of_the_hub_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"Models of the hub needs .*mixmood\[hf\]"):
        find.model_folder("hf:google/vit")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_the_packages_that_compute_the_extra_is_named(saved, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"Models of the hub needs .*mixmood\[hf\]"):
        load_backbone(f"hf:{saved['vit']}")


def test_without_a_copy_and_a_network_the_error_says_what_to_do(monkeypatch):
    def snapshot(name, *, local_files_only, **_):
        raise OSError("offline")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    message = r"google/vit is not on this machine .* Connect once, or copy .* give hf:DIR"
    with pytest.raises(BackboneError, match=message):
        find.model_folder("hf:google/vit")
