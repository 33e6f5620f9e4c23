"""Provides the machine code of kernels, by Numba with our own cache or from libraries compiled ahead of time."""
