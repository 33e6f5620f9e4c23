// Statements about alpha-beta, each in a cell whose code can be run.

import {toggleCode} from "./code.js";
import {initialise, openTab, setGivenOrder, setLattice, setTree, showChoices} from "./searching.js";
import {busily, search} from "./server.js";
import {$, make, PLAIN} from "./shared.js";

/** Fills the dialog with a cell for each of `statements`, rows of {key, text, source, tree}. */
export function fillStatements(statements) {
  $("statements").replaceChildren(...statements.map(({key, text, source, tree}) => {
    const cell = make("section", "", {className: "cell"}), finding = make("p", "", {className: "finding", ariaLive: "polite"});
    const code = make("details");
    code.append(make("summary", "Code"), make("pre", source, {tabIndex: 0}));
    const run = make("button", "Run", {type: "button", onclick: () => busily(async () => {
      finding.textContent = "Computing …";
      finding.textContent = (await search("check", {key})).finding;
    }).then((done) => { if (finding.textContent === "Computing …") finding.textContent = "This could not be computed."; return done; })});
    const show = make("button", "Step through it", {type: "button", hidden: !tree, onclick: () => {
      $("statements-dialog").close();
      setTree(tree, "");
      openTab("text");
      setLattice(null);
      setGivenOrder();
      $("algorithm").value = PLAIN;
      $("compare").value = "";
      showChoices();
      toggleCode(true);
      initialise();
    }});
    cell.append(make("p", `“${text}”`), finding, run, " ", show, code);
    cell.dataset.key = key;
    return cell;
  }));
}
