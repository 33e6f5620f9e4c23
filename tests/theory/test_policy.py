"""Learned policies: their training can be repeated, they make trees smaller, and they change no value."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import chess
import pytest

from bench import policies
from bench.commands import claims
from bench.policies import PLAYED, Source, counted_positions, samples, train
from search.explorer import service
from search.theory import policy
from search.theory.alphabeta import alpha_beta
from search.theory.connect_four import START
from search.theory.counting import fewest_leaves, fewest_leaves_to_depth
from search.theory.enhanced import Memory, enhanced
from search.theory.generate import game_tree, uniform_tree
from search.theory.horizon import Counted, DepthLimited, Limited
from search.theory.ordering import History, Ordering
from search.theory.orders import ordered_children
from search.theory.policy import (
    FILE,
    GAMES,
    SCALE,
    WEIGHTS,
    PolicyError,
    named_position,
    priors_of,
    read_policies,
    shipped,
)
from search.theory.tree_text import read_tree
from search.theory.trees import Tree, TreeError
from tests.conftest import PROJECT

SMALL = {
    "connect-four": Source(START, (0, 8), (2,), 60, 20),
    "tic-tac-toe": Source((0, 0), (0, 7), (3,), 60, 20),
    "chess": Source(chess.Board(), (2, 20), (1,), 60, 20),
}


def leaves(name: str, position: Any, depth: int, *orderings: Ordering[Any, Any]) -> int:
    counted = Counted(PLAYED[name])
    enhanced(counted, position, depth, Memory(None, orderings))
    return counted.leaves


def tree_of(text: str, depth: int) -> Tree:
    name, position = named_position(text)
    return game_tree(GAMES[name], position, depth, lambda _, move: GAMES[name].name(move), label=text)


# --- training ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_trains_the_policies_that_ship(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "policies.json"
    assert claims.main(["--train-policies", str(file), "--quiet"]) == 0
    assert file.read_bytes() == FILE.read_bytes()
    record = read_policies(FILE)["connect-four"]["record"]
    assert f"connect-four: loss {record['loss']:.3f} " in capsys.readouterr().out


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_seed_determines_the_weights(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(policies.SOURCES, name, SMALL[name])
    first = train(name, seed=1)
    assert train(name, seed=1) == first
    other = train(name, seed=2)
    assert any(other[group] != first[group] for group in WEIGHTS[name])
    record = first["record"]
    assert record["loss"] < record["loss_of_equal_priors"]
    assert record["hits"] > record["hits_of_random_moves"]


def test_test_positions_are_not_training_positions() -> None:
    generator, seen = random.Random(3), set[bytes]()
    sets = [samples("connect-four", 50, generator, seen) for _ in range(2)]
    keys = [{b"".join(sorted(row.tobytes() for row in sample.features)) for sample in one} for one in sets]
    assert [len(one) for one in keys] == [50, 50]
    assert not keys[0] & keys[1]


def test_the_labels_are_all_the_best_moves() -> None:
    game, generator = GAMES["connect-four"], random.Random(4)
    for _ in range(10):
        position = policies.random_position(game, policies.SOURCES["connect-four"], generator)
        values = {
            move: -alpha_beta(DepthLimited(game), Limited(game.apply(position, move), 2))
            for move in game.moves(position)
        }
        best = {move for move, value in values.items() if value == max(values.values())}
        assert policies.best_moves(game, position, 3) == best


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"mine": 1}', encoding="utf-8")
    assert claims.main(["--train-policies", str(file), "--quiet"]) == 1
    assert "mine.json: already exists and is not a file of policies" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == '{"mine": 1}'


@pytest.mark.parametrize("other", [["--quick"], ["--plot", "orders.png"]])
def test_training_and_counting_are_different_jobs(
    other: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        claims.main(["--train-policies", str(tmp_path / "new.json"), *other])
    assert capsys.readouterr().err.endswith("counts no leaves, so pass neither --quick nor --plot\n")
    assert not list(tmp_path.iterdir())


def test_the_documentation_has_the_weights_and_the_record() -> None:
    page = (PROJECT / "docs" / "policy.md").read_text(encoding="utf-8")
    for name, entry in read_policies(FILE).items():
        for group in () if name == "chess" else WEIGHTS[name]:
            weights = [str(weight) for weight in entry[group].values()]
            assert not any(entry[group].values()) or weights == [cell for cell in row_of(page, weights[0]) if cell]
        record = entry["record"]
        shares = [f"{100 * record[key]:.1f} %" for key in ("hits", "hits_of_random_moves")]
        cells = [f"{record['loss']:.3f}", f"{record['loss_of_equal_priors']:.3f}", *shares]
        assert cells == row_of(page, cells[0])
        assert f"{record['test_positions']} positions (training: {record['training_positions']:,})" in page


def row_of(page: str, first: str) -> list[str]:
    """The cells after the first one of the only row of a table whose second cell is `first`."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    (found,) = [row[1:] for row in rows if row[1] == first]
    return found


