"use strict";
// Shows the data of a report. The part of the address after "#" says what is shown: step, tab and function.

const WORDS = new RegExp({{WORDS}}, "g");
const TABS = ["changes", "graph", "schedule", "memory", "assembly", "times"];
const AROUND = 3, LONGEST = 600;
let data, selected = -1;

const byId = (id) => document.getElementById(id);
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((c) => c !== null));
  return made;
}

const time = (s) => (s >= 1 ? `${s.toFixed(2)} s` : s >= 1e-3 ? `${(s * 1e3).toFixed(1)} ms` : `${(s * 1e6).toFixed(1)} µs`);
const bytes = (n) => (n >= 1 << 20 ? `${(n / (1 << 20)).toFixed(1)} MiB` : n >= 1 << 10 ? `${(n / 1024).toFixed(1)} KiB` : `${n} B`);

function colored(text) {
  let last = 0, html = "";
  for (const match of text.matchAll(WORDS)) {
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    html += `${escape(text.slice(last, match.index))}<span class="${kind}">${escape(match[0])}</span>`;
    last = match.index + match[0].length;
  }
  return html + escape(text.slice(last));
}

// What is shown

function state() {
  const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const step = Math.min(Math.max(Number(found.step ?? firstChange()) || 0, 0), data.steps.length - 1);
  return { step, tab: TABS.includes(found.tab) ? found.tab : "changes", fn: found.fn ?? "" };
}

function firstChange() {
  const found = data.steps.findIndex((s) => Object.keys(s.changes).length);
  return found < 0 ? 0 : found;
}

function go(change) {
  const parameters = new URLSearchParams(Object.entries({ ...state(), ...change }).filter(([, v]) => v !== ""));
  // A page inside another page, as in a notebook, has no address to change, but shows the same.
  if (`#${parameters}` === location.hash) show();
  else location.hash = parameters;
}

function show() {
  const now = state(), step = data.steps[now.step];
  const most = Math.max(...data.steps.map((s) => s.seconds), 1e-9);
  byId("road").replaceChildren(...data.steps.map((s, i) => {
    const count = Object.keys(s.changes).length;
    const titles = [s.name, time(s.seconds), `changes ${plural(count, "function")}`, s.verdict, s.error];
    return element("button",
      { className: s.error ? "error" : i && !count && !s.remarks.length ? "quiet" : "", title: titles.filter(Boolean).join("\n"), "aria-current": String(i === now.step), onclick: () => go({ step: i }) },
      s.name, count ? element("sup", {}, String(count)) : null,
      s.verdict ? element("span", { className: /open|not /.test(s.verdict) ? "bad" : "good" }, " ✓") : null,
      element("span", { className: "bar", style: `width: ${(100 * s.seconds) / most}%` }));
  }));
  byId("tabs").replaceChildren(
    ...TABS.filter(isThere).map((tab) => element("button", { role: "tab", "aria-current": String(tab === now.tab), onclick: () => go({ tab }) }, tab)),
    element("span", { className: "step" },
      element("button", { title: "the pass before", onclick: () => go({ step: Math.max(now.step - 1, 0) }) }, "◀"), " ",
      element("button", { title: "the next pass", onclick: () => go({ step: Math.min(now.step + 1, data.steps.length - 1) }) }, "▶")));
  const views = { changes, graph, schedule, memory, assembly, times };
  byId("view").replaceChildren(...[views[now.tab](step, now)].flat());
  mark();
  if (now.fn) document.querySelector(`details[data-fn="${CSS.escape(now.fn)}"]`)?.scrollIntoView({ block: "nearest" });
}

function isThere(tab) {
  const has = { graph: () => data.drawings.length, memory: () => data.plans.length, assembly: () => Object.keys(data.assembly).length, schedule: () => data.steps.some((s) => s.remarks.length) };
  return has[tab]?.() ?? true;
}

// The program before and after a pass

