"""The kernels' machine code: compiled by Numba and cached, or loaded from libraries compiled ahead of time."""
