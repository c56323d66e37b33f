"""All benchmarks by name: the function that runs them, and what they are about.

A function takes an `Effort`, gives a list of `Row`, and may raise `SkippedError`. It is named and
not imported here: a case runs in a process of its own, which loads only what it needs.
"""

CASES: dict[str, tuple[str, str]] = {
    "small": ("speed.extraction:small", "files to features, small JPEGs"),
    "photos": ("speed.extraction:photos", "files to features at 224 pixels, photographs"),
    "large": ("speed.extraction:large", "files to features, large JPEGs"),
    "torch": ("speed.eager:against_torch", "the same in eager PyTorch"),
    "hub": ("speed.hub_models:against_plain_loop", "a model of the hub in a plain torch loop"),
    "measures": ("speed.distances:four_measures", "four measures against plain loops"),
    "each-measure": ("speed.each_measure:each_measure", "each measure with intervals and p-values"),
    "kid": ("speed.fidelity:against_kid", "the same decision by torch-fidelity"),
    "authors": ("speed.authors:recomputed", "the authors' procedure"),
    "huge": ("speed.commands:huge_pool", "a pool of a million files"),
    "second": ("speed.commands:second_run", "a second run"),
    "view": ("speed.commands:chosen_view", "the choice of the view, five pools of photographs"),
    "choice": ("speed.commands:view_choice", "the choice of the view alone, and memory of a scan"),
    "threads": ("speed.commands:threads_of_blas", "one thread of BLAS in a command"),
    "help": ("speed.commands:help_text", "the help"),
    "until": ("statistics.early:stopping", "stopping early"),
    "update": ("speed.mixmatch:one_update", "one MixMatch update"),
    "usb": ("speed.usb:against_semilearn", "the same update by semilearn"),
    "pair": ("speed.side_by_side:two_runs", "two training runs at once"),
}
