"""What the page asks for is checked, and answered by the theory room."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.version import version
from search.explorer import service
from search.explorer.chess_document import SWITCHES
from search.explorer.examples import EXAMPLES
from search.explorer.jobs import Job, StoppedError
from search.explorer.service import RequestError
from search.theory.algorithms import ALGORITHMS, run
from search.theory.orders import ordered_children
from search.theory.tree_text import read_tree

SEVEN = "[A:[B:[5 6] C:[7 4]] D:[E:[3 2] 8]]"


def request(**changes):
    return {"text": SEVEN, "algorithm": "alpha-beta"} | changes


def refusal(call, body):
    with pytest.raises(RequestError) as caught:
        call(body)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_trace_is_the_run_that_was_asked_for():
    document = service.trace(request(order={"kind": "worst", "seed": 0}))
    tree = read_tree(SEVEN)
    done = run(tree, "alpha-beta", children=ordered_children(tree, "worst"))
    assert document["statistics"]["evaluated"] == done.statistics.evaluated
    assert len(document["events"]["kind"]) == len(done.events)
    assert document["order_name"] == "worst first"


def test_a_trace_can_be_asked_for_again():
    first = service.trace(request(order={"kind": "random", "seed": 3, "hand": {"0": [8, 1]}}, title="seven"))
    again = service.trace(json.loads(json.dumps(first["request"])))
    assert again == first
    assert first["title"] == "seven"
    assert first["order"][:2] == [0, 8]


@pytest.mark.parametrize("key", EXAMPLES)
def test_every_example_can_be_searched(key):
    example = service.example({"key": key})
    algorithm = example["algorithm"] or "alpha-beta"
    document = service.trace(request(text=example["text"], algorithm=algorithm, lattice=example["lattice"]))
    assert document["statistics"]["visited"] > 0
    if example["lattice"] is None:
        assert (
            document["result"]["value"]
            == service.trace(request(text=example["text"], algorithm="minimax"))["result"]["value"]
        )


def test_the_small_examples_show_what_their_notes_say():
    def cuts(key, algorithm="alpha-beta"):
        example = service.example({"key": key})
        document = service.trace(request(text=example["text"], algorithm=algorithm, lattice=example["lattice"]))
        codes = document["events"]["reason"]
        kinds = document["events"]["kind"]
        cut = document["kinds"].index("cut")
        return [document["reasons"][code]["key"] for kind, code in zip(kinds, codes, strict=True) if kind == cut]

    assert cuts("seven") == ["beta-shallow", "alpha-shallow"]
    assert cuts("calculator") == ["alpha-shallow"]
    assert cuts("alpha") == ["alpha-shallow"]
    assert cuts("beta") == ["beta-shallow"]
    assert "alpha-deep" in cuts("deep")
    strong = service.trace(
        service.trace(request(**{k: v for k, v in service.example({"key": "strong"}).items() if k not in ("title",)}))[
            "request"
        ]
    )
    assert strong["statistics"]["visited"] == 5


def test_orders_count_what_each_costs():
    rows = {row["key"]: row for row in service.orders(request(text="[[3 12 8] [2 4 6] [14 5 2]]"))["rows"]}
    assert rows["best"]["evaluated"] == 5
    assert rows["worst"]["evaluated"] == 9
    assert rows["given"]["chosen"]
    tree = read_tree("[[3 12 8] [2 4 6] [14 5 2]]")
    assert rows["given"]["evaluated"] == run(tree, "alpha-beta").statistics.evaluated


def test_orders_of_a_lattice_are_only_those_it_has():
    rows = service.orders(
        request(text="[{a} [{b} {a,b}]]", algorithm="lattice-weak", lattice={"kind": "sets", "spec": "a b"})
    )
    evaluated = {row["key"]: row["evaluated"] for row in rows["rows"]}
    assert evaluated["best"] is None
    assert evaluated["given"] is not None


def test_orders_of_a_large_tree_are_not_tried():
    text = service.generate({"branching": 2, "depth": 13})["text"]
    assert service.orders(request(text=text))["rows"] == []


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("[1 2", 1, 5), ("[1\n  2]]", 2, 5), ("[[1 2]\n []]", 2, 2), ("[1 x:]", 1, 6), ("[1 two]", 1, 4)],
)
def test_malformed_trees_name_line_and_column(text, line, column):
    error = refusal(service.trace, request(text=text))
    assert (error.line, error.column) == (line, column)
    assert error.as_json()["line"] == line


def test_limits_are_refused_clearly():
    assert "1,000,000 bytes" in str(refusal(service.trace, request(text="[" + "1 " * 500_001 + "]")))
    assert "2000 plies" in str(refusal(service.trace, request(text="[" * 2002 + "1" + "]" * 2002)))
    assert "200,000 nodes" in str(refusal(service.trace, request(text="[" + "1 " * 200_001 + "]")))
    assert "200,000 nodes" in str(refusal(service.generate, {"branching": 1000, "depth": 3}))
    assert "2,000" in str(refusal(service.generate, {"branching": 1, "depth": 2001}))


def test_a_tree_of_the_greatest_depth_is_searched():
    document = service.trace(request(text=service.generate({"branching": 1, "depth": 2000})["text"]))
    assert document["statistics"]["visited"] == 2001


def test_unsound_rules_are_refused_with_the_triple():
    error = refusal(
        service.trace, request(text="[c [b [a b]]]", algorithm="lattice-strong", lattice={"kind": "M3", "spec": ""})
    )
    assert "a meet (b join c)" in str(error)


def test_a_tree_of_numbers_in_a_lattice_is_told_what_to_do():
    lattice = {"kind": "product", "spec": "0..9 x 0..9"}
    error = refusal(service.trace, request(text="[3 [12 8]]", algorithm="lattice-weak", lattice=lattice))
    assert str(error).startswith("line 1, column 2: the leaf '3' is no element of a product: ")
    assert str(error).endswith("; if these are numbers, choose an algorithm with numbers")
    assert (error.line, error.column) == (1, 2)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "x",
        {},
        {"text": 1, "algorithm": "alpha-beta"},
        request(algorithm="no such"),
        request(algorithm=None),
        request(format="xml"),
        request(format=[]),
        request(lattice="chain"),
        request(lattice={"kind": "no such", "spec": ""}),
        request(lattice={"kind": "sets", "spec": "a b"}),
        request(order={"kind": "no such"}),
        request(order={"kind": []}),
        request(order={"seed": -1}),
        request(order={"seed": 1.5}),
        request(order={"seed": True}),
        request(order={"hand": []}),
        request(order={"hand": {"0": [1, 1]}}),
        request(order={"hand": {"99": []}}),
        request(order={"hand": {"²": []}}),
        request(order={"hand": {"0": [8, "1"]}}),
        request(more=1),
        request(title="x" * 1000),
    ],
)
def test_requests_that_are_none_are_refused(body):
    refusal(service.trace, body)


@pytest.mark.parametrize("body", [None, {"key": 1}, {"key": "no such"}, {"key": []}])
def test_examples_that_are_none_are_refused(body):
    refusal(service.example, body)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"branching": 0, "depth": 1},
        {"branching": 2, "depth": "3"},
        {"branching": 2, "depth": 2, "arrangement": "no"},
        {"branching": 2, "depth": 2, "arrangement": []},
    ],
)
def test_generating_what_is_no_tree_is_refused(body):
    refusal(service.generate, body)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"fen": 1}, '"fen" is a text'),
        ({"moves": "e2e4"}, '"moves" is a list'),
        ({"moves": [1]}, '"moves" is a list'),
        ({"moves": ["e2e4"] * 2001}, "at most 2,000 texts"),
        ({"depth": 0}, '"depth" is a whole number from 1 to 60'),
        ({"chess960": 1}, '"chess960" is true or false'),
        ({"reasons": ["cutoff"]}, "'cutoff' cannot be switched off"),
        ({"without": ["cutoff"]}, "'cutoff' cannot be switched off"),
        ({"more": 1}, "no field 'more'"),
    ],
)
def test_counting_what_cannot_be_counted_is_refused(change, complaint):
    body = {"fen": "8/8/8/8/8/8/8/8 w - - 0 1", "moves": [], "depth": 3, "reasons": ["null-move"]} | change
    assert complaint in str(refusal(service.cost, body))


def test_bad_positions_are_refused_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr(service, "_load_kernels", lambda job: pytest.fail("the kernels were loaded"))
    for position, complaint in (("no FEN", "neither a FEN nor a PGN"), ("8/8/8/8/8/8/8/8 w - - 0 1", "no white king")):
        assert complaint in str(refusal(service.chess, {"position": position, "depth": 1, "nodes": 1}))


@pytest.mark.parametrize("call", [service.trace, service.orders])
def test_a_search_that_is_stopped_ends_where_it_is(call):
    job = Job()
    told = []
    check = job.check

    def stop_after_a_while() -> None:
        told.append(job.progress)
        if len(told) == 20:
            job.stop()
        check()

    job.check = stop_after_a_while
    text = service.generate({"branching": 3, "depth": 7})["text"]
    with pytest.raises(StoppedError):
        call(request(text=text, algorithm="minimax"), job)
    assert len(told) == 20
    assert told[-1] == "searching 3,280 nodes, as given"


def test_a_job_that_is_stopped_says_so_once_to_each_who_asked():
    job, heard = Job(), []
    job.when_stopped(lambda: heard.append("before"))
    job.check()
    assert not job.is_stopped
    job.stop()
    job.stop()
    job.when_stopped(lambda: heard.append("after"))
    assert heard == ["before", "after"]
    assert job.is_stopped
    with pytest.raises(StoppedError):
        job.check()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "text": st.text('[]12 a:{}",\n', max_size=30) | JSON,
            "algorithm": st.sampled_from(list(ALGORITHMS)) | JSON,
            "format": st.sampled_from([None, "list", "indented", "json"]) | JSON,
            "lattice": JSON,
            "order": JSON | st.fixed_dictionaries({"kind": st.sampled_from(["given", "best"]), "hand": JSON}),
        },
    )
)
def test_any_request_is_answered_or_refused(body):
    for call in (service.trace, service.orders, service.example, service.generate):
        try:
            json.dumps(call(body))
        except RequestError as error:
            message = str(error)
        else:
            message = ""
        assert "\n" not in message


def test_the_catalogue_names_everything():
    catalogue = service.catalogue()
    assert [row["key"] for row in catalogue["algorithms"]] == list(ALGORITHMS)
    assert [row["key"] for row in catalogue["examples"]] == list(EXAMPLES)
    assert all(row["note"] for name in ("algorithms", "lattices", "examples") for row in catalogue[name])
    assert catalogue["techniques"] == list(SWITCHES)
    assert catalogue["version"] == version()


# --------------------------------------------------------------------------------------------------------------
# Whatever a request holds
# --------------------------------------------------------------------------------------------------------------

REQUESTS = {
    "example": {"key": "seven"},
    "generate": {"branching": 2, "depth": 3, "arrangement": "random", "seed": 1},
    "trace": {
        "text": SEVEN,
        "format": "list",
        "algorithm": "alpha-beta",
        "lattice": {"kind": "product", "spec": "0..1 x 0..1"},
        "order": {"kind": "given", "seed": 1, "hand": {"0": [8, 1]}},
        "title": "seven",
    },
    "orders": {"text": SEVEN, "algorithm": "alpha-beta", "order": {"kind": "given", "seed": 1, "hand": {"0": [8, 1]}}},
    "chess": {"position": "startpos", "after": None, "depth": 1, "nodes": 1},
    "cost": {
        "fen": "startpos",
        "moves": ["e2e4"],
        "chess960": False,
        "depth": 1,
        "classical": False,
        "without": [],
        "reasons": ["null-move"],
    },
}

JUNK = (
    None,
    True,
    0,
    -1,
    1.0,
    8.0,
    1e308,
    10**299,
    "",
    "x" * 100_000,
    "\x1b[31m\0\n",
    "٣",
    "²",
    "9" * 5000,
    [],
    [[]],
    [[[[[[]]]]]],
    [{}],
    [8, True],
    [8, 1.0],
    [1.5, 8],
    [8, None],
    ["8", "1"],
    [8, [1]],
    [10**299, 1],
    ["0000"] * 3000,
    {},
    {"": ""},
    {"0": [8, True]},
    {"0": [8.0, 1]},
    {"0": [8, [1]]},
    {"0": {"8": 1}},
    {"²": [8, 1]},
    {"-1": [8, 1]},
    {"kind": [], "spec": {}},
    {"kind": {}, "seed": [], "hand": []},
)


def places(value, path=()):
    """The path to every value within a value."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def with_junk(value, path, junk):
    if not path:
        return junk
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = with_junk(value[path[0]], path[1:], junk)
    return changed


@pytest.mark.parametrize("name", REQUESTS)
def test_whatever_a_field_holds_is_answered_or_refused_in_one_line(name, monkeypatch):
    def stop(job):
        raise StoppedError

    monkeypatch.setattr(service, "_load_kernels", stop)
    answer = getattr(service, name)
    refusals = []
    for path in places(REQUESTS[name]):
        for junk in JUNK:
            try:
                json.dumps(answer(with_junk(REQUESTS[name], path, junk)), allow_nan=False)
            except StoppedError:
                continue
            except RequestError as error:
                refusals.append(str(error))
    assert len(refusals) > 20
    assert [text for text in refusals if not text.isprintable() or len(text) > 1000] == []
