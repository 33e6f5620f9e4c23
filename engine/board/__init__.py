"""Positions, moves and legal move generation as compiled kernels.

The package imports nothing else of the project but `engine.compiler.jit`. It uses python-chess only at its boundary: to
build the tables (`tables`, `zobrist`) and to convert positions (`convert`). No kernel module imports python-chess.
"""
