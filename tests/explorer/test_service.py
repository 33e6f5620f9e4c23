"""The requests of the page are checked, and answered by `search.theory`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.version import version
from search.explorer import service
from search.explorer.chess_document import SWITCHES
from search.explorer.examples import EXAMPLES
from search.explorer.jobs import Job, StoppedError
from search.explorer.service import Answer, RequestError
from search.explorer.statements import STATEMENTS
from search.theory.algorithms import ALGORITHMS, run
from search.theory.orders import ordered_children
from search.theory.run_text import run_as_dot, run_as_text
from search.theory.tree_text import read_tree

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"


def request(**changes: Any) -> dict[str, Any]:
    return {"text": SEVEN, "algorithm": "alpha-beta"} | changes


def search_example(key: str) -> dict[str, Any]:
    example = service.example({"key": key})
    algorithm = example["algorithm"] or "alpha-beta"
    return service.trace(request(text=example["text"], algorithm=algorithm, lattice=example["lattice"]))


def refusal(call: Answer, body: object) -> RequestError:
    with pytest.raises(RequestError) as caught:
        call(body)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_trace_is_the_run_that_was_asked_for() -> None:
    document = service.trace(request(order={"kind": "worst", "seed": 0}))
    tree = read_tree(SEVEN)
    done = run(tree, "alpha-beta", children=ordered_children(tree, "worst"))
    assert document["statistics"]["evaluated"] == done.statistics.evaluated
    assert len(document["events"]["kind"]) == len(done.events)
    assert document["order_name"] == "worst first"
    assert document["title"] == "13 nodes, 7 leaves, 3 plies"


def test_a_trace_can_be_asked_for_again() -> None:
    first = service.trace(request(order={"kind": "random", "seed": 3, "hand": {"0": [8, 1]}}, title="seven"))
    again = service.trace(json.loads(json.dumps(first["request"])))
    assert again == first
    assert first["title"] == "seven"
    assert first["order"][:2] == [0, 8]


@pytest.mark.parametrize("key", ["minimax", "alpha-beta", "pvs", "table", "engine"])
def test_a_search_is_exported_as_text_and_as_a_graph(key: str) -> None:
    done = run(read_tree(SEVEN), key)
    found = service.export(request(algorithm=key))
    assert found == {"text": run_as_text(done), "dot": run_as_dot(done)}
    assert read_tree(found["text"]) == done.tree


@pytest.mark.parametrize("key", EXAMPLES)
def test_every_example_can_be_searched(key: str) -> None:
    document = search_example(key)
    assert document["statistics"]["visited"] > 0
    if document["lattice"] is None:
        plain = service.trace(request(text=service.example({"key": key})["text"], algorithm="minimax"))
        assert document["result"]["value"] == plain["result"]["value"]


@pytest.mark.parametrize(
    ("key", "reasons"),
    [
        ("seven", ["beta-shallow", "alpha-shallow"]),
        ("calculator", ["alpha-shallow"]),
        ("alpha", ["alpha-shallow"]),
        ("beta", ["beta-shallow"]),
        ("deep", ["alpha-deep"]),
    ],
)
def test_the_small_examples_show_what_their_notes_say(key: str, reasons: list[str]) -> None:
    document = search_example(key)
    events, cut = document["events"], document["kinds"].index("cut")
    codes = [code for kind, code in zip(events["kind"], events["reason"], strict=True) if kind == cut]
    found = [document["reasons"][code]["key"] for code in codes]
    assert reasons == found or (key == "deep" and set(reasons) <= set(found))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("[1 2", 1, 5), ("[1\n  2]]", 2, 5), ("[[1 2]\n []]", 2, 2), ("[1 x:]", 1, 6), ("[1 two]", 1, 4)],
)
def test_malformed_trees_name_line_and_column(text: str, line: int, column: int) -> None:
    error = refusal(service.trace, request(text=text)).as_json()
    assert (error["line"], error["column"]) == (line, column)


def test_limits_are_refused_clearly() -> None:
    assert "1,000,000 bytes" in str(refusal(service.trace, request(text="[" + "1 " * 500_001 + "]")))
    assert "2000 plies" in str(refusal(service.trace, request(text="[" * 2002 + "1" + "]" * 2002)))
    assert "200,000 nodes" in str(refusal(service.trace, request(text="[" + "1 " * 200_001 + "]")))
    assert "200,000 nodes" in str(refusal(service.generate, {"branching": 1000, "depth": 3}))
    assert "2,000" in str(refusal(service.generate, {"branching": 1, "depth": 2001}))
    deepest = service.trace(request(text=service.generate({"branching": 1, "depth": 2000})["text"]))
    assert deepest["statistics"]["visited"] == 2001


def test_unsound_rules_are_refused_with_the_triple() -> None:
    lattice = {"kind": "M3", "spec": ""}
    error = refusal(service.trace, request(text="[c [b [a b]]]", algorithm="lattice-strong", lattice=lattice))
    assert "a meet (b join c)" in str(error)


def test_a_rule_is_forced_only_where_it_can_be_wrong() -> None:
    for kind, spec, text in (("M3", "", "[c [b [a b]]]"), ("sets", "a b", "[{a} {b}]")):
        lattice = {"kind": kind, "spec": spec}
        document = service.trace(request(text=text, algorithm="lattice-strong", lattice=lattice, force=True))
        assert document["request"].get("force", False) is (kind == "M3")


def test_counts_of_one_are_singular() -> None:
    assert service.trace(request(text="5"))["title"] == "1 node, 1 leaf, 0 plies"
    assert service.generate({"branching": 1, "depth": 1})["title"] == "1 child, 1 ply, random, seed 0"


def test_numbers_in_a_lattice_get_advice() -> None:
    lattice = {"kind": "product", "spec": "0..9 x 0..9"}
    error = refusal(service.trace, request(text="[3 [12 8]]", algorithm="lattice-weak", lattice=lattice))
    assert str(error).startswith("line 1, column 2: the leaf '3' is not an element of the product: ")
    assert str(error).endswith("; if the leaves are numbers, choose an algorithm for numbers")
    assert (error.line, error.column) == (1, 2)


SOUND = {"lattice": {"kind": "sets", "spec": "a b"}}
SEARCH = {"fen": "8/8/8/8/8/8/8/8 w - - 0 1", "moves": [], "depth": 3, "reasons": ["null-move"]}


@pytest.mark.parametrize(
    ("call", "body", "complaint"),
    [
        (service.trace, None, "expected an object with the fields text"),
        (service.trace, {}, '"text" must be a string'),
        (service.trace, request(algorithm="no such"), "unknown algorithm 'no such'"),
        (service.trace, request(format="xml"), '"format" must be null or one of'),
        (service.trace, request(lattice={"kind": "no such", "spec": ""}), "lattice: "),
        (service.trace, request(lattice={"kind": "sets", "spec": "a b"}), "compares numbers"),
        (service.trace, request(order={"kind": "no such"}), 'the "kind" of the order must be one of given'),
        (service.trace, request(order={"seed": True}), '"seed" must be a whole number'),
        (service.trace, request(order={"hand": {"0": [1, 1]}}), "must contain each child exactly once"),
        (service.trace, request(order={"hand": {"0": [8, True]}}), "must contain each child exactly once"),
        (service.trace, request(order={"hand": {"²": []}}), "is not in the tree"),
        (service.trace, request(more=1), "unknown field 'more'"),
        (service.trace, request(title="x" * 1000), "longer than 200 characters"),
        (service.example, {"key": "no such"}, "unknown example"),
        (service.generate, {"branching": 0, "depth": 1}, '"branching" must be a whole number from 1'),
        (service.generate, {"branching": 2, "depth": 2, "arrangement": "no"}, '"arrangement" must be one of'),
        (service.edit, {"text": "[1 2]", "node": 1, "change": "no such"}, '"change" must be one of add'),
        (service.edit, {"text": "[1 2]", "node": 0, "change": "remove"}, "the root cannot be removed"),
        (service.counterexample, SOUND | {"algorithm": "lattice-shallow"}, "right in every lattice"),
        (service.counterexample, SOUND | {"algorithm": "lattice-weak"}, "this lattice is distributive"),
        (service.cost, SEARCH | {"moves": "e2e4"}, '"moves" must be a list'),
        (service.cost, SEARCH | {"moves": ["e2e4"] * 2001}, "at most 2,000 strings"),
        (service.cost, SEARCH | {"depth": 0}, '"depth" must be a whole number from 1 to 60'),
        (service.cost, SEARCH | {"reasons": ["cutoff"]}, "'cutoff' cannot be switched off"),
        (service.cost, SEARCH | {"without": ["cutoff"]}, "'cutoff' cannot be switched off"),
        (service.chess, {"position": "no FEN", "depth": 1, "nodes": 1}, "neither a FEN nor a PGN"),
        (service.chess, {"position": SEARCH["fen"], "depth": 1, "nodes": 1}, "no white king"),
    ],
)
def test_what_is_wrong_with_a_request_is_one_line(
    call: Answer, body: object, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "load_kernels", lambda job: pytest.fail("the kernels were loaded"))
    assert complaint in str(refusal(call, body))


def test_a_search_that_is_stopped_ends_where_it_is() -> None:
    told: list[str] = []

    class Impatient(Job):
        def check(self) -> None:
            told.append(self.progress)
            if len(told) == 20:
                self.stop()
            super().check()

    text = service.generate({"branching": 3, "depth": 7})["text"]
    with pytest.raises(StoppedError):
        service.trace(request(text=text, algorithm="minimax"), Impatient())
    assert len(told) == 20
    assert told[-1] == "searching 3,280 nodes, as given"


def test_a_job_that_is_stopped_says_so_once_to_each_who_asked() -> None:
    job = Job()
    heard: list[str] = []
    job.when_stopped(lambda: heard.append("before"))
    job.check()
    job.stop()
    job.stop()
    job.when_stopped(lambda: heard.append("after"))
    assert heard == ["before", "after"]
    with pytest.raises(StoppedError):
        job.check()


def test_the_catalogue_names_everything() -> None:
    catalogue = service.catalogue()
    assert [row["key"] for row in catalogue["algorithms"]] == list(ALGORITHMS)
    assert [row["key"] for row in catalogue["examples"]] == list(EXAMPLES)
    assert all(row["note"] for name in ("algorithms", "lattices", "examples") for row in catalogue[name])
    assert catalogue["techniques"] == list(SWITCHES)
    assert catalogue["version"] == version()


def test_every_statement_is_judged_as_it_is() -> None:
    findings = {key: service.check({"key": key})["finding"] for key in STATEMENTS}
    wrong = {key for key, finding in findings.items() if finding.startswith("No")}
    assert wrong == {"half_is_saved", "still_gets_two", "eight_plies_of_chess", "strong_is_always_sound"}
    assert "511 of 65,536 leaves, 2.00 roots" in findings["square_root"]
    assert "Yes, in some trees: 4,096 of 4,096 leaves." in findings["worst_case"]
    assert "Instead of 8 plies: 14.2 in best order (branching factor 2.18)" in findings["twice_as_deep"]
    assert "minimax finds 5, step 5 finds 5, and step 8 (alpha-beta) finds 5" in findings["derivation"]
    assert all(f"def {key}" in statement.source for key, statement in STATEMENTS.items())
