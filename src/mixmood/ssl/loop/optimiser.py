"""AdamW for a process that compiles nothing."""

from inspect import unwrap

import torch


class AdamW(torch.optim.AdamW):
    """torch's AdamW without the decorators that import torch's compiler.

    Nothing is compiled here, and `torch._dynamo` takes as long to import as torch itself: each
    process that trains would begin two seconds later.
    """

    add_param_group = unwrap(torch.optim.AdamW.add_param_group)
    zero_grad = unwrap(torch.optim.AdamW.zero_grad)
    state_dict = unwrap(torch.optim.AdamW.state_dict)
    load_state_dict = unwrap(torch.optim.AdamW.load_state_dict)
    step = torch.no_grad()(unwrap(torch.optim.AdamW.step))
