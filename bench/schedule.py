"""Who plays whom, with which colours and from which opening: a description unrolled into game tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from bench.description import MatchDescription
from bench.engines import EngineSpec
from bench.game import GameTask
from bench.openings import Opening, load_openings


@dataclass(frozen=True, slots=True)
class Plan:
    """A description with its openings read: one opening a pair, repeated when the book is shorter than the match."""

    description: MatchDescription
    openings: tuple[Opening, ...]
    problems: tuple[str, ...] = ()

    @property
    def pair_count(self) -> int:
        """Pairs of games in the whole match."""
        return self.description.rounds * len(pairings(self.description))

    @property
    def game_count(self) -> int:
        """Games in the whole match."""
        return 2 * self.pair_count

    @property
    def repeats(self) -> str | None:
        """A remark if pairs repeat earlier ones: without a clock, and with more pairs than openings. None otherwise."""
        if self.pair_count <= len(self.openings) or any(engine.limit.is_timed for engine in self.description.engines):
            return None
        return (
            f"{self.pair_count} pairs, but {len(self.openings)} openings: limited by nodes or depth, most engines play "
            "the same games again, and intervals count them as if they were new"
        )

    def tasks(self) -> Iterator[GameTask]:
        """Every game, in order: round by round, pairing by pairing, the two games of a pair one after the other."""
        description = self.description
        rules = (description.adjudication, description.time_margin, description.hang_seconds)
        encounters = (pairing for _ in range(description.rounds) for pairing in pairings(description))
        for pair, (first, second) in enumerate(encounters):
            opening = self.openings[pair % len(self.openings)]
            yield GameTask(2 * pair, pair, first, second, opening, *rules)
            yield GameTask(2 * pair + 1, pair, second, first, opening, *rules)


def pairings(description: MatchDescription) -> list[tuple[EngineSpec, EngineSpec]]:
    """The pairings of one round."""
    if description.format == "gauntlet":
        first, *others = description.engines
        return [(first, other) for other in others]
    return list(combinations(description.engines, 2))


def make_plan(description: MatchDescription) -> Plan:
    """Reads the book. Raises `BookError` when it cannot be used."""
    book = description.book
    if book is None:
        return Plan(description, (Opening(),))
    problems: list[str] = []
    count = description.rounds * len(pairings(description))
    openings = load_openings(book.file, book.order, book.seed, count=count, plies=book.plies, problems=problems)
    return Plan(description, tuple(openings), tuple(problems))
