"""Node counts of searches, each with one technique switched off. A recording's statistics only estimate the savings.

Each count comes from a separate search of the same position to the same depth. Each search starts from an empty TT, and
the window of a node above does not limit it. The counts, and a document's `costs`, have this form:

    {"depth", "nodes", "value", "without": [{"reason", "nodes", "value"}]}

The outer "nodes" and "value" (centipawns, from the side to move's view) belong to the unchanged search. Those in
"without" belong to the search without the technique that "reason" names. This module needs the tracing build.
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
    """Searches a position to `depth` plies: once unchanged, and once without each of `reasons` (keys of SWITCHES).

    Returns the node counts. `classical` and `without` apply to all searches, as in `record`. Tells the job which search
    is running. Raises RecordingError if `record` does, and `StoppedError` if the job is stopped.
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
    """Returns the node counts of `costs_at` for a document's position, to the depth of its last complete iteration.

    The techniques are those that the document's statistics list. Raises RecordingError if no iteration is complete,
    PositionError if the document's moves cannot be replayed, and `StoppedError` if the job is stopped.
    """
    complete = [iteration["depth"] for iteration in document["iterations"] if iteration["complete"]]
    if not complete:
        raise RecordingError("no iteration is complete, so there are no node counts to compare")
    game = replay(document["fen"], document["before"], chess960=document["chess960"])
    used = {row["key"] for row in document["statistics"]["reasons"]}
    reasons = [key for key in SWITCHES if key in used]
    classical = document["evaluation"] == "classical"
    return costs_at(game, complete[-1], reasons, job, classical=classical, without=document["without"])
