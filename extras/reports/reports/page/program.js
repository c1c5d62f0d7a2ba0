"use strict";
// The program before and after a pass

function changes(step, now) {
  const before = data.steps.slice(0, now.step).reverse().find((s) => Object.keys(s.functions).length)?.functions ?? {};
  const changed = Object.keys(step.changes), all = Object.keys(step.functions);
  const same = all.filter((name) => !(name in step.changes));
  const first = now.step === 0;
  if (!Object.keys(step.functions).length && step.error) return failure(step, before);
  const heading = first ? "The program as it was read" : `${step.name}: ${time(step.seconds)}, ${plural(changed.length, "changed function")} of ${all.length}`;
  return [
    element("h2", {}, heading),
    step.error ? element("pre", { className: "bad" }, step.error) : "",
    step.verdict ? element("p", { className: "note" }, element("a", { href: address({ step: now.step, tab: "checks" }) }, step.verdict)) : "",
    ...changed.map((name, i) => part(name, before[name], step.functions[name], step.changes[name], i < 6 || name === now.fn)),
    ...(first || !same.length ? [] : [element("p", { className: "note" }, `${plural(same.length, "function")} without changes`)]),
    ...same.map((name, i) => part(name, undefined, step.functions[name], null, (first && i < 3) || name === now.fn)),
  ];
}

// A pass that failed, and the program that it met.
function failure(step, before) {
  const wrong = new Set(step.findings.map((f) => f.function));
  return [element("h2", {}, `${step.name}: failed after ${time(step.seconds)}`), element("pre", { className: "bad" }, step.error),
    ...Object.keys(before).map((name) => part(name, undefined, before[name], null, wrong.has(name)))];
}

// A function, rendered when it is opened. Without changes there is one column.
function part(name, before, after, change, open) {
  const counts = change ? [change.reduce((n, c) => n + c[1] - c[0], 0), change.reduce((n, c) => n + c[3] - c[2], 0)] : [];
  const about = !change ? "" : before === undefined ? "new" : after === undefined ? "removed" : `−${counts[0]} +${counts[1]}`;
  const box = element("details", { "data-fn": name }, element("summary", {}, element("b", {}, name), element("span", { className: "note" }, about), links(name)));
  const fill = () => {
    if (box.open && !box.querySelector(".diff")) {
      box.append(change && before !== undefined && after !== undefined ? beside(before, after, change) : alone(after ?? before, change ? (after === undefined ? "removed" : "added") : ""));
      mark();
    }
  };
  box.addEventListener("toggle", fill);
  box.open = open;
  return box;
}

function line(listing, number, classes) {
  const text = data.listings[listing].lines[number];
  const indent = text.length - text.trimStart().length;
  return element("div", { className: classes, style: `--in: ${indent}`, innerHTML: colored(text), "data-listing": listing, "data-line": number, "data-place": data.listings[listing].places[number] });
}

const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n);
const isNarrow = () => matchMedia("(max-width: 720px)").matches;
const blank = (classes) => element("div", { className: `${classes} blank` });

function beside(before, after, change) {
  const rows = [], grid = element("div", { className: "code diff" });
  let i = 0, k = 0;
  const equal = (end) => {
    const pairs = [];
    for (; i < end; i++, k++) pairs.push([line(before, i, "old"), line(after, k, "new")]);
    return pairs;
  };
  const lines = data.listings[before].lines.length;
  for (const [from, to, newFrom, newTo] of [...change, [lines, lines, 0, 0]]) {
    const pairs = equal(from), head = rows.length ? AROUND : 0, tail = from === lines ? 0 : AROUND;
    if (pairs.length > head + tail + 2) {
      const hidden = pairs.slice(head, pairs.length - tail).flat();
      const fold = element("div", { className: "fold", onclick: () => { fold.replaceWith(...hidden); mark(); } }, `… ${hidden.length / 2} equal lines …`);
      rows.push(...pairs.slice(0, head).flat(), fold, ...pairs.slice(pairs.length - tail).flat());
    } else rows.push(...pairs.flat());
    const old = range(from, to).map((n) => line(before, n, "old removed"));
    const fresh = range(newFrom, newTo).map((n) => line(after, n, "new added"));
    if (isNarrow()) rows.push(...old, ...fresh);
    else for (let n = 0; n < Math.max(old.length, fresh.length); n++) rows.push(old[n] ?? blank("old"), fresh[n] ?? blank("new"));
    if (from !== lines) [i, k] = [to, newTo];
  }
  return append(grid, rows);
}

function alone(listing, classes) {
  return append(element("div", { className: "code diff one" }), data.listings[listing].lines.map((_, n) => line(listing, n, classes)));
}

