"""Models in the form of Hugging Face: tiny random ones of four families, saved to a folder."""

import json
import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from mixmood.core.errors import BackboneError, MissingExtraError, OptionError
from mixmood.data.pools.open import open_pool
from mixmood.features.backbones.hub import find
from mixmood.features.backbones.hub.inputs import PixelSteps, agrees, processed, steps_of
from mixmood.features.backbones.registry import load_backbone
from mixmood.features.extraction.extract import extract

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 32,
    "patch_size": 8,
}
CLIP_TEXT = {key: SMALL[key] for key in list(SMALL)[:4]} | {"vocab_size": 99, "eos_token_id": 2}


def vit():
    model = transformers.ViTModel(transformers.ViTConfig(**SMALL))
    return model, transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})


def dinov2():
    options = {**SMALL, "image_size": 28, "patch_size": 14}
    model = transformers.Dinov2Model(transformers.Dinov2Config(**options))
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 28, "width": 28}}
    return model, transformers.BitImageProcessorPil(**size)


def convnext():
    config = transformers.ConvNextConfig(hidden_sizes=[4, 4, 8, 8], depths=[1, 1, 1, 1])
    processor = transformers.ConvNextImageProcessorPil(size={"shortest_edge": 56})
    return transformers.ConvNextModel(config), processor


def clip():
    config = transformers.CLIPConfig(
        vision_config={**SMALL, "projection_dim": 12},
        text_config={**CLIP_TEXT, "bos_token_id": 1},
        projection_dim=12,
    )
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    return transformers.CLIPModel(config), transformers.CLIPImageProcessorPil(**size)


