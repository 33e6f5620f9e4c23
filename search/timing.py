"""How long to think, and the alarm that ends it.

Three numbers, in milliseconds from the start of the search, decide about a move:

    soft    what the move should take; no iteration is begun after it. Planned from the clock by `budget_for`, then
            scaled after each iteration by what that found (`TimeManager`).
    hard    the search is stopped here, in the middle of an iteration if need be
    last    where it is stopped even if its first iteration has not found a move to answer with

The kernels know no clock: an alarm thread sets the flag that they look at. What games can tune of all this is in
`search.tunables`; three numbers that they cannot are below.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Final

from search import tunables
from search.limits import Clock, Limits

#: Scores of earlier iterations that the last one is compared with.
REMEMBERED_SCORES: Final = 3

#: Milliseconds that even a clock about to run out is given, or else half of it: enough for the first iterations, and
#: answering without any does not save a game.
LEAST_HARD: Final = 1.0

#: Milliseconds that a search without a move to answer with is given, behind its hard limit or after `stop`.
LAST_GRACE: Final = 30.0


@dataclass(frozen=True)
class Budget:
    """Milliseconds from the start of the search. None: no such bound.

    `soft`: no new iteration is begun after it. `hard`: the search is stopped at it if it has a move to answer with.
    `last`: it is stopped anyhow.
    """

    soft: float | None
    hard: float | None
    last: float | None


NO_BUDGET: Final = Budget(None, None, None)


def budget_for(limits: Limits, overhead: int, tune: SimpleNamespace | None = None, ponders: bool = False) -> Budget:
    """The time budget under `limits`; `overhead` (ms) is kept back each move for what lies between engine and clock.

    `ponders`: the GUI lets the engine think on the opponent's time in this game.
    """
    if limits.infinite:
        return NO_BUDGET
    tune = tunables.namespace(tunables.defaults()) if tune is None else tune
    budget = NO_BUDGET if limits.clock is None else _clock_budget(limits.clock, overhead, tune, ponders)
    if limits.move_time is None:
        return budget
    # A time that was ordered is used up. Where the overhead would leave nothing, half of it is searched.
    ordered = max(1.0, limits.move_time - overhead) if limits.move_time > overhead else limits.move_time / 2
    last = _last(ordered, limits.move_time)
    if budget.hard is None or budget.last is None:
        return Budget(None, ordered, last)
    return Budget(budget.soft, min(budget.hard, ordered), min(budget.last, last))


def _last(hard: float, available: float) -> float:
    """Half of what is left behind the hard limit, at most LAST_GRACE, goes to a search without a move.

    The first iteration takes a fraction of a millisecond; it takes long on a busy machine, which more time helps, or
    where captures explode, which it does not.
    """
    return hard + min(LAST_GRACE, max(available - hard, 0.0) / 2)


def _clock_budget(clock: Clock, overhead: int, tune: SimpleNamespace, ponders: bool) -> Budget:
    """What a move may take of a clock. Every figure grows with the time left, and hard stays below it."""
    horizon = tune.time_horizon
    moves = min(clock.moves_to_go or horizon, horizon)

    # What this move could take at the very most. A reserve stays on the clock for the moments in which the system lets
    # other programs run: tens of milliseconds on a busy machine, more than ten moves of a bullet game plan for.
    # On a clock that is all but run out overhead and reserve would leave nothing; a quarter is tried then, because
    # answering at once does not always cost the whole of them.
    available = max(clock.time_left - overhead - tune.time_reserve, clock.time_left / 4, 1.0)

    # What there is for all moves to the horizon: each of them adds its increment and pays its overhead. Counting them
    # now is what keeps the last moves of a sudden-death game from running out. (The form is Stockfish's.)
    pool = max(available + (moves - 1) * (clock.increment - overhead), available / 4)

    # The plan: an even share, a little more because games tend to end before the horizon and later moves plan anew.
    plan = pool / moves * tune.time_share / 100
    if ponders:
        # A reply that was foreseen is thought about for free, so that the clock lasts longer than it says.
        plan *= 1 + tune.time_ponder / 100

    # No move takes more than this of the clock, because the next ones need some; the last before the time control may
    # take nearly all, one of two something in between.
    most = available * (tune.time_most + (tune.time_most_last - tune.time_most) / moves) / 100

    # An iteration costs about twice its predecessor, so that one begun before soft may end far behind it; hard lets it
    # end as a rule and stops the explosions.
    hard = max(min(plan * tune.time_overrun / 100, most), min(LEAST_HARD, clock.time_left / 2))
    soft = min(plan, most * tune.time_plan_most / 100, hard)
    return Budget(soft, hard, _last(hard, available))


class TimeManager:
    """Decides between iterations whether a search has taken its time; scales the plan by how the search goes.

    The three factors together are worth +41.9 +- 10.6  [ledger: goal-clean-1] at 1+0.01.

    Times are in milliseconds since the start of the search.
    """

    def __init__(self, budget: Budget, tune: SimpleNamespace, pondering: bool = False) -> None:
        self._budget = budget
        self._tune = tune
        self._pondering = pondering
        # When the time that was ordered began.
        self._start = 0.0
        self._best: int | None = None
        self._confirmed = 0
        self._scores: list[int] = []
        self._is_settled = False
        self.scale = 1.0

    def iteration_done(self, depth: int, score: int, best: int, effort: float, is_settled: bool = False) -> None:
        """Takes note of an iteration: its best move, score (centipawns), and share of the nodes that the move took.

        `is_settled`: more thought cannot change the move, such as when there is only one.
        """
        self._confirmed = self._confirmed + 1 if best == self._best else 0
        self._best = best
        if depth >= self._tune.time_scale_depth:
            self.scale = self._stability() * self._fall(score) * self._effort(effort)
        self._scores = [*self._scores, score][-REMEMBERED_SCORES:]
        self._is_settled = is_settled

    def _stability(self) -> float:
        """A best move that the last iterations confirmed will most likely be confirmed again: less time for it.

        factor = max(time_stable_base - time_stable_step * iterations that confirmed it, time_stable_least) %
        """
        tune = self._tune
        return float(max(tune.time_stable_base - tune.time_stable_step * self._confirmed, tune.time_stable_least)) / 100

    def _fall(self, score: int) -> float:
        """A score that falls means that a threat has come into sight: more time, to find a way out.

        factor = 100 % + time_fall_slope / 100 * fall in centipawns from the mean of the last iterations' scores, which
        counts within -time_rise_most .. time_fall_most
        """
        tune = self._tune
        if not self._scores:
            return 1.0
        fall = sum(self._scores) / len(self._scores) - score
        return float(1 + tune.time_fall_slope / 10_000 * min(max(fall, -tune.time_rise_most), tune.time_fall_most))

    def _effort(self, effort: float) -> float:
        """Where nearly all nodes went into the best move, the others were refuted at a glance: less time.

        factor = time_effort_base % - time_effort_slope % * share of the nodes
        (Node time management, known from Koivisto and others.)
        """
        return float(self._tune.time_effort_base - self._tune.time_effort_slope * effort) / 100

    def soft(self) -> float | None:
        """What the move should take by now; never more than the hard limit."""
        soft, hard = self._budget.soft, self._budget.hard
        return None if soft is None or hard is None else min(soft * self.scale, hard)

    def is_over(self, elapsed: float) -> bool:
        """Whether the thought is to end, after `elapsed` milliseconds. Never while pondering, or without a clock."""
        soft = self.soft()
        return not self._pondering and soft is not None and (self._is_settled or elapsed >= soft)

    def deadline(self) -> float | None:
        """When the search has to be stopped; None while pondering, or without such a limit."""
        return None if self._pondering or self._budget.hard is None else self._start + self._budget.hard

    def grace(self) -> float:
        """How long after that it has to be stopped even without a move."""
        budget = self._budget
        return 0.0 if budget.last is None or budget.hard is None else budget.last - budget.hard

    def ponder_hit(self, elapsed: float) -> None:
        """The opponent has played the expected move, `elapsed` milliseconds after the start: the clock runs now.

        What was thought on his time counts as thought: soft and hard stay where they are, counted from the start, so
        that a move pondered on for long is answered at once and its time saved for others. Only a time that was
        ordered (movetime, no clock) is counted from here.
        """
        self._pondering = False
        if self._budget.soft is None and self._budget.hard is not None:
            self._start = elapsed


class Alarm:
    """Calls `ring` once when a deadline passes, from a thread of its own that lives until `close`.

    One thread for all searches: starting one costs more than a one-millisecond move can spare.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._condition = threading.Condition()
        self._deadline: float | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def start(self) -> None:
        """Starts the thread, unless it runs. Raises RuntimeError when the system gives none."""
        with self._condition:
            if self._thread is None:
                thread = threading.Thread(target=self._watch, name="search alarm", daemon=True)
                thread.start()
                self._thread = thread

    def set(self, seconds: float) -> None:
        """Rings `seconds` from now unless cleared or set anew before. Raises RuntimeError as `start` does."""
        with self._condition:
            self._deadline = time.perf_counter() + seconds
            self.start()
            self._condition.notify()

    def clear(self) -> None:
        """Forgets the deadline."""
        with self._condition:
            self._deadline = None

    def close(self) -> None:
        """Ends the thread; the alarm can be set again, which starts another."""
        with self._condition:
            self._deadline = None
            self._is_closed = self._thread is not None
            self._thread = None
            self._condition.notify()

    def _watch(self) -> None:
        with self._condition:
            while True:
                if self._is_closed:
                    self._is_closed = False
                    return
                if self._deadline is None:
                    self._condition.wait()
                    continue
                remaining = self._deadline - time.perf_counter()
                if remaining > 0:
                    # A GUI may order more time than a wait can be told.
                    self._condition.wait(min(remaining, threading.TIMEOUT_MAX))
                    continue
                self._deadline = None
                self._ring()
