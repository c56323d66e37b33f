"""How good a head is on images it has not seen, and which head to use."""
