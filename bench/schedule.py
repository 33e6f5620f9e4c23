"""The schedule of a match: its game tasks with pairings, colours and openings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from bench.description import MatchDescription
from bench.engines import EngineSpec
from bench.game import GameTask
from bench.openings import Opening, load_openings
from engine.files import count_of


@dataclass(frozen=True, slots=True)
class Plan:
    """A match with its openings and the book's problems. Each pair of games has an opening. Openings may be reused."""

    description: MatchDescription
    openings: tuple[Opening, ...]
    problems: tuple[str, ...] = ()

    @property
    def pair_count(self) -> int:
        """The number of pairs of games in the whole match."""
        return self.description.rounds * len(pairings(self.description))

    @property
    def game_count(self) -> int:
        """The number of games in the whole match."""
        return 2 * self.pair_count

    @property
    def repeats(self) -> str | None:
        """A remark if pairs outnumber openings and no engine is timed, because games may then repeat; else None."""
        if self.pair_count <= len(self.openings) or any(engine.limit.is_timed for engine in self.description.engines):
            return None
        return (
            f"{self.pair_count} pairs share {count_of(len(self.openings), 'opening')}: most engines that are limited "
            "by nodes or depth repeat their games, but the intervals treat repeated games as new"
        )

    def tasks(self) -> Iterator[GameTask]:
        """Yields every game in order: by round, then by pairing, then by number in the pair."""
        description = self.description
        rules = (description.adjudication, description.time_margin, description.hang_seconds)
        encounters = (pairing for _ in range(description.rounds) for pairing in pairings(description))
        for pair, (first, second) in enumerate(encounters):
            opening = self.openings[pair % len(self.openings)]
            yield GameTask(2 * pair, pair, first, second, opening, *rules)
            yield GameTask(2 * pair + 1, pair, second, first, opening, *rules)


def pairings(description: MatchDescription) -> list[tuple[EngineSpec, EngineSpec]]:
    """Returns the pairs of engines that meet in a round: all pairs or, in a gauntlet, pairs with the first engine."""
    if description.format == "gauntlet":
        first, *others = description.engines
        return [(first, other) for other in others]
    return list(combinations(description.engines, 2))


def make_plan(description: MatchDescription) -> Plan:
    """Returns the plan of a match, after reading its book. Raises `BookError` if the book is unusable."""
    book = description.book
    if book is None:
        return Plan(description, (Opening(),))
    problems: list[str] = []
    count = description.rounds * len(pairings(description))
    openings = load_openings(book.file, book.order, book.seed, count=count, plies=book.plies, problems=problems)
    return Plan(description, tuple(openings), tuple(problems))
