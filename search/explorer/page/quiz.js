// The quiz: guess before the search which branches will be cut off.

import {setEditing} from "./edit.js";
import {$, first, isChess, isGuessing, state} from "./shared.js";
import {jump, setStepping, toTheEnd} from "./stepping.js";
import {SKIPPED} from "./trace.js";

/** Returns the text that judges the guesses after the search. A guess is right if it marks the top of a cut branch. */
function verdict(trace, replay, guesses) {
  const isTop = (node) => replay.status(node) === SKIPPED && !replay.skipped(trace.parent[node]);
  const branches = trace.parent.reduce((count, _, node) => count + (node > 0 && isTop(node)), 0);
  const found = [...guesses].filter(isTop).length;
  const wrong = [...guesses].filter((node) => !replay.skipped(node)).length;
  const inside = guesses.size - found - wrong;
  const parts = [branches === 0 ? "Nothing was cut." : `You found ${found} of ${branches} cut branches.`];
  if (wrong) parts.push(`${wrong} ${wrong === 1 ? "mark is" : "marks are"} on nodes that were visited.`);
  if (inside) parts.push(`${inside} ${inside === 1 ? "mark lies" : "marks lie"} inside a cut branch: mark its top.`);
  if (branches && found === branches && !wrong && !inside) parts.push("All correct!");
  return parts.join(" ");
}

export function startQuiz() {
  if (isChess() || !first()) return;
  // The words for newcomers lead to the answers.
  $("welcome").hidden = true;
  setEditing(false);
  state.quiz = {checked: false};
  jump(0);
  first().guesses = new Set();
  document.body.classList.add("is-quizzing");
  $("quiz-check").disabled = false;
  $("quiz-start").textContent = "Start again";
  $("quiz-score").textContent = "Mark the branches that will be cut.";
  setStepping(false);
  first().view.draw();
}

/** Marks a node as a guess, or removes its mark, if the quiz is waiting for marks. */
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
  $("quiz-score").textContent = verdict(first().trace, first().replay, first().guesses);
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
