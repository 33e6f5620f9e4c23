"""Secateur inside a Python program, with python-chess's types: `from engine import Engine`.

    engine     `Engine`: play, analyse, analysis, configure
    analysis   `Analysis`: a search that is under way
    runner     the thread on which an engine searches
    commands   python-chess's boards and limits as the engine takes them
    infos      what the engine finds, as python-chess has it

All but the last come before the kernels are imported, which are not before the first `Engine` is made: its evaluation
may be chosen then.
"""
