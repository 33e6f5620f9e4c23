"""A fuzzer for the protocol: random sessions, and a model that checks every answer.

    grammar     random sessions (Hypothesis)
    play        plays a session as a script, line by line, and compares the answers with the model; plays whole games
    model       what the engine owes for each line that was sent, with python-chess as the oracle
    wires       the engine in this process, or a process of its own behind pipes
    fens        random FENs, good and bad, and the verdicts of the engine and of python-chess
    hostile     files that are damaged or foreign
    samples     good files of every kind, from which those are made
    files       every command and option that opens a file, on hostile ones
    cold        how long the engine is silent while it compiles kernels

`python -m tests.uci.fuzz --help` lists what it runs.
"""
