"""The UCI protocol: parsing, options, loading the engine in the background, and the session that owns a search.

The session imports no NumPy, Numba or python-chess, so it answers `uci` at once. The modules that need them come with
`engine.uci.backend`, which the loader's thread imports.
"""
