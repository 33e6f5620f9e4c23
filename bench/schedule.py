"""Who plays whom, with which colours and from which opening: a description unrolled into game tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from bench.description import DescriptionError, MatchDescription
from bench.engines import EngineSpec
from bench.game import GameTask
from bench.openings import BookError, Opening, load_openings


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
    def repeats(self) -> str | None:
        """A remark where pairs would be played again as they were: no clock, and more of them than openings."""
        if self.pair_count <= len(self.openings) or any(engine.limit.is_timed for engine in self.description.engines):
            return None
        return (
            f"{self.pair_count} pairs, but {len(self.openings)} openings: limited by nodes or depth, most engines play "
            "the same games again, and intervals count them as if they were new"
        )

    @property
    def game_count(self) -> int:
        """Games in the whole match."""
        return self.pair_count * self.description.games_per_pair

    def tasks(self) -> Iterator[GameTask]:
        """Every game, in order: round by round, pairing by pairing, the two games of a pair behind each other."""
        description = self.description
        pair = 0
        for _ in range(description.rounds):
            for first, second in pairings(description):
                opening = self.openings[pair % len(self.openings)]
                for number in range(description.games_per_pair):
                    # With one game a pair, colours alternate from pair to pair.
                    swapped = number == 1 or (description.games_per_pair == 1 and pair % 2 == 1)
                    white, black = (second, first) if swapped else (first, second)
                    yield GameTask(
                        pair * description.games_per_pair + number,
                        pair,
                        white,
                        black,
                        opening,
                        description.adjudication,
                        description.time_margin,
                        description.hang_seconds,
                    )
                pair += 1


def pairings(description: MatchDescription) -> list[tuple[EngineSpec, EngineSpec]]:
    """The pairings of one round."""
    if description.format == "gauntlet":
        first, *others = description.engines
        return [(first, other) for other in others]
    return list(combinations(description.engines, 2))


def make_plan(description: MatchDescription) -> Plan:
    """Reads the book. Raises `DescriptionError` when it cannot be used."""
    if description.book is None:
        return Plan(description, (Opening(),))
    book = description.book
    problems: list[str] = []
    count = description.rounds * len(pairings(description))
    try:
        openings = load_openings(book.file, book.order, book.seed, count=count, plies=book.plies, problems=problems)
    except BookError as error:
        raise DescriptionError(str(error)) from None
    return Plan(description, tuple(openings), tuple(problems))


def round_name(task_game: int, pair: int, games_per_pair: int) -> str:
    """The PGN Round tag of a game: pair and number in the pair, both from 1."""
    return f"{pair + 1}.{task_game - pair * games_per_pair + 1}"
