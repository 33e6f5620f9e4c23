// Events in words. The sentences come with the document, so that every reader of it says the same; the Python twin is
// `search.theory.events.explain`.

function fill(template, fields) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in fields ? fields[name] : whole));
}

/** One or two sentences on event number `index` of a trace. */
export function describe(trace, index) {
  const {events} = trace;
  const other = events.other[index], kind = trace.kind(index);
  const reason = trace.reasons[events.reason[index]];
  const windowed = kind === "enter" && events.alpha[index] >= 0;
  const template = reason && reason.key ? reason.text : trace.sentences[windowed ? "enter-window" : kind];
  return fill(template ?? kind, {
    node: trace.name(events.node[index]),
    other: other >= 0 ? trace.name(other) : "",
    alpha: trace.text(events.alpha[index]),
    beta: trace.text(events.beta[index]),
    value: trace.text(events.value[index]),
  });
}
