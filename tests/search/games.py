"""Positions and checks that several tests of the search share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import chess

from engine.board.convert import encode, write_board
from search.deepening import Root, set_root
from search.limits import MAX_DEPTH, NO_NODE_LIMIT
from search.searcher import Game, Info, Result

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
ENDING = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
MIDDLEGAME = "r2q1rk1/pp2bppp/2n1bn2/2pp4/3P4/1P2PN2/PB1NBPPP/R2Q1RK1 w - - 4 11"
#: 218 legal moves.
MOST_MOVES = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1"
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
MATE_IN_TWO = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"


def game(fen: str = chess.STARTING_FEN, *moves: str, chess960: bool = False) -> Game:
    """The game from a position, with these moves played."""
    result = Game(chess.Board(fen, chess960=chess960))
    for move in moves:
        result.push(result.board.parse_uci(move))
    return result


def prepare(worker: Any, game: Game) -> None:
    """Sets the root of a worker, for calls of the search kernel."""
    write_board(game.board, worker["stack"][0]["position"])
    moves = [encode(game.board, move) for move in game.board.legal_moves]
    set_root(worker, Root(game.keys, moves, generation=1, deepest=MAX_DEPTH), NO_NODE_LIMIT)


def last_info(result: Result) -> Info:
    """The last report of a search, which must have one."""
    assert result.info is not None
    return result.info


def check_lines(fen: str, infos: Iterable[Info]) -> None:
    """Checks that every move of every line is legal."""
    for info in infos:
        board = chess.Board(fen)
        for move in info.pv:
            assert move in board.legal_moves
            board.push(move)
