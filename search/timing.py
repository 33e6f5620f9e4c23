"""The time for a move, and the alarm that ends the search.

Three limits, in milliseconds from the start of the search, apply to a move:

    soft    the planned time; no iteration begins after it. `budget_for` plans it from the clock, and
            `TimeManager` scales it by the results of the iterations
    hard    the search stops here if it has a move to play, in the middle of an iteration if necessary
    last    the search stops here even if it has no move to play

The kernels do not read the clock: an alarm thread sets the flag that they read. The parameters that games can tune are
in `search.tunables`; four that are not tunable are below.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final

from engine.windows import tick_every_millisecond
from search import tunables
from search.limits import DEFAULT_OVERHEAD, Clock, Limits

#: The score of an iteration is compared with the mean score of at most this many iterations before it.
REMEMBERED_SCORES: Final = 3

#: The least value of each factor that scales the plan. Only unusual values of the tunables make a factor smaller.
LEAST_FACTOR: Final = 0.1

#: On a clock, the hard limit is at least this many milliseconds, or half of the time left if that is less. A
#: millisecond is enough for the first iterations; less time would leave the move to chance.
LEAST_HARD: Final = 1.0

#: The most milliseconds that a search without a move to play gets after its hard limit or after `stop`.
LAST_GRACE: Final = 30.0


@dataclass(frozen=True)
class Budget:
    """The three limits of a search in milliseconds from its start, infinite if there is no such limit."""

    soft: float = math.inf
    hard: float = math.inf
    last: float = math.inf


def budget_for(
    limits: Limits, overhead: int, tune: SimpleNamespace | None = None, ponders: bool = False, move_number: int = 1
) -> Budget:
    """Returns the time budget under `limits`. `tune` has the tunables as attributes; None means the defaults.

    `overhead` (ms) is reserved each move for the delay between engine and clock. `ponders` says whether the GUI lets
    the engine think on the opponent's time in this game. `move_number` is the number of the full move, from 1.
    """
    if limits.infinite:
        return Budget()
    tune = tunables.namespace(tunables.defaults()) if tune is None else tune
    budget = Budget() if limits.clock is None else _clock_budget(limits.clock, overhead, tune, ponders, move_number)
    if limits.move_time is None:
        return budget
    # A given move time is used except for the overhead. If the overhead leaves too little, a quarter is used.
    ordered = max(limits.move_time - overhead, limits.move_time / 4)
    return Budget(budget.soft, min(budget.hard, ordered), min(budget.last, _last(ordered, limits.move_time)))


def _last(hard: float, available: float) -> float:
    """Returns the last limit: `hard` plus LAST_GRACE, or plus half of `available` - `hard` if that is less.

    The first iteration usually takes a fraction of a millisecond. It takes longer on a busy machine, and more time then
    helps. It also takes longer if captures explode, but more time then does not help.
    """
    return hard + min(LAST_GRACE, max(available - hard, 0.0) / 2)


def _clock_budget(clock: Clock, overhead: int, tune: SimpleNamespace, ponders: bool, move_number: int) -> Budget:
    """Returns the budget of a move on a clock. More time left never makes a limit smaller."""
    # The moves to plan for. The later in the game, the fewer moves are expected. If a game is longer than expected, the
    # increment keeps the engine on time. So the number falls in proportion to increment - overhead, and in full if
    # that reaches the overhead (at least DEFAULT_OVERHEAD).
    #   worth    +64.4 +- 30.6  [ledger: time-horizon] at 2+0.02, against a horizon of always 50 moves
    moves = tune.time_horizon
    if clock.moves_to_go is not None:
        moves = min(moves, clock.moves_to_go)
    else:
        certain = min(max(clock.increment - overhead, 0) / max(overhead, DEFAULT_OVERHEAD), 1.0)
        fall = certain * tune.time_horizon_slope * (move_number - 1) / 100
        moves = min(moves, max(moves - fall, tune.time_horizon_least))

    # The most that this move could take. A reserve stays on the clock for stalls while the system runs other programs:
    # a stall may last tens of milliseconds, more than the plan for ten moves of a bullet game. When the clock has
    # nearly run out, overhead and reserve would leave nothing. Then the move may take a quarter of the clock, because
    # not every move costs the whole overhead and reserve.
    available = max(clock.time_left - overhead - tune.time_reserve, clock.time_left / 4, 1.0)

    # The time for all moves to the horizon: each adds its increment and pays its overhead. Counting the overheads now
    # keeps time for the last moves of a sudden-death game. (The form is Stockfish's.)
    pool = max(available + (moves - 1) * (clock.increment - overhead), available / 4)

    # The plan: a little more than an even share, because games tend to end before the horizon and each move plans anew.
    plan = pool / moves * tune.time_share / 100
    if ponders:
        # Thinking about a predicted reply costs no clock time, so the clock lasts longer than it shows.
        plan *= 1 + tune.time_ponder / 100

    # The next moves need time, so this move should take at most this much of the clock. The last move before the time
    # control may take nearly all of it; the more moves follow, the less a move may take.
    most = available * (tune.time_most + (tune.time_most_last - tune.time_most) / moves) / 100

    # An iteration costs about twice its predecessor, so one that begins before soft may end long after it. The hard
    # limit usually lets such an iteration end, but stops explosions.
    hard = max(min(plan * tune.time_overrun / 100, most), min(LEAST_HARD, clock.time_left / 2))
    soft = min(plan, most * tune.time_plan_most / 100, hard)
    return Budget(soft, hard, _last(hard, available))


class TimeManager:
    """The time manager of one search: it scales the plan by the results of iterations and decides when to end.

    The three factors together are worth +41.9 +- 10.6  [ledger: time-factors] at 1+0.01.

    Times are in milliseconds since the start of the search.
    """

    def __init__(self, budget: Budget, tune: SimpleNamespace, pondering: bool = False) -> None:
        self._budget = budget
        self._tune = tune
        self._pondering = pondering
        # The time at which a move time without a clock starts to count.
        self._start = 0.0
        self._best: int | None = None
        self._confirmed = 0
        self._scores: list[int] = []
        self._is_settled = False
        self.scale = 1.0

    def iteration_done(self, depth: int, score: int, best: int, effort: float, is_settled: bool = False) -> None:
        """Records an iteration: its depth, score (centipawns), best move, and that move's share of the nodes, 0 to 1.

        `is_settled` says that more time cannot change the move, for example because it is the only one.
        """
        self._confirmed = self._confirmed + 1 if best == self._best else 0
        self._best = best
        if depth >= self._tune.time_scale_depth:
            factors = (self._stability(), self._fall(score), self._effort(effort))
            self.scale = math.prod(max(factor, LEAST_FACTOR) for factor in factors)
        self._scores = [*self._scores, score][-REMEMBERED_SCORES:]
        self._is_settled = is_settled

    def _stability(self) -> float:
        """Returns a factor that is small if many iterations confirmed the best move: it will most likely stay best.

        factor = max(time_stable_base - time_stable_step * number of confirming iterations, time_stable_least) %
        """
        tune = self._tune
        return float(max(tune.time_stable_base - tune.time_stable_step * self._confirmed, tune.time_stable_least)) / 100

    def _fall(self, score: int) -> float:
        """Returns a factor that is large if the score falls: the search has found a threat and needs a way out.

        factor = 100 % + time_fall_slope / 100 * fall in centipawns from the mean of the last iterations' scores; the
        fall is clamped to -time_rise_most .. time_fall_most
        """
        tune = self._tune
        if not self._scores:
            return 1.0
        fall = sum(self._scores) / len(self._scores) - score
        return float(1 + tune.time_fall_slope / 10_000 * min(max(fall, -tune.time_rise_most), tune.time_fall_most))

    def _effort(self, effort: float) -> float:
        """Returns a factor that is small if the best move took nearly all nodes: the others were refuted quickly.

        factor = time_effort_base % - time_effort_slope % * the best move's share of the nodes, 0 to 1
        (Node time management, known from Koivisto and others.)
        """
        return float(self._tune.time_effort_base - self._tune.time_effort_slope * effort) / 100

    def soft(self) -> float:
        """Returns the scaled soft limit, which never exceeds the hard limit."""
        return min(self._budget.soft * self.scale, self._budget.hard)

    def is_over(self, elapsed: float) -> bool:
        """Returns whether the search should end after `elapsed` ms: never while pondering or without a clock."""
        has_clock = self._budget.soft < math.inf
        return not self._pondering and has_clock and (self._is_settled or elapsed >= self.soft())

    def deadline(self) -> float:
        """Returns the hard limit in ms since the start of the search; infinite while pondering or without a limit."""
        return math.inf if self._pondering else self._start + self._budget.hard

    def grace(self) -> float:
        """Returns the time in ms from a finite `deadline` until the search stops even without a move."""
        return self._budget.last - self._budget.hard

    def ponder_hit(self, elapsed: float) -> None:
        """Starts our clock: the opponent played the expected move `elapsed` milliseconds after the search started.

        Pondering counts as thinking: soft and hard still count from the start of the search. So the engine answers at
        once after a long ponder and saves the time for other moves. A move time without a clock counts from now.
        """
        self._pondering = False
        if self._budget.soft == math.inf:
            self._start = elapsed


class Alarm:
    """An alarm that calls `ring` on its own thread, once for each deadline that passes. The thread lives until `close`.

    One thread serves all searches: starting a thread costs more than a one-millisecond move can spare. `ring` runs with
    the alarm's lock held, so the other methods wait for it; `ring` itself may call `set`.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._condition = threading.Condition()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread unless it runs. Raises RuntimeError if the thread cannot be started."""
        with self._condition:
            if self._thread is None:
                tick_every_millisecond()
                thread = threading.Thread(target=self._watch, name="search alarm", daemon=True)
                thread.start()
                self._thread = thread

    def set(self, seconds: float) -> None:
        """Sets the alarm to ring in `seconds`, replacing any earlier setting. Raises RuntimeError as `start` does."""
        with self._condition:
            self._deadline = time.perf_counter() + seconds
            self.start()
            self._condition.notify_all()

    def clear(self) -> None:
        """Cancels the alarm if it has not rung."""
        with self._condition:
            self._deadline = None

    def close(self) -> None:
        """Cancels the alarm and makes its thread end. Setting the alarm again starts another thread."""
        with self._condition:
            self._deadline = None
            self._thread = None
            self._condition.notify_all()

    def _watch(self) -> None:
        with self._condition:
            # After `close`, and perhaps `set`, another thread or none has this task.
            while self._thread is threading.current_thread():
                if self._deadline is None:
                    self._condition.wait()
                    continue
                remaining = self._deadline - time.perf_counter()
                if remaining > 0:
                    # A GUI may allow more time than a wait accepts.
                    self._condition.wait(min(remaining, threading.TIMEOUT_MAX))
                    continue
                self._deadline = None
                self._ring()
