"""`secateur perft`: counts move sequences, on this machine or on a cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import closing

import chess

from engine.arguments import Parser, command
from engine.progress import Steps


@command("secateur perft")
def main(arguments: list[str]) -> int:
    """Runs perft; the last lines on stdout are `Nodes searched: <n>` and `<nps> nps`."""
    parser = Parser(
        prog="secateur perft",
        description="Counts the sequences of DEPTH legal moves from a position, without a hash table. The moves of the "
        "last ply are counted, not made.",
    )
    parser.add_argument("--depth", type=int, required=True, metavar="N", help="plies")
    parser.add_argument("--fen", default=chess.STARTING_FEN, help="position, standard or Chess960 (default: the start)")
    parser.add_argument("--threads", type=int, default=1, metavar="T", help="threads (default 1)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="split root moves over this Dask cluster")
    parser.add_argument("--divide", action="store_true", help="also print the count below each root move")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_quiet()
    options = parser.parse_args(arguments)
    # Not at the top: a command's help takes no kernels.
    from engine.board.perft import MAX_PERFT_DEPTH
    from search.perft import count_by_move
    from search.warmup import PERFT, load_kernels

    if not 1 <= options.depth <= MAX_PERFT_DEPTH:
        parser.error(f"--depth is 1 to {MAX_PERFT_DEPTH}, not {options.depth}")
    if not 1 <= options.threads <= 4 * (os.cpu_count() or 1):
        parser.error(f"--threads is 1 to {4 * (os.cpu_count() or 1)} on this machine, not {options.threads}")
    try:
        board = read_board(options.fen)
    except ValueError as error:
        parser.error(f"--fen: {error}")
    with Steps("loading the kernels", options.quiet) as steps:
        if options.cluster is None:
            load_kernels(PERFT)
        steps.show("0 % counted")

        def progress(share: float) -> None:
            steps.show(f"{100 * share:.0f} % counted")

        start = time.perf_counter()
        if options.cluster is None:
            counts = count_by_move(board, options.depth, options.threads, on_progress=progress)
        else:
            counts = count_on_cluster(board, options.depth, options.cluster, progress)
        seconds = time.perf_counter() - start
    nodes = sum(counts.values())
    speed = int(nodes / max(seconds, 1e-6))
    by_move = {board.uci(move): count for move, count in counts.items()}
    if options.json:
        result = {"nodes": nodes, "seconds": seconds, "nps": speed, "divide": by_move}
        print(json.dumps(result))
        return 0
    if options.divide:
        print("\n".join(f"{move}: {count}" for move, count in by_move.items()))
    print(f"Nodes searched: {nodes}\n{speed} nps")
    return 0


def count_on_cluster(
    board: chess.Board, depth: int, cluster: str | None, on_progress: Callable[[float], None]
) -> dict[chess.Move, int]:
    """Perft to `depth` plies (1 or more) by root move, on a cluster's workers; without one in a local process.

    Raises `ClusterError` when the cluster cannot be used and `WorkError` when the count below a move is given up.
    """
    from bench.cluster import map_unordered

    subtrees = {}
    for move in board.legal_moves:
        below = board.copy(stack=False)
        below.push(move)
        # Different moves lead to different positions.
        subtrees[below.fen(en_passant="fen"), board.chess960, depth - 1] = move
    counts: dict[chess.Move, int] = {}
    with closing(map_unordered(_count, subtrees, cluster)) as outcomes:
        for outcome in outcomes:
            counts[subtrees[outcome.item]] = outcome.unwrap()
            on_progress(len(counts) / len(subtrees))
    return {move: counts[move] for move in subtrees.values()}


def _count(subtree: tuple[str, bool, int]) -> int:
    """Counts below a FEN (Chess960 or not) to a depth. The first call in a process loads the kernels."""
    from search.perft import count_by_move

    fen, chess960, depth = subtree
    return sum(count_by_move(chess.Board(fen, chess960=chess960), depth).values()) if depth else 1


def read_board(fen: str) -> chess.Board:
    """The board of a FEN, as Chess960 where its castling rights demand that. Raises ValueError."""
    from search.game import Game

    board = chess.Board(fen)
    if board.status() & chess.STATUS_BAD_CASTLING_RIGHTS:
        board = chess.Board(fen, chess960=True)
    return Game(board).board