def test_the_theory_needs_no_numpy() -> None:
    program = (
        "import sys; from search.theory.policy import shipped; from search.explorer import service; "
        "shipped('connect-four').priors((0, 0)); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# --- the search ----------------------------------------------------------------------------------------------------


def test_the_learned_order_beats_history_in_leaves() -> None:
    learned = leaves("connect-four", START, 8, shipped("connect-four"))
    assert learned <= 0.5 * leaves("connect-four", START, 8, History())
    assert leaves("tic-tac-toe", (0, 0), 9, shipped("tic-tac-toe")) <= 0.5 * leaves("tic-tac-toe", (0, 0), 9, History())


def test_in_chess_too() -> None:
    board = chess.Board(claims.MIDDLEGAME)
    assert leaves("chess", board, 3, shipped("chess")) <= 0.8 * leaves("chess", board, 3, History())


def test_it_also_does_in_positions_that_training_left_out() -> None:
    ratios = [
        leaves("connect-four", position, 6, shipped("connect-four")) / leaves("connect-four", position, 6, History())
        for position in counted_positions("connect-four")
    ]
    assert len(ratios) >= 20
    assert math.exp(sum(map(math.log, ratios)) / len(ratios)) <= 0.5


@pytest.mark.parametrize("name", WEIGHTS)
def test_no_order_changes_the_value(name: str) -> None:
    game, generator = PLAYED[name], random.Random(5)
    depth = 2 if name == "chess" else 4
    for _ in range(20):
        position = policies.random_position(game, policies.SOURCES[name], generator)
        expected = alpha_beta(DepthLimited(game), Limited(position, depth))
        assert enhanced(game, position, depth, Memory(None, [shipped(name)])) == expected


def test_wins_come_first_and_then_defences() -> None:
    game, learned = GAMES["connect-four"], shipped("connect-four")
    # Both sides have three stones in a column: first win in a, else stop b.
    position = game.read("ababab")
    first, second = sorted(game.moves(position), key=lambda move: -learned.rank(position, move, 0))[:2]
    assert (game.name(first), game.name(second)) == ("a", "b")
    priors = learned.priors(position)
    assert sum(priors.values()) == pytest.approx(1)
    difference = learned.rank(position, first, 0) - learned.rank(position, second, 0)
    assert math.log(priors[first] / priors[second]) == pytest.approx(difference / SCALE)


def test_a_move_has_the_lines_through_its_square_and_the_next() -> None:
    game = GAMES["connect-four"]
    found = shipped("connect-four").features(game.read("a"), 0)
    # On the second square of column a: two columns (the stone of the opponent is in one), one row and one diagonal.
    assert sorted(feature for feature in found if feature < 8) == [0, 0, 0, 4]
    # On the third: one more line in the column. The lowest has stones of both, and the next the mover's new stone.
    assert sorted(feature - 8 for feature in found if feature >= 8) == [0, 0, 0, 1, 7]
    assert game.squares(game.read("aaaaa"), 0)[1] == 0


def test_what_counts_for_a_move_of_chess() -> None:
    names = [f"{group}: {kind}" for group, kinds in WEIGHTS["chess"].items() for kind in kinds]

    def seen(fen: str, move: str) -> list[str]:
        return [names[feature] for feature in shipped("chess").features(chess.Board(fen), chess.Move.from_uci(move))]

    # The queen takes a defended pawn, with check.
    fen = "4k3/3p4/8/8/8/8/3Q4/4K3 w - - 0 1"
    assert seen(fen, "d2d7") == [
        *("exchange: queen loses", "target: queen 1", "captured: queen takes pawn", "check: queen")
    ]
    assert seen(fen, "d2d3") == ["exchange: queen keeps", "target: queen 2"]
    # En passant wins a pawn, although the target square is empty.
    assert seen("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6") == ["exchange: pawn wins", "target: pawn 2"]


@pytest.mark.parametrize(
    ("text", "depth"), [("connect-four", 5), ("connect-four ddcd", 4), ("tic-tac-toe X../.O./...", 9)]
)
def test_the_smallest_proof_is_the_same_without_a_stored_tree(text: str, depth: int) -> None:
    name, position = named_position(text)
    value = enhanced(GAMES[name], position, depth, Memory())
    assert fewest_leaves_to_depth(GAMES[name], position, depth, value) == fewest_leaves(tree_of(text, depth))


# --- the file ------------------------------------------------------------------------------------------------------


def damaged(change: str) -> str:
    value = json.loads(FILE.read_text(encoding="utf-8"))
    entry = value["policies"]["connect-four"]
    if change == "version":
        value["version"] = 2
    elif change == "game":
        del value["policies"]["tic-tac-toe"]
    elif change == "kind":
        del entry["filled"]["own 2"]
    elif change == "weight":
        entry["playable"]["both"] = "much"
    return json.dumps(value) if change != "text" else FILE.read_text(encoding="utf-8")[:200]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("text", "line 5: not valid JSON"),
        ("version", 'expected "format": "secateur policies", "version": 1'),
        ("game", 'the policy "tic-tac-toe" must have the weights "filled"'),
        ("kind", 'the policy "connect-four" must have the weights "filled": own 0, own 1, own 2, own 3, other 1'),
        ("weight", 'the weight "both" of "playable" of "connect-four" must be a whole number'),
    ],
)
def test_a_damaged_file_is_one_line_of_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    file = tmp_path / "policies.json"
    file.write_text(damaged(change), encoding="utf-8")
    monkeypatch.setattr(policy, "FILE", file)
    shipped.cache_clear()
    try:
        with pytest.raises(PolicyError) as caught:
            shipped("tic-tac-toe")
        assert message in str(caught.value)
        assert str(caught.value).startswith(str(file))
        assert "\n" not in str(caught.value)
        asked = {"text": "tic-tac-toe:[1 2]", "algorithm": "alpha-beta", "order": {"kind": "learned"}}
        with pytest.raises(service.RequestError):
            service.trace(asked | {"text": '"tic-tac-toe .../.../...":[a3:1 b2:2]'})
    finally:
        shipped.cache_clear()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.json"):
        read_policies(tmp_path / "none.json")


