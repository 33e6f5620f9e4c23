// Small helpers for what every part of the page does with its elements.

export const $ = (id) => document.getElementById(id);
export const number = (value) => Number(value).toLocaleString("en");
/** A count, and how many times another one it is. */
export const times = (count, usual) => `${number(count)} (×${(count / Math.max(usual, 1)).toFixed(2)})`;

/** A row of a table, of texts. */
export function tableRow(cells, tag = "td") {
  const row = document.createElement("tr");
  for (const text of cells) {
    const cell = document.createElement(tag);
    cell.textContent = text;
    row.append(cell);
  }
  return row;
}

function option(text, value, group, groups) {
  const made = new Option(text, value);
  if (!group) return made;
  if (!groups.has(group)) {
    const parent = document.createElement("optgroup");
    parent.label = group;
    groups.set(group, parent);
  }
  groups.get(group).append(made);
  return groups.get(group);
}

/** Fills a select with rows of {key, name, group}; `before` are options in front of them. */
export function fill(select, rows, before = []) {
  const groups = new Map();
  select.replaceChildren(...before, ...new Set(rows.map((row) => option(row.name, row.key, row.group, groups))));
}
