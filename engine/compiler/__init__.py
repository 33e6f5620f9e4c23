"""Provides machine code: Numba with our own cache, or libraries compiled ahead of time."""
