// The quiz: guess before the search which branches will be cut off.

import {SKIPPED} from "./trace.js";

/** The branches that a search has cut off: their topmost nodes. */
export function cutBranches(trace, replay) {
  const branches = [];
  for (let node = 1; node < trace.nodes; node++) {
    if (replay.status(node) === SKIPPED && !replay.skipped(trace.parent[node])) branches.push(node);
  }
  return branches;
}

/** How good guesses were, at the end of the search: a guess is right on the top of a branch that was cut off. */
export function judge(trace, replay, guesses) {
  const branches = new Set(cutBranches(trace, replay));
  const found = [...branches].filter((node) => guesses.has(node)).length;
  const wrong = [...guesses].filter((node) => !replay.skipped(node)).length;
  return {found, branches: branches.size, wrong, inside: guesses.size - found - wrong};
}

export function verdict({found, branches, wrong, inside}) {
  const parts = [branches === 0 ? "Nothing was cut." : `You found ${found} of ${branches} cut branches.`];
  if (wrong) parts.push(`${wrong} ${wrong === 1 ? "mark is" : "marks are"} on nodes that were visited.`);
  if (inside) parts.push(`${inside} ${inside === 1 ? "mark lies" : "marks lie"} inside a cut branch: mark its top.`);
  if (branches && found === branches && !wrong && !inside) parts.push("All right!");
  return parts.join(" ");
}
