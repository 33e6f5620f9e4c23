"""Positions, moves and legal move generation as compiled kernels.

Imports nothing else of the project but `engine.compiler.jit`. python-chess is used at the boundary only: to build the
tables (`tables`, `zobrist`) and to convert positions (`convert`); no kernel module imports it.
"""
