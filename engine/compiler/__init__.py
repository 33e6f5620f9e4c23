"""The machine code of kernels: Numba with our own cache, or libraries compiled ahead of time."""
