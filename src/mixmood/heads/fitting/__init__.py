"""What heads are fitted to, and how."""
