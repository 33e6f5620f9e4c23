"""One iteration of iterative deepening: windows around the last score, and the order of the root's moves.

Aspiration: the value is most likely near that of the last iteration, and a narrower window causes more cutoffs. If the
value lies outside, the search shows on which side, and the window is widened on that side only.
  when     depth >= aspiration_depth, there is a last score, and it is not a mate
  formula  last score - width .. last score + width, width = aspiration_window; each failure multiplies width by
           aspiration_growth / 100, then fail low:  alpha = score - width, beta = middle of the window that failed
                                         fail high: beta = score + width; each fail high also makes the search of
                                         the next window aspiration_reduction plies shallower (as in Stockfish)
  worth    +78.9 +- 18.0  [ledger: aspiration-timed]

The engine's threads and self-play both call `search_iteration`; self-play runs no Python between a game's searches.
"""

from __future__ import annotations

import numpy as np

from engine.compiler.jit import inlined, kernel
from search.kernels.alphabeta import search_window
from search.kernels.score import INFINITE, LOWER, MATE_BOUND, NO_SCORE, UPPER


@inlined
def _move_up(worker, index, place):
    """Moves the root move at `index`, with its node count, up to the earlier index `place`. Mutates `worker`."""
    move, nodes = worker.root_moves[index], worker.root_nodes[index]
    while index > place:
        worker.root_moves[index] = worker.root_moves[index - 1]
        worker.root_nodes[index] = worker.root_nodes[index - 1]
        index -= 1
    worker.root_moves[place] = move
    worker.root_nodes[place] = nodes


@inlined
def _order_root_moves(worker):
    """Puts the best root move first and sorts the others by node count, largest first. Mutates `worker`.

    So moves that were hard to refute come early. Moves that a fail high left unsearched stay last, in their order.
    """
    best = worker.stack[0].pv[0]
    for index in range(worker.root_count):
        if worker.root_moves[index] == best:
            _move_up(worker, index, np.int64(0))
            break
    for index in range(2, worker.root_count):
        place = index
        while place > 1 and worker.root_nodes[place - 1] < worker.root_nodes[index]:
            place -= 1
        _move_up(worker, index, place)


@inlined
def _first_window(worker, depth, last):
    """Sets the first window of an iteration: around the score `last` if it is usable, else open. Mutates `worker`."""
    tune = worker.tune
    worker.width = tune.aspiration_window
    worker.expected = worker.root_moves[0]
    worker.fail_high_pv_length = 0
    worker.failed_high = 0
    worker.alpha = -INFINITE
    worker.beta = INFINITE
    if depth >= tune.aspiration_depth and last != NO_SCORE and abs(last) < MATE_BOUND:
        worker.alpha = max(last - worker.width, -INFINITE)
        worker.beta = min(last + worker.width, INFINITE)


@inlined
def _widen(worker, score):
    """Widens the window after a search that failed low or high with `score`. Mutates `worker`.

    Returns UPPER if the search failed low, so that `score` is an upper bound, or LOWER if it failed high, as int64.
    """
    worker.width = worker.width * worker.tune.aspiration_growth // 100
    if score <= worker.alpha:
        # Lower beta as well: the value is at most alpha, and a narrow window is faster. A move that failed high
        # in an earlier window is now refuted, and the best move of the last iteration is again the one to beat.
        if worker.failed_high > 0:
            for index in range(worker.root_count):
                if worker.root_moves[index] == worker.expected:
                    _move_up(worker, index, np.int64(0))
                    break
        worker.fail_high_pv_length = 0
        worker.failed_high = 0
        worker.beta = (worker.alpha + worker.beta) // 2
        worker.alpha = max(score - worker.width, -INFINITE)
        return np.int64(UPPER)
    # The move that failed high is searched first next time. It is played if that search is aborted without a PV.
    worker.fail_high_pv_length = worker.stack[0].pv_length
    worker.failed_high += 1
    worker.beta = min(score + worker.width, INFINITE)
    return np.int64(LOWER)


@kernel
def search_iteration(worker, tt, depth, last):
    """Searches the root to `depth` plies; returns its value, int64. Mutates `worker` and `tt`.

    `last` is the score of the last iteration, or NO_SCORE. The window is widened until it contains the value.
    While `worker.reports` is set, the kernel also returns after each window that fails. The value is then a bound, and
    `worker.failed` is LOWER or UPPER (else 0). The next call with the same arguments continues with a wider window.

    After a complete iteration, `stack[0].pv` contains the PV. `root_moves` and `root_nodes` are sorted for the next
    one, with the best move first. If the search was aborted, the returned value is meaningless, and the PV is empty
    unless a move scored above alpha.
    """
    frame = worker.stack[0]
    worker.aborted = 0
    if worker.failed == 0:
        _first_window(worker, depth, last)
    worker.failed = 0
    while True:
        frame.pv_length = 0
        less = worker.tune.aspiration_reduction * worker.failed_high
        score = search_window(worker, tt, depth, max(depth - less, 1), worker.alpha, worker.beta)
        if worker.aborted != 0:
            if frame.pv_length == 0:
                frame.pv_length = worker.fail_high_pv_length
            return score
        if score > worker.alpha:
            _order_root_moves(worker)
            if score < worker.beta:
                return score
        failed = _widen(worker, score)
        if worker.reports != 0:
            worker.failed = failed
            return score
