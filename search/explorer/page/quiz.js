// The quiz: guess before the search which branches will be cut off.

import {$, first, isChess, isGuessing, state} from "./shared.js";
import {jump, setStepping, toTheEnd} from "./stepping.js";
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

export function startQuiz() {
  if (isChess() || !first()) return;
  jump(0);
  state.quiz = {checked: false};
  first().guesses = new Set();
  document.body.classList.add("is-quizzing");
  $("quiz-check").disabled = false;
  $("quiz-start").textContent = "Start again";
  $("quiz-score").textContent = "Mark the branches that will be cut.";
  setStepping(false);
  first().view.draw();
}

/** Marks a node, or takes the mark away; nothing outside of the quiz. */
export function toggleGuess(node) {
  if (!isGuessing() || node <= 0) return;
  const {guesses} = first();
  if (!guesses.delete(node)) guesses.add(node);
  $("quiz-score").textContent = `${guesses.size} marked.`;
  first().view.draw();
}

export function checkQuiz() {
  if (!isGuessing()) return;
  state.quiz.checked = true;
  document.body.classList.remove("is-quizzing");
  setStepping(true);
  toTheEnd();
  $("quiz-check").disabled = true;
  $("quiz-score").textContent = verdict(judge(first().trace, first().replay, first().guesses));
}

export function stopQuiz() {
  state.quiz = null;
  state.trees.a.guesses = null;
  document.body.classList.remove("is-quizzing");
  $("quiz-check").disabled = true;
  $("quiz-start").textContent = "Start";
  $("quiz-score").textContent = "";
  setStepping(true);
}
