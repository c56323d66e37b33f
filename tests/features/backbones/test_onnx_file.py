"""Networks of users: what they tell about their input, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from mixmood.core.errors import BackboneError, OptionError
from mixmood.features.backbones.onnx_file import is_onnx_file
from mixmood.features.backbones.registry import load_backbone

onnx = pytest.importorskip("onnx", reason="building graphs needs the extra dev")
helper, FLOAT, UINT8 = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.UINT8


@pytest.fixture
def save(tmp_path):
    """Writes a network; by default one that gives the mean of each channel."""

    def write(shape=("n", 3, 64, 64), kind=FLOAT, nodes=None, outputs=None, about=None, tensors=()):
        axes = [2, 3] if shape[1] == 3 else [1, 2]
        nodes = nodes or [
            helper.make_node("Cast", ["x"], ["f"], to=FLOAT),
            helper.make_node("ReduceMean", ["f"], ["y"], axes=axes, keepdims=0),
        ]
        outputs = outputs or [("y", FLOAT, ["n", 3])]
        graph = helper.make_graph(
            nodes,
            "net",
            [helper.make_tensor_value_info("x", kind, list(shape))],
            [helper.make_tensor_value_info(*output) for output in outputs],
            list(tensors),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, about or {})
        path = tmp_path / "net.onnx"
        path.write_bytes(model.SerializeToString())
        return str(path)

    return write


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, size=(5, 64, 64, 3), dtype=np.uint8)


def means(images):
    return images.mean(axis=(1, 2), dtype=np.float64)


@pytest.mark.parametrize("shape", [("n", 3, 64, 64), ("n", 64, 64, 3), ("n", "h", "w", 3)])
def test_the_graph_tells_layout_and_size(save, images, shape):
    backbone = load_backbone(save(shape) + "?range=255", 64)
    assert (backbone.width, backbone.resolution, backbone.name) == (3, 64, "net.onnx")
    assert np.allclose(backbone.embed(images), means(images), atol=1e-3)


def test_pixels_reach_a_network_of_bytes_as_they_are(save, images):
    backbone = load_backbone(save(("n", 64, 64, 3), UINT8))
    assert np.allclose(backbone.embed(images), means(images), atol=1e-3)
    assert backbone.describe()["input"] == {"layout": "nhwc"}


def test_words_after_the_question_mark_tell_range_mean_and_deviation(save, images):
    backbone = load_backbone(save() + "?range=1&mean=0.5,0.4,0.3&std=0.25")
    wanted = (means(images) / 255 - [0.5, 0.4, 0.3]) / 0.25
    assert np.allclose(backbone.embed(images), wanted, atol=1e-4)


def test_the_files_own_properties_tell_the_same_and_typed_words_win(save, images):
    about = {"mixmood.range": "1", "mixmood.mean": "0.5", "author": "someone"}
    path = save(
        ("n", "c", "h", "w"),
        nodes=[helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)],
        about={**about, "mixmood.layout": "NCHW"},
    )
    assert np.allclose(load_backbone(path, 64).embed(images), means(images) / 255 - 0.5, atol=1e-4)
    typed = load_backbone(path + "?mean=0", 64)
    assert np.allclose(typed.embed(images), means(images) / 255, atol=1e-4)
    assert typed.describe()["input"]["mean"] == (0.0, 0.0, 0.0)


def test_a_network_for_any_size_takes_the_size_asked_for_or_told_or_the_usual_one(save):
    path = save(("n", 3, "h", "w")) + "?range=1"
    assert load_backbone(path).resolution == 96
    assert load_backbone(path + "&resolution=70").resolution == 70
    assert load_backbone(path + "&resolution=70", 128).resolution == 128


def test_maps_of_features_are_averaged(save, images):
    identity = [helper.make_node("Identity", ["x"], ["y"])]
    first = save(nodes=identity, outputs=[("y", FLOAT, ["n", 3, 64, 64])])
    assert np.allclose(load_backbone(first + "?range=255").embed(images), means(images), atol=1e-3)
    last = save(("n", 64, 64, 3), nodes=identity, outputs=[("y", FLOAT, ["n", 64, 64, 3])])
    assert np.allclose(load_backbone(last + "?range=255").embed(images), means(images), atol=1e-3)


def test_another_output_can_be_named(save, images):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    path = save(nodes=nodes, outputs=[("y", FLOAT, ["n", 3]), ("z", FLOAT, ["n", 3])])
    negative = load_backbone(path + "?range=255&output=z")
    assert np.allclose(negative.embed(images), -means(images), atol=1e-3)
    assert negative.fingerprint != load_backbone(path + "?range=255").fingerprint
    with pytest.raises(OptionError, match="Unknown output 'a'"):
        load_backbone(path + "?range=255&output=a")


def test_a_network_of_one_size_offers_one_view(save):
    backbone = load_backbone(save() + "?range=255")
    assert [str(view) for view in backbone.views()] == ["64 px, last"]


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_network_for_a_fixed_batch_gets_full_batches(save, images, size):
    backbone = load_backbone(save((size, 3, 64, 64)) + "?range=255")
    assert backbone.batch_size == size
    assert np.allclose(backbone.embed(images), means(images), atol=1e-3)


def test_features_of_a_dense_network_do_not_depend_on_the_batch_by_a_single_bit(save, images, rng):
    """Matrix products of one row and of many take different ways through the library."""
    weight = onnx.numpy_helper.from_array(
        rng.normal(size=(3 * 64 * 64, 50)).astype(np.float32), "w"
    )
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["y"]),
    ]
    path = save(nodes=nodes, outputs=[("y", FLOAT, ["n", 50])], tensors=[weight])
    backbone = load_backbone(path + "?range=1")
    together = backbone.embed(images)
    for size in (1, 2):
        parts = [backbone.embed(images[i : i + size]) for i in range(0, 5, size)]
        assert np.array_equal(np.concatenate(parts), together)


def test_the_fingerprint_tells_weights_format_and_size_but_not_the_files_name(save, tmp_path):
    path = save(("n", 3, "h", "w"))
    one = load_backbone(path + "?range=1", 64)
    (tmp_path / "copy.onnx").write_bytes((tmp_path / "net.onnx").read_bytes())
    assert load_backbone(f"{tmp_path}/copy.onnx?range=1", 64).fingerprint == one.fingerprint
    others = [load_backbone(path + "?range=255", 64), load_backbone(path + "?range=1", 96)]
    assert one.fingerprint not in {other.fingerprint for other in others}


def test_a_name_is_a_file_by_its_ending():
    assert is_onnx_file("a/B.ONNX?range=1")
    assert not is_onnx_file("efficientnet-lite0")


def refuses(name, error, match, resolution=None):
    with pytest.raises(error, match=match):
        load_backbone(name, resolution).embed(np.zeros((1, 64, 64, 3), np.uint8))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    refuses(f"{tmp_path}/no.onnx", BackboneError, "Cannot read the backbone .*No such file")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff" * 100, "not an ONNX file"),
        (b"\x3a\xff\x01short", "the file ends before its content does"),
        (b"\x3b", "not an ONNX file"),
        (b"\x38", "the file ends before its content does"),
        (b"\x3a\x02\x0a\x00" * 3, "cannot load"),
        (b"", "cannot load"),
    ],
)
def test_a_file_that_is_no_network_is_refused(tmp_path, content, reason):
    (tmp_path / "x.onnx").write_bytes(content)
    refuses(f"{tmp_path}/x.onnx", BackboneError, reason)


def test_a_file_of_endlessly_nested_graphs_is_refused(tmp_path):
    inner = b""
    for field in [0x32, 0x2A, 0x0A] * 70:  # attribute.g, node.attribute, graph.node
        size = len(inner)
        length = bytes([size & 0x7F | 0x80, size >> 7]) if size > 127 else bytes([size])
        inner = bytes([field]) + length + inner
    size = len(inner)
    (tmp_path / "x.onnx").write_bytes(b"\x3a" + bytes([size & 0x7F | 0x80, size >> 7]) + inner)
    refuses(f"{tmp_path}/x.onnx", BackboneError, "nested too deeply")


@pytest.mark.parametrize("place", ["initializer", "attribute"])
def test_weights_in_another_file_are_refused(save, place):
    """The location may be any path of this machine."""
    weight = onnx.numpy_helper.from_array(np.ones((1, 3), np.float32), "w")
    onnx.external_data_helper.set_external_data(weight, location="../secret")
    weight.ClearField("raw_data")
    mean = helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0)
    add = helper.make_node("Add", ["m", "w"], ["y"])
    if place == "initializer":
        path = save(nodes=[mean, add], tensors=[weight])
    else:
        path = save(nodes=[mean, helper.make_node("Constant", [], ["w"], value=weight), add])
    refuses(path, BackboneError, "weights in another file")


def test_a_field_number_of_more_than_32_bits_does_not_hide_weights_in_another_file(tmp_path):
    """ONNX Runtime drops the bits above: it would read the field 13, `external_data`."""
    field = b"\xea\x80\x80\x80\x10"  # 2 ** 32 + 13 * 8 + 2
    tensor = field + b"\x0a" + b"\x0a\x08" + b"location"
    model = b"\x3a" + bytes([len(tensor) + 2]) + b"\x2a" + bytes([len(tensor)]) + tensor
    (tmp_path / "x.onnx").write_bytes(model)
    refuses(f"{tmp_path}/x.onnx", BackboneError, r"x\.onnx is not an ONNX file")


def test_a_float_network_that_does_not_say_its_range_is_refused_with_an_example(save):
    refuses(save(), BackboneError, r"float32 .* in which range.*\?range=1&mean=")


@pytest.mark.parametrize("shape", [("n", "c", "h", "w"), ("n", 3, 64, 3), ("n", 1, 64, 64)])
def test_a_graph_that_does_not_show_its_layout_is_refused(save, shape):
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)]
    refuses(save(shape, nodes=nodes) + "?range=1", BackboneError, r"\?layout=nchw")


def test_images_of_another_size_than_the_graphs_are_refused(save):
    refuses(save() + "?range=1", BackboneError, "64 x 64 pixels; squares of 96 do not fit", 96)
    refuses(save(("n", 3, 64, 32)) + "?range=1", BackboneError, "64 x 32 pixels; squares")


def test_a_graph_of_other_inputs_is_refused(save):
    refuses(
        save(("n", 3), nodes=[helper.make_node("Identity", ["x"], ["y"])]),
        BackboneError,
        "one input, a batch of images with four axes",
    )


def test_a_graph_of_other_outputs_is_refused(save):
    nodes = [helper.make_node("ReduceMean", ["x"], ["y"], axes=[2], keepdims=0)]
    path = save(nodes=nodes, outputs=[("y", FLOAT, ["n", 3, 64])])
    refuses(path + "?range=1", BackboneError, r"Output 'y' .* got float32 \(16, 3, 64\)")


def test_features_that_are_not_finite_are_refused(save):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("Log", ["m"], ["y"]),
    ]
    refuses(save(nodes=nodes) + "?range=1", BackboneError, "not finite")


def test_a_size_that_the_layers_cannot_take_is_refused(save):
    kernel = onnx.numpy_helper.from_array(np.ones((1, 3, 100, 100), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    path = save(("n", 3, "h", "w"), nodes=nodes, outputs=[("y", FLOAT, None)], tensors=[kernel])
    refuses(path + "?range=1", BackboneError, "cannot embed images of 64 x 64 pixels", 64)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ("rnge=1", "Unknown option of an ONNX file 'rnge'. Did you mean 'range'"),
        ("range=1&layout=nhcw", "Unknown layout 'nhcw'. Did you mean"),
        ("range=0", "range must be one positive number; got '0'"),
        ("range=1&resolution=96.7", "resolution must be one positive whole number; got '96.7'"),
        ("range=1&resolution=inf", "resolution must be one positive whole number; got 'inf'"),
        ("range=white", "range must be one positive number; got 'white'"),
        ("range=1&mean=1,2", "mean must be one or three numbers .* got '1,2'"),
        ("range=1&std=0", "std must be one or three positive numbers .* got '0'"),
        ("range=1&std=nan", "std must be one or three positive numbers .* got 'nan'"),
    ],
)
def test_words_without_meaning_are_refused(save, words, match):
    refuses(f"{save()}?{words}", OptionError, match)


def test_normalising_bytes_is_refused(save):
    path = save(("n", 64, 64, 3), UINT8)
    refuses(path + "?mean=3&std=2", OptionError, "leave out mean and std")


def test_a_graph_without_outputs_is_refused(save):
    model = onnx.load(save())
    del model.graph.output[:]
    path = save()
    onnx.save(model, path)
    refuses(path, BackboneError, "has no output|cannot load")


@pytest.mark.parametrize("length", [0, 2**40])
def test_a_graph_for_impossible_batches_is_refused(save, length):
    refuses(save((length, 64, 64, 3), UINT8), BackboneError, f"batches of {length} images; 1 to")


def test_a_resolution_beyond_all_images_is_refused(save):
    path = save(("n", "h", "w", 3), UINT8, about={"mixmood.resolution": "1e9"})
    refuses(path, BackboneError, "squares of 1000000000 do not fit")


def test_names_that_are_no_text_are_refused(save):
    path = save(("n", 64, 64, 3), UINT8, about={"mixmood.layout": "nhwc"})
    content = Path(path).read_bytes().replace(b"nhwc", b"nh\xffc")
    Path(path).write_bytes(content)
    refuses(path, BackboneError, "ONNX Runtime cannot load")
