"""The UCI protocol: parsing, options, loading the engine in the background, and the session that owns a search.

Nothing here imports NumPy, Numba or python-chess at the top, so `uci` is answered at once; what needs them is in
`engine.uci.backend`, imported by the loader's thread.
"""
