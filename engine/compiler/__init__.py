"""Where machine code comes from: Numba with a cache of its own, or libraries compiled ahead of time."""