# --- trees of games ------------------------------------------------------------------------------------------------


def test_the_nodes_of_a_games_tree_have_priors() -> None:
    tree = tree_of("tic-tac-toe X../.O./..X", 9)
    priors = priors_of(tree)
    assert priors is not None
    assert priors[0] is None
    for children in tree.children:
        assert not children or sum(priors[child] or 0 for child in children) == pytest.approx(1)
    expected = shipped("tic-tac-toe").priors(named_position(tree.label[0])[1])
    assert {tree.label[child]: priors[child] for child in tree.children[0]} == {
        GAMES["tic-tac-toe"].name(move): prior for move, prior in expected.items()
    }
    for siblings in ordered_children(tree, "learned"):
        found = [priors[child] or 0 for child in siblings]
        assert found == sorted(found, reverse=True)


def test_nodes_that_are_not_moves_come_last() -> None:
    tree = read_tree('"tic-tac-toe XX./OO./...":[a1:1 mine:[c3:1] c3:3 a3:2]')
    priors = priors_of(tree)
    assert priors is not None
    # a1 and c3 are moves; a3 is not free; below a node that is not a move, nothing is.
    assert [prior is not None for prior in priors] == [False, True, False, False, True, False]
    assert [tree.label[child] for child in ordered_children(tree, "learned")[0]] == ["c3", "a1", "mine", "a3"]


@pytest.mark.parametrize(
    "text", ["", "tic-tac-toe X", "tic-tac-toe XXX/.../...", "connect-four h", "connect-four aaaaaaa"]
)
def test_other_trees_have_no_learned_order(text: str) -> None:
    tree = read_tree(f"{json.dumps(text)}:[a1:1 b1:2]" if text else "[a1:1 b1:2]")
    assert priors_of(tree) is None
    with pytest.raises(TreeError, match="names no tic-tac-toe or connect-four"):
        ordered_children(tree, "learned")
    assert priors_of(uniform_tree(2, 2)) is None


def test_a_document_has_the_priors_only_in_the_learned_order() -> None:
    asked = {"text": service.example({"key": "tic-tac-toe-learned"})["text"], "algorithm": "alpha-beta"}
    assert "prior" not in service.trace(asked)["tree"]
    shown = service.trace(asked | {"order": {"kind": "learned"}})["tree"]["prior"]
    priors = priors_of(read_tree(asked["text"]))
    assert priors is not None
    assert shown == [None if prior is None else round(100 * prior, 1) for prior in priors]
