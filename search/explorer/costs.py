"""Node counts of searches without single techniques. A recording's statistics only estimate them.

Each count comes from a separate search of the same position to the same depth. This search starts from an empty TT and,
because the position is its root, with an open window. The counts, and a document's `costs`, have this form:

    {"depth", "nodes", "value", "without": [{"reason", "nodes", "value"}]}

The first "nodes" and "value" (centipawns, from the side to move's view) belong to the unchanged search, the others to
the search without each reason's technique. Like `search.explorer.recording`, this module needs the tracing build.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from search.explorer.chess_document import SWITCHES, Document, RecordingError
from search.explorer.jobs import Job
from search.explorer.positions import replay
from search.explorer.recording import record
from search.game import Game
from search.limits import Limits


def costs_at(
    game: Game, depth: int, reasons: Iterable[str], job: Job, *, classical: bool = False, without: Iterable[str] = ()
) -> dict[str, Any]:
    """Searches a position to `depth` unchanged, then without each technique of `reasons` (keys of SWITCHES).

    Returns the counts. `classical` and `without` apply to all searches, as in `record`. Tells the job which search is
    running. Raises `StoppedError` if the job is stopped, because the count of an interrupted search means nothing.
    """
    asked, off = list(dict.fromkeys(reasons)), list(without)
    found: list[dict[str, Any]] = []
    for number, reason in enumerate(["", *asked], start=1):
        what = f"without {reason}" if reason else "unchanged"
        job.go_on(f"search {number} of {len(asked) + 1}, {what}")
        now = [*off, reason] if reason else off
        search = Job()
        job.when_stopped(search.stop)
        result = record(game, Limits(depth=depth), 1, classical=classical, without=now, job=search)["result"]
        job.check()
        found.append({"reason": reason, "nodes": result["nodes"], "value": result["value"]})
    unchanged, *others = found
    return {"depth": depth, "nodes": unchanged["nodes"], "value": unchanged["value"], "without": others}


def costs_of_search(document: Document, job: Job) -> dict[str, Any]:
    """Returns `costs_at` for the search of a document, to its last complete depth, with each technique that it used.

    Raises RecordingError and PositionError.
    """
    complete = [iteration["depth"] for iteration in document["iterations"] if iteration["complete"]]
    if not complete:
        raise RecordingError("no iteration is complete, so there is nothing to compare with")
    game = replay(document["fen"], document["before"], chess960=document["chess960"])
    used = {row["key"] for row in document["statistics"]["reasons"]}
    reasons = [key for key in SWITCHES if key in used]
    classical = document["evaluation"] == "classical"
    return costs_at(game, complete[-1], reasons, job, classical=classical, without=document["without"])
