"""Order pools by distance, and say how sure the order is."""
