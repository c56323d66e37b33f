"""The accuracy of a model."""

import numpy as np
import torch
from torch import Tensor, nn

from mixmood.ssl.input.images import Images
from mixmood.ssl.loop.standardise import Standardise

BATCH = 256


@torch.inference_mode()
def accuracy(model: nn.Module, images: Images, codes: Tensor, standardise: Standardise) -> float:
    """The share of images whose predicted class is right; batch-norm uses running statistics."""
    was_training = model.training
    model.eval()
    device = codes.device
    n_right = torch.zeros((), dtype=torch.long, device=device)
    for start in range(0, len(images), BATCH):
        rows = np.arange(start, min(start + BATCH, len(images)))
        logits = model(standardise(images.batch(rows).to(device).float()))
        n_right += (logits.argmax(dim=1) == codes[start : start + BATCH]).sum()
    model.train(was_training)
    return int(n_right) / len(images)
