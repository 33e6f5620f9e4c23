"""Each technique of the search, switched off by itself."""

import functools
from collections.abc import Callable, Iterator

import pytest

from eval.network.format import shipped_network
from search import tunables
from search.benchmark import run_benchmark
from search.explorer.chess_document import SWITCHES
from search.searcher import Searcher
from search.techniques import BY_NAME, TECHNIQUES, Technique, named, switched_off
from search.timing import Budget, TimeManager

#: Plies of the benchmark that show what a technique does.
DEPTH = 8


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    searcher = Searcher(16, network=shipped_network())
    yield searcher
    searcher.close()


@pytest.fixture
def tuned(searcher: Searcher) -> Callable[..., Searcher]:
    """The searcher without some techniques, and with other tunables."""

    def tune(*techniques: Technique, **numbers: int) -> Searcher:
        off = switched_off(techniques)
        for row in tunables.TUNABLES:
            searcher.set_tunable(row.name, (numbers | off).get(row.name, row.default))
        searcher.new_game()
        return searcher

    return tune


def nodes(searcher: Searcher | None = None, depth: int = DEPTH) -> int:
    """Nodes of a short benchmark, by default of the search as it is."""
    result = run_benchmark(depth, searcher=searcher)
    assert result is not None
    return result.nodes


usual = functools.cache(functools.partial(nodes, None))


def test_switching_a_technique_off_changes_its_tunables() -> None:
    for technique in TECHNIQUES:
        assert technique.off
        for name, value in technique.off.items():
            assert value != tunables.BY_NAME[name].default


def test_recordings_name_the_same_techniques() -> None:
    assert set(SWITCHES) <= set(BY_NAME)
    assert {reason for technique in TECHNIQUES for reason in technique.reasons} <= set(SWITCHES)


def test_techniques_are_found_by_key_and_by_reason_once() -> None:
    assert [row.key for row in named(["late-move", "null-move", "late-move-pruning"])] == [
        "late-move-pruning",
        "null-move",
    ]
    assert named([]) == ()
    assert len(BY_NAME) == sum(1 + len(row.reasons) for row in TECHNIQUES)
    with pytest.raises(ValueError, match=r"no technique 'nul-move'; those are aspiration, .*null-move"):
        named(["null-move", "nul-move"])


def test_on_again_it_is_the_usual_search(tuned: Callable[..., Searcher]) -> None:
    assert tuned(*TECHNIQUES)
    assert nodes(tuned()) == usual(DEPTH)


def test_each_scale_of_time_is_one_without_it() -> None:
    scales = [row for row in TECHNIQUES if row.needs_clock]

    def scale(*off: Technique) -> float:
        manager = TimeManager(Budget(), tunables.namespace(tunables.defaults() | switched_off(off)))
        for depth, score in ((8, 100), (9, 80), (10, 60)):
            manager.iteration_done(depth, score, best=1, effort=0.2)
        return manager.scale

    assert scale(*scales) == 1.0
    product = 1.0
    for row in scales:
        alone = scale(*(other for other in scales if other is not row))
        assert alone != 1.0, row.key
        product *= alone
    assert product == pytest.approx(scale())
