"""Declares torchvision's compiled operators; import it before torchvision.

They cannot be loaded with the CPU build of torch. Nothing that is measured calls them, but
torchvision cannot be imported until they are declared.
"""

import torch

OPERATORS = torch.library.Library("torchvision", "DEF")
for declared in (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor i, Tensor r, float s, SymInt h, SymInt w, int n, bool a) -> Tensor",
    "roi_pool(Tensor i, Tensor r, float s, SymInt h, SymInt w) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor i, Tensor r, float s, SymInt h, SymInt w, int n) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor i, Tensor r, float s, SymInt h, SymInt w) -> (Tensor, Tensor)",
    "_roi_align_backward(Tensor g, Tensor r, float s, SymInt h, SymInt w, SymInt b, SymInt c, "
    "SymInt y, SymInt x, int n, bool a) -> Tensor",
    "_roi_pool_backward(Tensor g, Tensor r, Tensor m, float s, SymInt h, SymInt w, SymInt b, "
    "SymInt c, SymInt y, SymInt x) -> Tensor",
    "_ps_roi_align_backward(Tensor g, Tensor r, Tensor m, float s, SymInt h, SymInt w, int n, "
    "SymInt b, SymInt c, SymInt y, SymInt x) -> Tensor",
    "_ps_roi_pool_backward(Tensor g, Tensor r, Tensor m, float s, SymInt h, SymInt w, SymInt b, "
    "SymInt c, SymInt y, SymInt x) -> Tensor",
    "deform_conv2d(Tensor i, Tensor w, Tensor o, Tensor m, Tensor b, SymInt sh, SymInt sw, "
    "SymInt ph, SymInt pw, SymInt dh, SymInt dw, SymInt g, SymInt og, bool u) -> Tensor",
    "_deform_conv2d_backward(Tensor d, Tensor i, Tensor w, Tensor o, Tensor m, Tensor b, "
    "SymInt sh, SymInt sw, SymInt ph, SymInt pw, SymInt dh, SymInt dw, SymInt g, SymInt og, "
    "bool u) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
):
    OPERATORS.define(declared)
