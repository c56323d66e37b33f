"""How many cores torch may use."""


def limit_threads(n_threads: int) -> None:
    """Let torch compute with so many threads in this process from now on."""
    import torch

    torch.set_num_threads(n_threads)
