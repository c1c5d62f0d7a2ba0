"use strict";
// Schedules, by function

const said = (remark) => remark.message.replace(` of @${remark.function}:`, ":");

function schedule(step, now) {
  if (!step.remarks.length) {
    const found = data.steps.map((s, n) => [s, n]).filter(([s]) => s.remarks.length);
    const others = found.flatMap(([s, n]) => ["; ", element("a", { href: address({ step: n, tab: "schedule" }) }, s.name)]).slice(1);
    const most = found.map(([, n]) => n).reduce((best, n) => (data.steps[n].remarks.length > data.steps[best].remarks.length ? n : best));
    return [element("p", { className: "note" }, `${step.name} says nothing about schedules. These do: `, ...others, `. Here is what ${data.steps[most].name} says:`), ...schedule(data.steps[most], { ...now, step: most })];
  }
  const names = [...new Set(step.remarks.map((r) => r.function))];
  return names.map((name) => {
    const remarks = step.remarks.filter((r) => r.function === name);
    const box = element("details", { "data-fn": name, open: name === now.fn || (names.length < 4 && !now.fn) },
      element("summary", {}, element("b", {}, name || "module"), element("span", { className: "note" }, short(remarks)),
        element("span", { className: "links" }, element("a", { href: address({ step: now.step, tab: "changes", fn: name }) }, "before and after")), links(name)));
    box.append(...remarks.map(decision));
    return box;
  });
}

// The rules that were applied, in a few words.
const short = (remarks) => [...new Set(remarks.filter((r) => r.steps.length).map((r) => said(r).split(": ").slice(1).join(": ")))].join("; ");

function decision(remark) {
  const refused = remark.notes.length ? element("details", { className: "plain" }, element("summary", {}, `${plural(remark.notes.length, "rule")} that ${remark.notes.length === 1 ? "does" : "do"} not apply, and why`),
    element("pre", { innerHTML: colored(remark.notes.join("\n")) })) : null;
  return element("div", { className: "decision", "data-place": data.places.indexOf(remark.place) },
    element("div", { innerHTML: colored(said(remark)) }),
    remark.steps.length ? element("ol", { className: "steps" }, ...remark.steps.map((text) => element("li", { innerHTML: colored(text) }))) : null, refused);
}

// Verdicts of checks

const VERDICTS = ["wrong", "open", "undecided", "checked", "proved", "unchanged"], UNSURE = ["open", "undecided"];
const MEANING = {
  wrong: "a mistake was found", open: "could not be checked", undecided: "could not be decided", checked: "same results for samples",
  proved: "for all values; by check-tir: in bounds, no races, nothing read before it is written", unchanged: "same text",
};
const verdictKinds = (step) => VERDICTS.filter((kind) => step.findings.some((f) => f.kind === kind));

function checks() {
  const rows = data.steps.map((s, n) => [s, n]).filter(([s]) => s.findings.length);
  const all = rows.flatMap(([s]) => s.findings);
  const used = VERDICTS.filter((kind) => all.some((f) => f.kind === kind));
  const row = ([s, n]) => {
    const kinds = verdictKinds(s);
    const box = element("details", { className: "plain", "data-step": n, open: kinds.includes("wrong") }, element("summary", {}, ...kinds.map((kind) => verdict(kind, s.findings.filter((f) => f.kind === kind).length)),
      element("span", { className: "note" }, shortList(s.findings.map((f) => f.function)))));
    box.append(element("ul", {}, ...s.findings.map((f) => element("li", {}, verdict(f.kind), element("b", {}, f.function), f.step ? element("code", { innerHTML: ` ${colored(f.step)}` }) : null, f.why ? ` ${f.why}` : null))));
    return element("tr", {}, element("td", {}, element("a", { href: address({ step: n, tab: "changes" }) }, s.name)), element("td", {}, box));
  };
  return [element("h2", {}, used.map((kind) => `${all.filter((f) => f.kind === kind).length} ${kind}`).join(", ")),
    element("p", { className: "note" }, used.map((kind) => `${kind}: ${MEANING[kind]}`).join("; ")), element("table", {}, ...rows.map(row))];
}

