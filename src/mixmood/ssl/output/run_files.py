"""The names of the files in the folder of a run."""

CHECKPOINT = "checkpoint.pt"
METRICS = "metrics.jsonl"
WEIGHTS = "model.pt"
MODEL = "model.onnx"
CURVES = "curves.png"
RECORD = "record.json"
REPORT = "report.html"
ALL = (CHECKPOINT, METRICS, WEIGHTS, MODEL, CURVES, RECORD, REPORT)