function changes(step, now) {
  const before = data.steps.slice(0, now.step).reverse().find((s) => !s.error)?.functions ?? {};
  const changed = Object.keys(step.changes), all = Object.keys(step.functions);
  const same = all.filter((name) => !(name in step.changes));
  const first = now.step === 0;
  const heading = first ? "The program as it was read" : `${step.name}: ${time(step.seconds)}, ${plural(changed.length, "changed function")} of ${all.length}`;
  return [
    element("h2", {}, heading),
    ...[step.error, step.verdict].filter(Boolean).map((text) => element("p", { className: "note" }, text)),
    ...changed.map((name, i) => part(name, before[name], step.functions[name], step.changes[name], i < 6 || name === now.fn)),
    ...(first || !same.length ? [] : [element("p", { className: "note" }, `${plural(same.length, "function")} without changes`)]),
    ...same.map((name, i) => part(name, undefined, step.functions[name], null, (first && i < 3) || name === now.fn)),
  ];
}

// A function, rendered when it is opened. Without changes there is one column.
function part(name, before, after, change, open) {
  const counts = change ? [change.reduce((n, c) => n + c[1] - c[0], 0), change.reduce((n, c) => n + c[3] - c[2], 0)] : [];
  const about = !change ? "" : before === undefined ? "new" : after === undefined ? "removed" : `−${counts[0]} +${counts[1]}`;
  const box = element("details", { "data-fn": name }, element("summary", {}, element("b", {}, name), element("span", { className: "note" }, about)));
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

function select(place) {
  selected = place === selected ? -1 : place;
  byId("origin")?.remove();
  if (selected >= 0) document.body.append(origin());
  mark();
}

function mark() {
  for (const found of document.querySelectorAll(".same")) found.classList.remove("same");
  if (selected >= 0) for (const found of document.querySelectorAll(`[data-place="${selected}"]`)) found.classList.add("same");
}

function source(place) {
  const found = /^(.*):(\d+):(\d+)$/.exec(data.places[place] ?? "");
  return found ? (data.sources[found[1]] ?? "").split("\n")[found[2] - 1]?.trim() ?? "" : "";
}

function origin() {
  const links = [];
  let shown = "";
  data.steps.forEach((step, n) => {
    const where = Object.entries(step.functions).map(([fn, l]) => [fn, data.listings[l].places.filter((p) => p === selected).length]).filter(([, count]) => count);
    const text = JSON.stringify(where);
    if (text === shown || step.error) return;
    shown = text;
    links.push(element("div", {}, `${step.name}: `, ...(where.length ? where.map(([fn, count]) => element("a", { href: `#${new URLSearchParams({ step: n, tab: "changes", fn })}` }, `${fn} (${count})`)) : [element("span", { className: "dim" }, "nothing is left of it")])));
  });
  return element("section", { id: "origin" },
    element("button", { onclick: () => select(selected), style: "float: right; padding: 0 8px", "aria-label": "close" }, "×"),
    element("b", {}, data.places[selected]), element("pre", { innerHTML: colored(source(selected)) }), ...links);
}

function definition(listing, number, name) {
  const lines = data.listings[listing].lines, word = name.replace(/[$.]/g, "\\$&");
  const defines = new RegExp(`${word}(?:, %[\\w$.-]+)* = |${word}(?:: |, .* = | @)`);
  for (let n = number; n >= 0; n--) if (defines.test(lines[n])) return lines[n].trim();
  return "";
}

document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-place]");
  if (found && Number(found.dataset.place) >= 0 && !String(getSelection())) select(Number(found.dataset.place));
});

