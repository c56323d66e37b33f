"""Image models of the Hugging Face hub, or in a folder in its form, as backbones."""