const verdict = (kind, count) => element("span", { className: `verdict ${kind}`, title: MEANING[kind] }, count === undefined ? kind : `${count} ${kind}`);
const shortList = (names) => { const found = [...new Set(names)]; return found.length > 4 ? `${found.slice(0, 3).join(", ")} and ${found.length - 3} more` : found.join(", "); };

// Machine code, with what threads run of a function beside it

function assembly(step, now) {
  const all = Object.keys(data.assembly), names = [...new Set(all.map(baseOf))];
  const wanted = baseOf(now.fn), name = names.includes(wanted) ? wanted : slowest(names);
  const missing = now.fn && !names.includes(wanted) ? [element("p", { className: "note" }, `There is no code of ${now.fn} by itself: LLVM puts small functions into those that call them.`)] : [];
  const parts = compiled(name).map((part) => ({ part, lines: data.assembly[part].split("\n") })).map((p) => ({ ...p, loop: hotLoop(p.lines) }));
  parts.sort((a, b) => (b.loop?.count ?? 0) - (a.loop?.count ?? 0));
  return [...choose(names, name), ...missing, ...parts.map(({ part, lines, loop }) => {
    const code = (from, to) => element("pre", { className: "asm", innerHTML: instructions(lines.slice(from, to), data.lines[part].slice(from, to), (n) => loop && n + from >= loop.from && n + from < loop.to) });
    const first = loop ? [element("p", {}, element("a", { href: "#", onclick: (event) => { event.preventDefault(); whole.querySelector(".hot").scrollIntoView({ block: "center" }); } }, "The innermost loop with the most arithmetic"), `: ${plural(loop.to - loop.from, "line")}, of them ${loop.count} that compute`), code(loop.from, loop.to)] : [];
    const whole = code(0, lines.length);
    return element("section", { "data-fn": part }, element("h2", {}, `${part}: ${plural(lines.length, "line")}`), links(part), ...first, ...(first.length ? [element("h2", {}, "All of it")] : []), whole);
  })];
}

// Instructions, with the line of the program that they come from above the first of several.
function instructions(lines, places, isHot) {
  let last = -1;
  return lines.map((text, n) => {
    const place = places[n] ?? -1, isNew = place >= 0 && place !== last;
    last = isNew ? place : last;
    const comment = isNew ? `<span class="from" data-place="${place}">${escape(`${placeName(place)}  ${source(place).slice(0, 100)}`.trim())}</span>\n` : "";
    return `${comment}<span data-place="${place}"${isHot(n) ? ' class="hot"' : ""}>${instruction(text)}</span>`;
  }).join("\n");
}

// The function to look at first: the one that takes the most time of a measured call, else the one that computes most.
function slowest(names) {
  const seconds = new Map((data.profile?.rows ?? []).map((r) => [baseOf(r.function), r.seconds]));
  const counts = new Map(names.map((name) => [name, Math.max(...compiled(name).map((part) => hotLoop(data.assembly[part].split("\n"))?.count ?? 0))]));
  const order = (a, b) => (seconds.get(b) ?? 0) - (seconds.get(a) ?? 0) || counts.get(b) - counts.get(a);
  return [...names].sort(order)[0];
}

