// What is shown, and by what: shared by all parts of the page. `main.js` makes the panels and the player.

/** `panels` are those that step together: one or two of `trees`, or `chess`. `request` is what made the tree, null for
 * an imported one; `base` and `hand` are the order of its children; `turn` counts what was asked for. */
export const state = {
  panels: [], trees: {}, chess: null, player: null,
  request: null, title: "", base: {kind: "given", seed: 1}, hand: {}, turn: 0,
  follow: true, quiz: null, problem: null,
  examples: [], algorithms: [], lattices: [], techniques: [],
};

export const first = () => state.panels[0];
export const isChess = () => state.panels.length > 0 && state.panels[0] === state.chess;
export const position = () => Math.max(0, ...state.panels.map((panel) => panel.index));
export const algorithmOf = (key) => state.algorithms.find((algorithm) => algorithm.key === key);
/** Whether the quiz waits for marks. */
export const isGuessing = () => state.quiz !== null && !state.quiz.checked;
