"""Code that combines parts of `ranking`, `selection`, `ssl` and `report`."""
