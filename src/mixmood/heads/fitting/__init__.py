"""What the heads share when they are fitted: rows, the problem, linear heads, soft targets."""
