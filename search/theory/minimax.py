"""Minimax: the definition of a position's value, visiting everything."""

from __future__ import annotations

from search.theory.games import Game, Move, Position


def minimax(game: Game[Position, Move], position: Position) -> int:
    """The value of `position` to the side to move when both sides play their best."""
    values = [-minimax(game, game.apply(position, move)) for move in game.moves(position)]
    return max(values) if values else game.value(position)
