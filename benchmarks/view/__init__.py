"""How much the view matters, and how well it is chosen."""
