"""Wide-ResNet-50-2 with ImageNet weights: the paper's family of networks.

The network is written to the cache as an ONNX file: only its first use needs torch.
"""

from collections.abc import Iterator
from pathlib import Path

from mixmood.core.cache import cache_directory
from mixmood.core.errors import BackboneError, OutputError, needing
from mixmood.core.files import make_folder, own_place, write_atomic
from mixmood.features.backbones.backbone import check_resolution
from mixmood.features.backbones.onnx_graph import ConvGraph, Weights, folded
from mixmood.features.backbones.onnx_network import OnnxBackbone
from mixmood.features.backbones.view import RESOLUTIONS


def weights_directory() -> Path:
    """The folder of fetched weights, beside the feature cache; it is made if needed."""
    from platformdirs import user_cache_dir

    place = cache_directory() or own_place(user_cache_dir)
    if place is None:
        raise BackboneError(
            "Weights must be kept somewhere, and this user has no home directory. "
            "Name a directory with MIXMOOD_CACHE."
        )
    return make_folder(place / "weights", "Name another directory with MIXMOOD_CACHE.")


NAME = "wide-resnet50-2"
URL = "https://download.pytorch.org/models/wide_resnet50_2-95faca4d.pth"
SHA256_PREFIX = "95faca4d"
EXPORT = "wide_resnet50_2-95faca4d-v1.onnx"
STAGES = (3, 4, 6, 3)
FIRST = 64
EPSILON = 1e-5


def fetch_weights(url: str, sha256_prefix: str) -> Path:
    """The path of the official file, fetched if needed; its sha256 must begin with the prefix."""
    import pooch

    path = weights_directory() / url.rpartition("/")[2]
    if not path.exists():
        pooch.get_logger().setLevel("ERROR")
        try:
            # pooch writes to a temporary name first: a broken connection leaves no file.
            pooch.retrieve(url, known_hash=None, fname=path.name, path=path.parent)
        except Exception as error:
            # The network, the server and the disk raise different errors.
            raise BackboneError(
                f"The backbone {NAME} needs the file {path.name}, which could not be fetched from "
                f"{url} ({type(error).__name__}). Download it by other means and place it at "
                f"{path}."
            ) from error
    digest = pooch.file_hash(str(path))
    if not digest.startswith(sha256_prefix):
        path.unlink(missing_ok=True)
        raise BackboneError(
            f"{path} is damaged or another file: its sha256 must begin with {sha256_prefix} but "
            f"is {digest}. It was removed; run the command again to fetch it."
        )
    return path


def wide_resnet50_2(resolution: int | None = None) -> OnnxBackbone:
    """Wide-ResNet-50-2, 2048 features; the first use fetches 132 MB and needs torch."""
    side = check_resolution(resolution)
    path = weights_directory() / EXPORT
    if not path.exists():
        weights = read_weights(fetch_weights(URL, SHA256_PREFIX))
        write_atomic(path, build(weights, FIRST))
    return OnnxBackbone(NAME, path.read_bytes(), side, resolutions=RESOLUTIONS)


def is_on_this_machine() -> bool:
    """Whether the network was fetched before; False where fetched files cannot be kept."""
    try:
        return (weights_directory() / EXPORT).exists()
    except (BackboneError, OutputError):
        return False


def read_weights(path: Path) -> Weights:
    """The tensors of the official file as float32; nothing in it is executed."""
    with needing(f"The first use of the backbone {NAME}", "train"):
        import torch
    state = torch.load(path, weights_only=True, map_location="cpu")
    return {name: tensor.float().numpy() for name, tensor in state.items()}


def build(weights: Weights, first: int) -> bytes:
    """The network without its classifier as an ONNX file; `first` is its number of first filters.

    A bottleneck has convolutions to `planes` * 2 channels, within these (with the stride), and to
    `planes` * 4 channels. The shortcut is added, then ReLU.
    """
    graph = ConvGraph()
    stem, bias = folded(weights, "conv1", "bn1", EPSILON)
    x = graph.node("Relu", graph.conv(graph.images(), stem, bias, stride=2, pads=(3, 3)))
    x = graph.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for name, stride, _ in bottlenecks(first):
        x = _bottleneck(graph, x, weights, name, stride)
    width = first * 2 ** (len(STAGES) - 1) * 4
    outputs = {"features": (graph.pool(x), width)}
    return graph.save(NAME, outputs, f"{NAME}, ImageNet, pooled features.")


def _bottleneck(graph: ConvGraph, x: str, weights: Weights, name: str, stride: int) -> str:
    inner, shortcut = x, x
    for number, layer_stride, pad in ((1, 1, 0), (2, stride, 1), (3, 1, 0)):
        kernel, bias = folded(weights, f"{name}.conv{number}", f"{name}.bn{number}", EPSILON)
        inner = graph.conv(inner, kernel, bias, stride=layer_stride, pads=(pad, pad))
        inner = inner if number == 3 else graph.node("Relu", inner)
    if f"{name}.downsample.0.weight" in weights:
        kernel, bias = folded(weights, f"{name}.downsample.0", f"{name}.downsample.1", EPSILON)
        shortcut = graph.conv(x, kernel, bias, stride=stride)
    return graph.node("Relu", graph.node("Add", inner, shortcut))


def bottlenecks(first: int = FIRST) -> Iterator[tuple[str, int, int]]:
    """Name, stride and planes of each block."""
    for stage, n_blocks in enumerate(STAGES):
        for block in range(n_blocks):
            stride = 2 if stage and not block else 1
            yield f"layer{stage + 1}.{block}", stride, first * 2**stage
