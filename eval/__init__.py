"""What a position is worth, as kernels."""