// The innermost loop, from a label to a jump back to it, that has the most arithmetic on vectors and floats.
const ARITHMETIC = /^\s*(?:v?(?:fn?m(?:add|sub)|(?:add|sub|mul|div|max|min|sqrt)[sp][sdh]\b|pdp|pmadd|padd|psub|pmul)|fml[as]|f(?:add|sub|mul|div|max|min|sqrt)|[us]dot)/;
function hotLoop(lines) {
  const labels = new Map(lines.flatMap((text, n) => { const label = /^(\S+):/.exec(text); return label ? [[label[1], n]] : []; }));
  const jump = (text) => /^\s+(?:j\w+|b(?:\.\w+)?|t?cbn?z|tbn?z|b\w+)\s+(?:.*,\s*)?(\S+)\s*(?:[#/].*)?$/.exec(text)?.[1];
  const loops = lines.flatMap((text, n) => { const from = labels.get(jump(text)); return from !== undefined && from < n ? [{ from, to: n + 1 }] : []; });
  // Of blocks in another order, a jump back may lead to a part of a loop: others then jump into what is between.
  const jumps = lines.flatMap((text, n) => { const to = labels.get(jump(text)); return to === undefined ? [] : [[n, to]]; });
  const isWhole = ({ from, to }) => !jumps.some(([n, at]) => at > from && at < to && (n < from || n >= to));
  const whole = loops.filter(isWhole);
  const innermost = (whole.length ? whole : loops).filter((loop) => !loops.some((other) => other !== loop && other.from >= loop.from && other.to <= loop.to && other.to - other.from < loop.to - loop.from));
  const counted = innermost.map((loop) => ({ ...loop, count: lines.slice(loop.from, loop.to).filter((text) => ARITHMETIC.test(text)).length }));
  return counted.reduce((best, loop) => (loop.count > (best?.count ?? 0) ? loop : best), null);
}

const REGISTERS = /(%[a-z]+\d*[a-z]*(?:\{[^}]*\})*|\b(?:[xwvqdsz]\d+|sp)\b)|(#.*$|\/\/.*$)|(\$-?\d\w*|-?\b0x[\da-f]+)/g;
function instruction(text) {
  const [, indent, name, rest] = /^(\s*)(\S*)(.*)$/.exec(text);
  const colors = (part) => {
    let last = 0, html = "";
    for (const match of part.matchAll(REGISTERS)) {
      const kind = match[1] !== undefined ? "value" : match[2] !== undefined ? "dim" : "string";
      html += `${escape(part.slice(last, match.index))}<span class="${kind === "value" ? "register" : kind}">${escape(match[0])}</span>`;
      last = match.index + match[0].length;
    }
    return html + escape(part.slice(last));
  };
  return `${indent.replace("\t", "  ")}<span class="${name.endsWith(":") ? "symbol" : "op"}">${escape(name)}</span>${colors(rest)}`;
}

// Times

function bars(rows) {
  const most = Math.max(...rows.map((r) => r.seconds), 1e-12);
  return element("table", {}, ...rows.map((r) => element("tr", {},
    element("td", { className: "number" }, time(r.seconds), r.least ? element("div", { className: "note" }, `${Math.min(100, (100 * r.least) / r.seconds).toFixed(0)} %`) : null),
    element("td", { className: "wide" }, element("div", { className: "meter", style: `width: ${(100 * r.seconds) / most}%` }),
      r.least ? element("div", { className: "meter limit", title: `at least ${time(r.least)}`, style: `width: ${(100 * r.least) / most}%` }) : null),
    element("td", {}, r.link ? element("a", { href: r.link }, r.name) : r.name, element("div", { className: "note" }, r.about)))));
}

function times() {
  const found = [], profile = data.profile;
  if (profile) {
    const rows = profile.rows.map((r) => ({ ...r, name: r.calls > 1 ? `${r.function} × ${r.calls}` : r.function,
      about: `(${r.inputs.join(", ")}) → (${r.outputs.join(", ")}): ${r.gigaflops.toFixed(1)} GF/s, ${r.gigabytes.toFixed(1)} GB/s`,
      link: compiled(r.function).length ? address({ step: state().step, tab: "assembly", fn: r.function }) : "" }));
    found.push(element("h2", {}, `${profile.function}: ${time(profile.seconds)} a run, the median of ${profile.runs}`),
      ...(rows.some((r) => r.least) ? [element("p", { className: "note" }, "The thin bar is the least time that the arithmetic and the memory of one core allow, and the percentage is its share of the time.")] : []), bars(rows));
  }
  const rows = data.steps.slice(1).map((s, n) => ({ name: s.name, seconds: s.seconds, about: "", link: `#step=${n + 1}&tab=changes` }));
  const total = rows.reduce((sum, r) => sum + r.seconds, 0);
  return [...found, element("h2", {}, `Passes: ${time(total)}${data.llvm ? `; LLVM: ${time(data.llvm)}` : ", without LLVM"}`), bars(rows)];
}
