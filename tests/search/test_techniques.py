"""Each technique of the search, switched off by itself."""

import functools
from collections.abc import Callable, Iterator

import chess
import pytest

from eval.network.format import shipped_network
from search import tunables
from search.benchmark import run_benchmark
from search.explorer.chess_document import SWITCHES
from search.kernels.history import BUTTERFLY_LIMIT, CONTINUATION_LIMIT
from search.limits import Limits
from search.searcher import Game, Searcher
from search.techniques import BY_NAME, TECHNIQUES, Technique, named, switched_off
from search.timing import Budget, TimeManager

#: Plies of the benchmark that show what a technique does. Histories have to be bad for some time before they count.
#: What needs a clock shows at none, and verification only where null moves are deeper.
DEPTH = 8
DEPTHS = {"late-move-pruning": 11, "history-pruning": 11, "lmr-threatened": 11, "check-extension": 12}
SHOWN_BY_NODES = [row for row in TECHNIQUES if not row.needs_clock and row.key != "null-move-verification"]


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


def test_techniques_that_share_numbers_switch_them_off_alike() -> None:
    """Late move reduction shares tunables with the techniques that reduce more."""
    values: dict[str, set[int]] = {}
    for technique in TECHNIQUES:
        for index, value in technique.off.items():
            values.setdefault(index, set()).add(value)
    assert all(len(found) == 1 for found in values.values())


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
    with pytest.raises(ValueError, match=r"unknown technique 'nul-move'; the techniques are aspiration, .*null-move"):
        named(["null-move", "nul-move"])


@pytest.mark.parametrize("technique", SHOWN_BY_NODES, ids=lambda technique: technique.key)
def test_the_search_is_another_without_it(technique: Technique, tuned: Callable[..., Searcher]) -> None:
    depth = DEPTHS.get(technique.key, DEPTH)
    assert nodes(tuned(technique), depth) != usual(depth)


def test_on_again_it_is_the_usual_search(tuned: Callable[..., Searcher]) -> None:
    assert tuned(*TECHNIQUES)
    assert nodes(tuned()) == usual(DEPTH)


def test_null_moves_are_not_verified_without_that(tuned: Callable[..., Searcher]) -> None:
    game = Game(chess.Board("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"))
    counts = {tuned(*off).search(game, Limits(depth=17)).nodes for off in ((), named(["null-move-verification"]))}
    assert len(counts) == 2


def test_no_move_is_reduced_without_late_move_reduction(tuned: Callable[..., Searcher]) -> None:
    """Only reduced moves are searched again, deeper or shallower: without reduction those margins do not matter."""
    (reduction,) = named(["late-move-reduction"])
    without = nodes(tuned(reduction))
    assert nodes(tuned(reduction, deeper_margin=10, shallower_margin=40)) == without
    assert nodes(tuned(reduction, research_share=0)) == without
    assert nodes(tuned(deeper_margin=10, shallower_margin=40)) != nodes(tuned())
    # The histories only add a rounding, even with the largest weights.
    weights = sum(tunables.BY_NAME[f"{history}_weight"].high for history in ("answer", "follow_up", "far"))
    most = weights * CONTINUATION_LIMIT + tunables.BY_NAME["butterfly_weight"].high * BUTTERFLY_LIMIT
    assert 0 <= -(100 * -most // 128 // reduction.off["lmr_history_divisor"]) <= 1


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
