"""From pools to tensors that can be trained on."""
