"""Models in the form of Hugging Face that are refused, each with the reason."""

import json
from importlib.util import find_spec

import pytest
from tests.fixtures.hub_families import CLIP_TEXT, SMALL

from mixmood.core.errors import BackboneError, OptionError
from mixmood.features.backbones.registry import load_backbone

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


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


def crop_more_than_there_is(folder):
    settings = json.loads((folder / "preprocessor_config.json").read_text())
    settings.update(do_center_crop=True, crop_size={"height": 64, "width": 64})
    settings["image_processor_type"] = "CLIPImageProcessorPil"
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))


def cut_config(folder):
    (folder / "config.json").write_text('{"model_type": ')


def list_config(folder):
    (folder / "config.json").write_text("[1]")


def damage_a_weight(folder):
    """As a training that diverged leaves it."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["layernorm.weight"][0] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_config, "has no config.json, so it is not a model in the format of Hugging Face"),
        (spoil_processor, "has no preprocessor_config.json, which says how images are prepared"),
        (spoil_weights, "transformers cannot load the model in .*vit"),
        (pickle_weights, "only pickled weights, which are never loaded. Save them as safetensors"),
        (bring_code, "brings its own code, which is never run"),
        (lose_a_shard, "lacks 1 of 2 files of weights, such as model-2.safetensors: the download"),
        (change_family, "The weights in .* are not those of a dinov2 model, or not all of them"),
        (forget_size, "does not say the size of its images"),
        (crop_more_than_there_is, "crops 64 pixels out of 32; both must be 1 to 4096, .* Set them"),
        (cut_config, "Cannot read .*config.json: Expecting value.* Fetch or save the model again"),
        (list_config, "config.json: it holds no settings by name. Fetch or save the model again"),
        (damage_a_weight, "vit gave features that are not finite. Check its weights, and the mean"),
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


def test_a_model_that_gives_masks_only_has_no_vector_for_an_image(tmp_path):
    tiny = {"depths": [1] * 4, "num_heads": [1] * 4, "embed_dim": 8, "window_size": 2}
    stages = [f"stage{number}" for number in range(1, 5)]
    layers = {
        f"{part}_{what}": size
        for part in ("encoder", "decoder")
        for what, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    config = transformers.MaskFormerConfig(
        backbone_config=transformers.SwinConfig(image_size=64, out_features=stages, **tiny),
        decoder_config=transformers.DetrConfig(d_model=16, num_queries=4, **layers),
        fpn_feature_size=32,
        mask_feature_size=32,
    )
    settings = {"image_processor_type": "ViTImageProcessorPil", "size": {"height": 64, "width": 64}}
    folder = saved_as(tmp_path, transformers.MaskFormerModel(config), settings)
    message = "gives no vector for an image: its output has encoder_last.* Choose a model of images"
    with pytest.raises(BackboneError, match=message):
        load_backbone(f"hf:{folder}")


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
    with pytest.raises(BackboneError, match="different features each time .* vit_mae masks parts"):
        load_backbone(f"hf:{copied}")


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