document.addEventListener("mouseover", (event) => {
  const value = event.target.closest?.(".value"), row = event.target.closest?.("[data-line]"), tip = byId("tip");
  tip.hidden = true;
  if (!value || !row) return;
  const place = Number(row.dataset.place);
  const text = [definition(Number(row.dataset.listing), Number(row.dataset.line), value.textContent), data.places[place], source(place)].filter(Boolean).join("\n");
  tip.innerHTML = colored(text);
  tip.hidden = !text;
  tip.style.left = `${Math.min(event.clientX + 12, innerWidth - Math.min(tip.offsetWidth, innerWidth) - 8)}px`;
  tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : event.clientY + 18}px`;
});

// Pictures

function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function choose(names, chosen) {
  return names.length < 2 ? [] : [element("p", {}, ...names.map((name) => element("button", { "aria-current": String(name === chosen), style: "margin: 2px; padding: 1px 8px", onclick: () => go({ fn: name }) }, name)))];
}

function graph(step, now) {
  const names = Object.keys(step.drawings);
  if (!names.length) return element("p", { className: "note" }, "After this pass there are no graphs any more, or not yet: choose another pass.");
  const name = names.includes(now.fn) ? now.fn : names[0];
  const drawing = data.drawings[step.drawings[name]];
  const picture = svg("svg", { width: drawing.width, height: drawing.height, role: "img", "aria-label": `graph of ${name}` });
  for (const [from, to, label] of drawing.arrows) {
    const a = drawing.boxes[from], b = drawing.boxes[to], y = a.y + a.height, middle = (y + b.y) / 2;
    picture.append(svg("path", { d: `M ${a.x} ${y} C ${a.x} ${middle}, ${b.x} ${middle}, ${b.x} ${b.y - 4}` }), svg("path", { d: `M ${b.x - 3} ${b.y - 6} l 3 6 l 3 -6` }));
    picture.append(svg("text", { class: "small", x: a.x + (b.x - a.x) * 0.16 + 4, y: y + 0.25 * (b.y - y) + 8 }, label));
  }
  for (const box of drawing.boxes) {
    const place = data.places.indexOf(box.place);
    const group = svg("g", { class: box.kind, tabindex: 0, "data-place": place }, svg("title", {}, `${box.title} ${box.detail}\n${box.place}`),
      svg("rect", { x: box.x - box.width / 2, y: box.y, width: box.width, height: box.height, rx: 5 }),
      svg("text", { x: box.x, y: box.y + 17, "text-anchor": "middle" }, box.title));
    box.rows.forEach((row, n) => group.append(svg("text", { class: "small", x: box.x, y: box.y + 33 + 16 * n, "text-anchor": "middle" }, row)));
    if (box.callee) group.addEventListener("dblclick", () => go({ tab: "changes", fn: box.callee }));
    picture.append(group);
  }
  return [...choose(names, name), element("div", { className: "scroll" }, picture)];
}

function schedule(step) {
  if (!step.remarks.length) {
    const links = data.steps.map((s, n) => [s, n]).filter(([s]) => s.remarks.length);
    return element("p", { className: "note" }, "This pass says nothing; these do: ", ...links.flatMap(([s, n]) => [element("a", { href: `#step=${n}&tab=schedule` }, s.name), " "]));
  }
  return step.remarks.map((remark) => element("details", { "data-fn": remark.function, "data-place": data.places.indexOf(remark.place) },
    element("summary", { innerHTML: colored(remark.message) }), element("pre", { innerHTML: colored(remark.notes.join("\n") || "no other rule was tried") })));
}

