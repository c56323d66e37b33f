"""Image models of the Hugging Face hub, or saved to a folder in its format, as backbones."""
