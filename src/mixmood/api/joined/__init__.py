"""What the functions of this layer join: parts of `ranking`, `selection`, `ssl` and `report`."""
