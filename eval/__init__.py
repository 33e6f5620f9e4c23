"""The static evaluation, as kernels."""
