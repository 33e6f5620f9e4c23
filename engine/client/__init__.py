"""Secateur inside a Python program, with python-chess's types: `from engine import Engine`.

    engine     `Engine`: play, analyse, analysis, configure
    analysis   `Analysis`: a search that is under way
    runner     the thread on which an engine searches
    convert    python-chess's boards and limits to the engine's, and what it finds back

The kernels of the search are imported when the first `Engine` is made, because its evaluation may be chosen then.
"""
