"""The UCI protocol: parsing, options, loading the engine in the background, and the session that owns a search.

On the way to the session nothing imports NumPy, Numba or python-chess, so `uci` is answered at once. What needs them
(`book`, `infos`, `positions` and the rooms below) comes with `engine.uci.backend`, which the loader's thread imports.
"""
