"""`secateur perft`: counts move sequences."""

from __future__ import annotations

import json
import os
import time

import chess

from engine.arguments import Parser, command
from engine.progress import Steps


@command("secateur perft")
def main(arguments: list[str]) -> int:
    """Runs perft; returns 0. Without `--json`, the last lines on stdout are `Nodes searched: <n>` and `<nps> nps`."""
    parser = Parser(
        prog="secateur perft",
        description="Counts the sequences of N legal moves from a position, without a hash table. The moves of the "
        "last ply are counted without being made.",
    )
    parser.add_argument("--depth", type=int, required=True, metavar="N", help="plies")
    parser.add_argument("--fen", default=chess.STARTING_FEN, help="position, standard or Chess960 (default: startpos)")
    parser.add_argument("--threads", type=int, default=1, metavar="T", help="number of threads (default 1)")
    parser.add_argument("--divide", action="store_true", help="also print the count below each root move")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    # Imported here so that `--help` does not load the kernels.
    from engine.board.perft import MAX_PERFT_DEPTH
    from search.perft import count_by_move
    from search.warmup import PERFT, load_kernels

    if not 1 <= options.depth <= MAX_PERFT_DEPTH:
        parser.error(f"--depth must be 1 to {MAX_PERFT_DEPTH} (got {options.depth})")
    if not 1 <= options.threads <= 4 * (os.cpu_count() or 1):
        parser.error(f"--threads must be 1 to {4 * (os.cpu_count() or 1)} on this machine (got {options.threads})")
    try:
        board = read_board(options.fen)
    except ValueError as error:
        parser.error(f"--fen: {error}")
    with Steps("loading the kernels", options.quiet) as steps:
        load_kernels(PERFT)
        steps.show("0 % counted")

        def progress(share: float) -> None:
            steps.show(f"{100 * share:.0f} % counted")

        progress(0.0)
        start = time.perf_counter()
        counts = count_by_move(board, options.depth, options.threads, on_progress=progress)
        seconds = time.perf_counter() - start
    nodes = sum(counts.values())
    speed = int(nodes / max(seconds, 1e-6))
    by_move = {board.uci(move): count for move, count in counts.items()}
    if options.json:
        print(json.dumps({"nodes": nodes, "seconds": seconds, "nps": speed, "divide": by_move}))
        return 0
    if options.divide:
        print("\n".join(f"{move}: {count}" for move, count in by_move.items()))
    print(f"Nodes searched: {nodes}\n{speed} nps")
    return 0


def read_board(fen: str) -> chess.Board:
    """Reads a FEN, as Chess960 if its castling rights require that. Raises ValueError if the FEN is invalid."""
    from search.game import Game

    board = chess.Board(fen)
    if board.status() & chess.STATUS_BAD_CASTLING_RIGHTS:
        board = chess.Board(fen, chess960=True)
    return Game(board).board
