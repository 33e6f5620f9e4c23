"""A fuzzer for the protocol: whole sessions from a grammar, and a model of what the engine owes for them.

    script      what a session consists of, and its text form, which can be replayed
    grammar     sessions at random (Hypothesis)
    fens        FENs at random, good and bad
    model       what is owed for each line that was sent, with python-chess as the oracle
    searches    what a `go` owes: every field of its `info` lines, and one move
    wires       the engine in this process, or a process of its own behind pipes
    play        one session, line by line, against the model
    games       games of the engine against itself, checked in the same way
    hostile     files that are damaged or foreign
    samples     good files of every kind, from which those are made
    files       every command and option that opens a file, on hostile ones
    cold        how long nothing is said while kernels are compiled
    verdicts    what the engine takes for a position, against python-chess

`python -m tests.uci.fuzz --sessions 10000 --seed 1` runs as many as wanted, `--files 200` gives the commands
so many hostile files, `--cold` measures silences with an empty cache.
"""