// Long texts come piece by piece, so that the page stays quick.
function append(grid, rows) {
  grid.append(...rows.slice(0, LONGEST));
  if (rows.length > LONGEST) {
    const more = element("div", { className: "fold", onclick: () => { more.remove(); append(grid, rows.slice(LONGEST)); mark(); } }, `… ${rows.length - LONGEST} more …`);
    grid.append(more);
  }
  return grid;
}

// Where an op comes from, and what became of it

function select(place, fn) {
  selected = place === selected && (fn ?? selectedFunction) === selectedFunction ? -1 : place;
  selectedFunction = fn ?? selectedFunction;
  byId("origin")?.remove();
  if (selected >= 0) document.body.append(origin());
  mark();
}

function mark() {
  for (const found of document.querySelectorAll(".same")) found.classList.remove("same");
  if (selected >= 0) for (const found of document.querySelectorAll(`[data-place="${selected}"]`)) found.classList.add("same");
}

// The bytes of a value's type, in its definition: of the operand that is named, or of the last result.
function sizeOf(text, name) {
  const types = [...text.matchAll(/(?:tensor|memref|vector)<((?:\d+x)*)b?[a-z]+(\d+)\w*>/g)];
  const own = types.find((t) => text.slice(0, t.index).endsWith(`${name}: `)) ?? types.at(-1);
  if (!own) return "";
  const count = own[1].split("x").slice(0, -1).reduce((product, size) => product * Number(size), 1);
  return `${own[0]}: ${bytes((count * Math.max(Number(own[2]), 8)) / 8)}`;
}

// Nodes of models have names, not lines.
const placeName = (place) => (data.places[place] ?? "").replace(/:0:0$/, "");

function source(place) {
  const found = /^(.*):(\d+):(\d+)$/.exec(data.places[place] ?? "");
  return found ? (data.sources[found[1]] ?? "").split("\n")[found[2] - 1]?.trim() ?? "" : "";
}

function origin() {
  const where = [];
  let shown = "";
  data.steps.forEach((step, n) => {
    const found = Object.entries(step.functions).map(([fn, l]) => [fn, data.listings[l].places.filter((p) => p === selected).length]).filter(([, count]) => count);
    const text = JSON.stringify(found);
    if (text === shown || !Object.keys(step.functions).length) return;
    shown = text;
    where.push(element("div", {}, `${step.name}: `, ...(found.length ? found.map(([fn, count]) => element("a", { href: address({ step: n, tab: "changes", fn }) }, `${fn} (${count})`)) : [element("span", { className: "dim" }, "nothing is left of it")])));
  });
  const fn = selectedFunction ? baseOf(selectedFunction) : "";
  const decisions = data.steps.flatMap((s) => s.remarks).filter((r) => fn && r.function === fn && r.steps.length);
  return element("section", { id: "origin" },
    element("button", { onclick: () => select(selected), style: "float: right; padding: 0 8px", "aria-label": "close" }, "×"),
    element("b", {}, placeName(selected)), element("pre", { innerHTML: colored(source(selected)) }),
    ...(fn ? [element("div", {}, element("b", {}, selectedFunction), links(selectedFunction), ...decisions.map((r) => element("div", { className: "dim", innerHTML: colored(said(r)) })))] : []),
    ...where);
}

function definition(listing, number, name) {
  const lines = data.listings[listing].lines, word = name.replace(/[$.]/g, "\\$&");
  const defines = new RegExp(`${word}(?:, %[\\w$.-]+)* = |${word}(?:: |, .* = | @)`);
  for (let n = number; n >= 0; n--) if (defines.test(lines[n])) return lines[n].trim();
  return "";
}

document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-place]");
  if (event.target.closest("#origin, a") || !found || Number(found.dataset.place) < 0 || String(getSelection())) return;
  select(Number(found.dataset.place), found.dataset.callee ?? found.closest("[data-fn]")?.dataset.fn ?? "");
});

document.addEventListener("dblclick", (event) => {
  const box = event.target.closest("[data-callee]");
  if (box) go({ tab: "changes", fn: box.dataset.callee });
});

document.addEventListener("mouseover", (event) => {
  const value = event.target.closest?.(".value"), row = event.target.closest?.("[data-line]"), tip = byId("tip");
  const about = event.target.closest?.("[data-tip]");
  let text = about?.dataset.tip ?? "";
  if (value && row) {
    const place = Number(row.dataset.place);
    const defined = definition(Number(row.dataset.listing), Number(row.dataset.line), value.textContent);
    text = [defined, sizeOf(defined, value.textContent), placeName(place), source(place)].filter(Boolean).join("\n");
  }
  tip.innerHTML = colored(text);
  tip.hidden = !text;
  tip.style.left = `${Math.min(event.clientX + 12, innerWidth - Math.min(tip.offsetWidth, innerWidth) - 8)}px`;
  tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18}px`;
});
