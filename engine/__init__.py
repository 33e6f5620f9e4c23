"""The rules of chess as kernels, and the UCI protocol."""
