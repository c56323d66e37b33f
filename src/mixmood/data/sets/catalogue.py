"""The paper's data sets: addresses, digests, licences and citations.

Digests are those published with the data or by several independent projects that use it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set: URLs in the order to try, and the SHA-256 of its content.

    `sha256` is None if none is published: the file is then not verified.
    """

    name: str
    urls: tuple[str, ...]
    n_bytes: int
    sha256: str | None


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue; `form` names its reader in `mixmood.data.sets.unpack`."""

    name: str
    title: str
    form: str
    files: tuple[RemoteFile, ...]
    n_images: int
    shape: tuple[int, ...]
    licence: str
    citation: str
    class_names: tuple[str, ...] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes to download."""
        return sum(file.n_bytes for file in self.files)

    @property
    def n_unpacked(self) -> int:
        """Bytes of its pixels."""
        n_pixels = self.n_images
        for length in self.shape:
            n_pixels *= length
        return n_pixels


def _idx_pair(
    bases: tuple[str, ...], images: tuple[int, str], labels: tuple[int, str]
) -> tuple[RemoteFile, ...]:
    names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    return tuple(
        RemoteFile(name, tuple(base + name for base in bases), n_bytes, sha256)
        for name, (n_bytes, sha256) in zip(names, (images, labels), strict=True)
    )


_SETS = (
    DataSet(
        name="mnist",
        title="MNIST, training images",
        form="idx",
        files=_idx_pair(
            (
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "http://yann.lecun.com/exdb/mnist/",
            ),
            (9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            (28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ),
        n_images=60_000,
        shape=(28, 28),
        licence="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document "
        "recognition. Proceedings of the IEEE 86, 1998.",
    ),
    DataSet(
        name="fashion_mnist",
        title="FashionMNIST, training images",
        form="idx",
        files=_idx_pair(
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            ),
            (26_421_880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            (29_515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ),
        n_images=60_000,
        shape=(28, 28),
        licence="MIT",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST, a novel image dataset for benchmarking "
        "machine learning algorithms. 2017.",
        class_names=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
    ),
    DataSet(
        name="cifar10",
        title="CIFAR-10, training images, binary version",
        form="cifar",
        files=(
            RemoteFile(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                170_052_171,
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        n_images=50_000,
        shape=(32, 32, 3),
        licence="none stated; cite the report",
        citation="Krizhevsky: Learning multiple layers of features from tiny images. 2009.",
    ),
    DataSet(
        name="svhn",
        title="Street View House Numbers, cropped training digits",
        form="svhn",
        files=(
            RemoteFile(
                "train_32x32.mat",
                ("http://ufldl.stanford.edu/housenumbers/train_32x32.mat",),
                182_040_794,
                "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
            ),
        ),
        n_images=73_257,
        shape=(32, 32, 3),
        licence="non-commercial use only",
        citation="Netzer et al.: Reading digits in natural images with unsupervised feature "
        "learning. NIPS workshop, 2011.",
    ),
    DataSet(
        name="tiny_imagenet",
        title="Tiny ImageNet, training images",
        form="tiny-imagenet",
        files=(
            RemoteFile(
                "tiny-imagenet-200.zip",
                (
                    "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
                    "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
                ),
                248_100_043,
                "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
            ),
        ),
        n_images=100_000,
        shape=(64, 64, 3),
        licence="non-commercial research, as ImageNet",
        citation="Deng et al.: ImageNet, a large-scale hierarchical image database. CVPR 2009.",
    ),
    DataSet(
        name="fashion_product",
        title="Fashion Product Images (small)",
        form="fashion-product",
        files=(
            RemoteFile(
                "fashion-product-images-small.zip",
                (
                    "https://www.kaggle.com/api/v1/datasets/download/paramaggarwal/"
                    "fashion-product-images-small",
                ),
                593_000_000,
                None,
            ),
        ),
        n_images=44_441,
        shape=(80, 60, 3),
        licence="see its page; treat as non-commercial research",
        citation="Aggarwal: Fashion Product Images (small). Kaggle, 2019.",
    ),
)

CATALOGUE = {entry.name: entry for entry in _SETS}
