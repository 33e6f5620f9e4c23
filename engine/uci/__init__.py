"""The UCI protocol: parsing, options, loading the engine in the background, and the session that owns a search.

The session does not import NumPy, Numba or python-chess, so it answers `uci` at once. The loader's thread imports
`engine.uci.backend` and, with it, the modules that need these packages.
"""