FAMILIES = {"vit": vit, "dinov2": dinov2, "convnext": convnext, "clip": clip}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a model of each family."""
    folders = {}
    transformers.utils.logging.disable_progress_bar()
    for name, make in FAMILIES.items():
        torch.manual_seed(0)
        model, processor = make()
        folders[name] = tmp_path_factory.mktemp("models") / name
        model.save_pretrained(folders[name])
        processor.save_pretrained(folders[name])
    return folders


@pytest.fixture
def copied(saved, tmp_path):
    """A folder of the ViT that a test may spoil."""
    return shutil.copytree(saved["vit"], tmp_path / "vit")


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
    again = extract(pool, range(6), load_backbone(f"hf:{copied}"), cache=cache)
    assert (first.n_computed, again.n_cached) == (6, 6), "the same files in another folder"
    settings = json.loads((copied / "preprocessor_config.json").read_text())
    settings["image_mean"] = [0.4, 0.4, 0.4]
    (copied / "preprocessor_config.json").write_text(json.dumps(settings))
    other = extract(pool, range(6), load_backbone(f"hf:{copied}"), cache=cache)
    assert other.n_computed == 6
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
    monkeypatch.setattr("mixmood.features.backbones.hub.model.agrees", lambda *_: False)
    careful = load_backbone(f"hf:{copied}")
    assert np.allclose(plain.embed(images(3, 32)), careful.embed(images(3, 32)), atol=1e-5)


def test_steps_that_differ_from_the_processor_are_noticed(saved):
    processor = transformers.AutoImageProcessor.from_pretrained(saved["dinov2"])
    steps = steps_of(processor.to_dict())
    assert agrees(steps, processor)
    assert not agrees(PixelSteps(32, 28, 1 / 255, (0.0,) * 3, (1.0,) * 3), processor)
    assert not agrees(PixelSteps(32, 32, steps.factor, steps.mean, steps.std), processor)


def spoil_config(folder):
    (folder / "config.json").unlink()


def spoil_processor(folder):
    (folder / "preprocessor_config.json").unlink()


def spoil_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:2000])


def pickle_weights(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def bring_code(folder):
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling.Evil"}
    (folder / "config.json").write_text(json.dumps(config))


def lose_a_shard(folder):
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def change_family(folder):
    config = json.loads((folder / "config.json").read_text())
    config.update(model_type="dinov2", architectures=["Dinov2Model"])
    (folder / "config.json").write_text(json.dumps(config))


def forget_size(folder):
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    settings["do_resize"] = False
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_config, "has no config.json, so that it is no model in the form of Hugging Face"),
        (spoil_processor, "has no preprocessor_config.json, which says how images are prepared"),
        (spoil_weights, "transformers cannot load the model in .*vit"),
        (pickle_weights, "only pickled weights, which are never loaded. Save them as safetensors"),
        (bring_code, "brings its own program, which is never run"),
        (lose_a_shard, "lacks 1 of 2 files of weights, such as model-2.safetensors: the download"),
        (change_family, "The weights in .* are not those of a dinov2 model, or not all of them"),
        (forget_size, "names no size of its images"),
    ],
)
def test_a_spoilt_folder_is_refused(copied, spoil, message):
    spoil(copied)
    with pytest.raises(BackboneError, match=message):
        load_backbone(f"hf:{copied}")


def test_a_model_of_texts_gives_no_vector_for_an_image(copied):
    config = transformers.BertConfig(**CLIP_TEXT)
    transformers.BertModel(config).save_pretrained(copied)
    with pytest.raises(BackboneError, match="cannot embed an image"):
        load_backbone(f"hf:{copied}")


def saved_as(folder, model, settings):
    """The folder of a model whose processor is written as settings alone."""
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_family_whose_processor_needs_torchvision_is_refused_by_name(tmp_path):
    model = transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**SMALL))
    settings = {"image_processor_type": "DINOv3ViTImageProcessorFast", "size": {"height": 32}}
    folder = saved_as(tmp_path, model, settings)
    message = r"dinov3_vit models cannot be used: .* torchvision only.* such as DINOv2"
    with pytest.raises(BackboneError, match=message):
        load_backbone(f"hf:{folder}")


def test_settings_that_are_no_processor_are_refused(copied):
    (copied / "preprocessor_config.json").write_text('{"image_processor_type": "Nonsense"}')
    with pytest.raises(BackboneError, match="image processor in .* cannot be used: .* Save it aga"):
        load_backbone(f"hf:{copied}")


def test_a_model_that_hides_parts_of_images_at_random_is_refused(copied):
    transformers.ViTMAEModel(transformers.ViTMAEConfig(**SMALL)).save_pretrained(copied)
    with pytest.raises(BackboneError, match="other features each time .* vit_mae hides parts"):
        load_backbone(f"hf:{copied}")


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

    def no_memory(batch):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(backbone, "_output", no_memory)
    with pytest.raises(BackboneError, match="needs more memory on the device cpu than there is"):
        backbone.embed(images(2, 32))


def test_another_error_of_torch_is_not_taken_for_a_lack_of_memory(saved, monkeypatch):
    backbone = load_backbone(f"hf:{saved['vit']}")

    def broken(batch):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(backbone, "_output", broken)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        backbone.embed(images(2, 32))


def test_options_that_do_not_fit_are_refused(saved):
    with pytest.raises(OptionError, match="takes images of 32 pixels a side, .*; got 96"):
        load_backbone(f"hf:{saved['vit']}", resolution=96)
    with pytest.raises(OptionError, match="Unknown device of a model of the hub 'coreml'"):
        load_backbone(f"hf:{saved['vit']}", device="coreml")
    with pytest.raises(OptionError, match="written hf:NAME, hf:NAME@REVISION or hf:DIR; got"):
        load_backbone("hf:no such folder")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_card_that_is_not_there_is_refused_and_auto_does_without(saved):
    with pytest.raises(BackboneError, match="The device cuda cannot be used: torch finds none"):
        load_backbone(f"hf:{saved['vit']}", device="cuda")
    assert load_backbone(f"hf:{saved['vit']}", device="auto").device in ("cpu", "mps")


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
    with pytest.raises(BackboneError, match="has no config.json, so that it is no model"):
        find.model_folder("hf:google/vit")


def test_without_the_package_of_the_hub_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"Models of the hub needs .*mixmood\[hf\]"):
        find.model_folder("hf:google/vit")


def test_without_a_copy_and_a_network_the_error_says_what_to_do(monkeypatch):
    def snapshot(name, *, local_files_only, **_):
        raise OSError("offline")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    message = r"google/vit is not on this machine .* Connect once, or copy .* give hf:DIR"
    with pytest.raises(BackboneError, match=message):
        find.model_folder("hf:google/vit")
