"""Positions, moves and legal move generation as compiled kernels.

From the rest of the project, the package imports only `engine.compiler` and `engine.memory`. Only `tables` and
`zobrist`, which build tables, and `convert`, which converts positions, import python-chess.
"""