function memory() {
  return data.plans.flatMap((plan) => {
    const wide = Math.max(18, Math.min(70, 1100 / plan.steps.length)), high = 300, left = 78;
    const picture = svg("svg", { width: left + wide * plan.steps.length + 20, height: high + 40, role: "img", "aria-label": `memory of ${plan.function}` });
    for (const share of [0, 0.5, 1]) picture.append(svg("text", { class: "small", x: 4, y: 20 + high * share }, bytes(Math.round(plan.bytes * share))));
    plan.buffers.forEach((b, n) => {
      const box = { x: left + wide * b.first, y: 14 + (high * b.offset) / plan.bytes, width: wide * (b.last - b.first + 1) - 2, height: Math.max(2, (high * b.bytes) / plan.bytes - 1) };
      const about = `%${b.name}: ${b.type}, ${bytes(b.bytes)} at ${b.offset}, from ${plan.steps[b.first]} to ${plan.steps[b.last]}`;
      picture.append(svg("g", {}, svg("title", {}, about), svg("rect", { ...box, style: `fill: hsl(${(n * 67) % 360} 60% 60% / .45)` }),
        ...(box.height > 12 && box.width > 30 ? [svg("text", { class: "small", x: box.x + 4, y: box.y + 11 }, `%${b.name}`.slice(0, Math.floor(box.width / 7)))] : [])));
    });
    const sum = plan.buffers.reduce((total, b) => total + b.bytes, 0);
    return [element("h2", {}, `${plan.function}: ${bytes(plan.bytes)} for buffers of ${bytes(sum)}`),
      element("div", { className: "scroll" }, picture),
      element("p", { className: "note" }, `Steps from left to right: ${plan.steps.join(", ")}`)];
  });
}

function assembly(step, now) {
  const names = Object.keys(data.assembly), name = names.includes(now.fn) ? now.fn : names[0];
  return [...choose(names, name), element("h2", {}, `${name}: ${plural(data.assembly[name].split("\n").length, "line")}`), element("pre", {}, data.assembly[name])];
}

// Times

function bars(rows) {
  const most = Math.max(...rows.map((r) => r.seconds), 1e-12);
  return element("table", {}, ...rows.map((r) => element("tr", {},
    element("td", { className: "number" }, time(r.seconds)),
    element("td", { className: "wide" }, element("div", { className: "meter", style: `width: ${(100 * r.seconds) / most}%` }),
      r.least ? element("div", { className: "meter limit", title: `at least ${time(r.least)}`, style: `width: ${(100 * r.least) / most}%` }) : null),
    element("td", {}, r.link ? element("a", { href: r.link }, r.name) : r.name, element("div", { className: "note" }, r.about)))));
}

function times() {
  const found = [], profile = data.profile;
  if (profile) {
    const rows = profile.rows.map((r) => ({ ...r, name: r.calls > 1 ? `${r.function} × ${r.calls}` : r.function,
      about: `(${r.inputs.join(", ")}) → (${r.outputs.join(", ")}): ${r.gigaflops.toFixed(1)} GF/s, ${r.gigabytes.toFixed(1)} GB/s`,
      link: r.function in data.assembly ? `#${new URLSearchParams({ tab: "assembly", fn: r.function })}` : "" }));
    found.push(element("h2", {}, `${profile.function}: ${time(profile.seconds)} a run, the median of ${profile.runs}`),
      ...(rows.some((r) => r.least) ? [element("p", { className: "note" }, "The thin bar is the least time that the processor's arithmetic and memory allow.")] : []), bars(rows));
  }
  const rows = data.steps.slice(1).map((s, n) => ({ name: s.name, seconds: s.seconds, about: "", link: `#step=${n + 1}&tab=changes` }));
  const total = rows.reduce((sum, r) => sum + r.seconds, 0);
  return [...found, element("h2", {}, `Passes: ${time(total)}, without LLVM and the making of this report`), bars(rows)];
}

async function main() {
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  data = JSON.parse(await new Response(stream).text());
  for (const listing of data.listings) listing.lines = listing.text.split("\n");
  const passes = data.steps.length - 1;
  byId("head").append(element("h1", {}, data.name), element("p", {}, `${[`relex ${data.version}`, data.target, plural(passes, "pass").replace("passs", "passes")].filter(Boolean).join(" · ")}`));
  addEventListener("hashchange", show);
  addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && !event.target.closest("input, pre")) go({ step: Math.min(Math.max(state().step + by, 0), data.steps.length - 1) });
    if (event.key === "Escape" && selected >= 0) select(selected);
  });
  show();
  document.documentElement.dataset.ready = "true";
}

main();
