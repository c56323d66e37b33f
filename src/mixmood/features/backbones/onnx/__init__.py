"""Networks in ONNX files: read with care, completed, run by ONNX Runtime."""
