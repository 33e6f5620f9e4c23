"""Games of the engine against itself, every line of it checked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import chess

from tests.uci.fuzz.play import Connect, Player, hold
from tests.uci.fuzz.wires import OverPipes

#: Plies after which a game is ended, and random plies that begin it.
LONGEST: Final = 400
OPENING: Final = 8

#: Milliseconds after which a search that counts nodes is stopped.
PATIENCE: Final = 5000.0


def play_games(count: int, seed: int, on_game: Callable[[int], None], connect: Connect = OverPipes) -> None:
    """Plays so many games in one process, as a GUI does; `on_game` gets the plies of each.

    Every fourth is Chess960; openings are random, and so is whether a time, a clock or a number of nodes is given.
    Raises FailedSessionError for a breach of what the engine owes.
    """

    def talk(player: Player) -> None:
        for number in range(count):
            on_game(_play_game(player, random.Random(seed * 1_000_003 + number), number % 4 == 3))
        player.say(b"quit")

    hold(talk, connect)


def _play_game(player: Player, rng: random.Random, chess960: bool) -> int:
    start = f"fen {chess.Board.from_chess960_pos(rng.randrange(960)).fen()}" if chess960 else "startpos"
    moves = " ".join(f"<{rng.randrange(250)}>" for _ in range(OPENING))
    player.say(f"setoption name UCI_Chess960 value {str(chess960).lower()}".encode())
    player.say(b"ucinewgame")
    player.say(f"position {start} moves {moves}".encode())
    player.say(b"isready")
    player.settle(PATIENCE)
    limit = rng.choice(("movetime 10", "nodes 3000", "wtime 500 btime 500 winc 5 binc 5", "depth 6"))
    plies = OPENING
    while plies < LONGEST and not player.model.board.is_game_over(claim_draw=True):
        player.say(f"go {limit}".encode())
        player.settle(PATIENCE)
        player.follow(False)
        player.settle(PATIENCE)
        plies += 1
    player.turn_page()
    return plies
