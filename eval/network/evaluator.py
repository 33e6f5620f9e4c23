"""The network's evaluation of single boards, for use from Python."""

from __future__ import annotations

import chess

from engine.board.convert import write_board
from engine.memory import allocate
from eval.kernels.inference import LINE_FRAME, evaluate_line
from eval.network.format import Network
from eval.network.layout import accumulator_stack


class NetworkEvaluator:
    """An evaluator of single boards: a network, with the memory that the kernels need."""

    def __init__(self, network: Network) -> None:
        self._network = network.record()
        self._stack = allocate(accumulator_stack(1), 1)[0]
        self._frames = allocate(LINE_FRAME, 1)

    def score(self, board: chess.Board) -> int:
        """Returns the network's evaluation in centipawns from the side to move's view."""
        write_board(board, self._frames[0]["position"])
        self._stack["computed"] = 0
        return int(evaluate_line(self._network, self._stack, self._frames, 0))
