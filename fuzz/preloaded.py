"""Imports what commands import, for a process that forks others: they begin with their work.

So does Pillow, with all its formats.
"""

from importlib import import_module

from PIL import Image

MODULES = """
    jinja2 matplotlib.backends.backend_agg matplotlib.figure onnx onnxruntime
    torch.onnx
    sklearn.datasets
    mixmood.api.rank mixmood.api.train mixmood.cli.main mixmood.features.backbones.registry
    mixmood.features.extract mixmood.evidence.gain mixmood.ranking.rank
    mixmood.ranking.distance mixmood.report.ranking.page mixmood.report.ranking.text
    mixmood.ssl.image_training mixmood.ssl.train
    mixmood.testbed.results mixmood.testbed.run
"""

for _name in MODULES.split():
    import_module(_name)
Image.init()
