"""What scores are fitted to, and how."""
