"""The network's evaluation of single boards, for use from Python."""

from __future__ import annotations

import math

import chess
import numpy as np

from engine.board.convert import decode, write_board
from engine.board.moves import MAX_MOVES
from engine.memory import allocate
from eval.kernels.inference import LINE_FRAME, evaluate_line, rate_line
from eval.network.format import Network
from eval.network.layout import LOGIT, MAX_HIDDEN, accumulator_stack


class NetworkEvaluator:
    """An evaluator of single boards: a network, with the memory that the kernels need."""

    def __init__(self, network: Network) -> None:
        self._network = network.record(with_policy=True)
        self._stack = allocate(accumulator_stack(1), 1)[0]
        self._frames = allocate(LINE_FRAME, 1)
        self._inputs = allocate(np.dtype(np.int8), MAX_HIDDEN)
        self._moves, self._logits = allocate(np.dtype(np.int32), MAX_MOVES), allocate(np.dtype(np.int64), MAX_MOVES)

    def _write(self, board: chess.Board) -> None:
        write_board(board, self._frames[0]["position"])
        self._stack["computed"] = 0

    def score(self, board: chess.Board) -> int:
        """Returns the network's evaluation in centipawns from the side to move's view."""
        self._write(board)
        return int(evaluate_line(self._network, self._stack, self._frames, 0))

    def logits(self, board: chess.Board) -> dict[chess.Move, float]:
        """Returns the policy's logit of each legal quiet move. Raises ValueError if the network has no policy."""
        if not self._network["has_policy"]:
            raise ValueError("the network has no policy")
        self._write(board)
        count = rate_line(self._network, self._stack, self._frames, 0, self._inputs, self._moves, self._logits)
        moves, logits = self._moves[:count].tolist(), self._logits[:count].tolist()
        return {decode(move, board.chess960): logit / LOGIT for move, logit in zip(moves, logits, strict=True)}

    def priors(self, board: chess.Board) -> dict[chess.Move, float]:
        """Returns the policy's probability of each legal quiet move: the softmax of `logits`. Raises its errors."""
        logits = self.logits(board)
        most = max(logits.values(), default=0.0)
        powers = {move: math.exp(logit - most) for move, logit in logits.items()}
        total = sum(powers.values())
        return {move: power / total for move, power in powers.items()}
