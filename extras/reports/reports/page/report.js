"use strict";
// Shows the data of a report. The part of the address after "#" says what is shown: step, tab and function.

const WORDS = new RegExp({{WORDS}}, "g");
const TABS = ["overview", "changes", "graph", "schedule", "checks", "memory", "assembly", "times"];
const AROUND = 3, LONGEST = 600;
let data, selected = -1, selectedFunction = "", zoom = null, unfolded = false;

const byId = (id) => document.getElementById(id);
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : what.endsWith("s") ? "es" : "s"}`;

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

// Functions change their names when they work in place, or when a loop in them is outlined for threads.
const OUTLINED = /(_in_place)?(_parallel\d*)?(_chunk)?$/;
const baseOf = (fn) => fn.replace(OUTLINED, "");
const compiled = (fn) => Object.keys(data.assembly).filter((name) => name === fn || baseOf(name) === baseOf(fn));
const address = (parameters) => `#${new URLSearchParams(parameters)}`;

// Links from a function to all that is known of it, but for where the reader is.
function links(fn) {
  const { step, tab } = state(), base = baseOf(fn), measured = calls(fn);
  const about = (test) => data.steps.findIndex((s) => s.remarks.some((r) => r.function === base && test(r)));
  const applied = about((r) => r.steps.length), scheduled = applied < 0 ? about(() => true) : applied;
  const link = (is, to, text) => (is && to.tab !== tab ? [element("a", { href: address(to) }, text)] : []);
  return element("span", { className: "links" },
    ...link(scheduled >= 0, { step: scheduled, tab: "schedule", fn: base }, "schedule"),
    ...link(Object.keys(data.assembly).length, { step, tab: "assembly", fn: base }, "assembly"),
    ...link(measured, { step, tab: "times" }, measured ? time(measured.seconds) : ""));
}

// The measured calls of a function, and their mean time.
function calls(fn) {
  const rows = (data.profile?.rows ?? []).filter((r) => baseOf(r.function) === baseOf(fn));
  const count = rows.reduce((n, r) => n + r.calls, 0), seconds = rows.reduce((sum, r) => sum + r.seconds, 0);
  const least = rows.reduce((sum, r) => sum + r.least, 0);
  return count ? { count, seconds: seconds / count, least: least / count, share: seconds / data.profile.seconds } : null;
}

const percent = (share) => `${Math.min(100, 100 * share).toFixed(0)} %`;
// How near measured calls are to the limit of one core.
const quality = ({ least, seconds }) => (!least ? "" : least / seconds > 0.7 ? "good" : least / seconds > 0.3 ? "fair" : "bad");

// What is shown

function state() {
  const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const step = Math.min(Math.max(Number(found.step ?? firstChange()) || 0, 0), data.steps.length - 1);
  const start = data.steps.some((s) => s.error) || "step" in found ? "changes" : "overview";
  return { step, tab: TABS.includes(found.tab) ? found.tab : start, fn: found.fn ?? "" };
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
  byId("road").replaceChildren(...road(now, most));
  byId("tabs").replaceChildren(
    ...TABS.filter(isThere).map((tab) => element("button", { role: "tab", "aria-current": String(tab === now.tab), onclick: () => go({ tab }) }, tab)),
    element("span", { className: "step" },
      element("button", { title: "the pass before", onclick: () => go({ step: Math.max(now.step - 1, 0) }) }, "◀"), " ",
      element("button", { title: "the next pass", onclick: () => go({ step: Math.min(now.step + 1, data.steps.length - 1) }) }, "▶")));
  byId("road").querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest", inline: "center" });
  const views = { overview, changes, graph, schedule, checks, memory, assembly, times };
  byId("view").replaceChildren(...[views[now.tab](step, now)].flat());
  mark();
  if (now.fn) document.querySelector(`details[data-fn="${CSS.escape(now.fn)}"]`)?.scrollIntoView({ block: "nearest" });
}

// What is shown, by names: another report may have other passes.
function shown() {
  const { step, tab, fn } = state(), pass = data.steps[step].name;
  return { pass, number: data.steps.slice(0, step).filter((s) => s.name === pass).length, tab, fn };
}

// Returns whether anything else is shown now.
function goTo({ pass, number, tab, fn }) {
  const now = state(), found = data.steps.map((s, n) => n).filter((n) => data.steps[n].name === pass);
  const to = { step: found[Math.min(number, found.length - 1)] ?? now.step, tab: isThere(tab) ? tab : "changes", fn };
  if (to.step === now.step && to.tab === now.tab && to.fn === now.fn) return false;
  go(to);
  return true;
}

// The passes. Those that change nothing are folded, unless one of them is shown.
function road(now, most) {
  const isQuiet = (s, i) => i > 0 && !s.error && !Object.keys(s.changes).length && !s.remarks.length && !s.findings.length;
  const found = [];
  for (let i = 0, end; i < data.steps.length; i = end) {
    end = i + 1;
    while (!unfolded && isQuiet(data.steps[i], i) && end < data.steps.length && isQuiet(data.steps[end], end)) end++;
    const names = data.steps.slice(i, end).map((s) => s.name);
    if (end > i + 1 && (now.step < i || now.step >= end)) found.push(element("button", { className: "quiet", title: `without changes: ${names.join(", ")}`, "aria-label": `${names.length} passes without changes`, onclick: () => { unfolded = true; show(); } }, `⋯ ${names.length}`));
    else found.push(...range(i, end).map((n) => passButton(data.steps[n], n, isQuiet(data.steps[n], n), now, most)));
  }
  return found;
}

function passButton(s, i, quiet, now, most) {
  const count = Object.keys(s.changes).length;
  const titles = [s.name, time(s.seconds), `changes ${plural(count, "function")}`, s.verdict, s.error.split("\n")[0]];
  const current = i === now.step && now.tab !== "overview";
  return element("button",
    { className: s.error ? "error" : quiet ? "quiet" : "", title: titles.filter(Boolean).join("\n"), "aria-current": String(current), onclick: () => go({ step: i, tab: now.tab === "overview" ? "changes" : now.tab }) },
    s.name, count ? element("sup", {}, String(count)) : null,
    sign(s),
    element("span", { className: "bar", style: `width: ${(100 * s.seconds) / most}%` }));
}

function sign(step) {
  if (!step.findings.length) return null;
  const worst = verdictKinds(step)[0];
  return element("span", { className: worst === "wrong" ? "bad" : UNSURE.includes(worst) ? "dim" : "good" }, worst === "wrong" ? " ✗" : UNSURE.includes(worst) ? " ?" : " ✓");
}

function isThere(tab) {
  const has = { checks: () => data.steps.some((s) => s.findings.length), graph: () => data.drawings.length, memory: () => data.plans.length, assembly: () => Object.keys(data.assembly).length, schedule: () => data.steps.some((s) => s.remarks.length) };
  return has[tab]?.() ?? true;
}

async function main() {
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  data = JSON.parse(await new Response(stream).text());
  for (const listing of data.listings) listing.lines = listing.text.split("\n");
  const passes = data.steps.length - 1;
  byId("head").append(element("h1", {}, data.name), element("p", {}, `${[`relex ${data.version}`, data.target, plural(passes, "pass")].filter(Boolean).join(" · ")}`));
  addEventListener("hashchange", () => {
    show();
    // A page with two reports lets the other one follow.
    if (parent !== window) parent.postMessage({ shown: shown() }, "*");
  });
  addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by && !event.target.closest("input, pre")) go({ step: Math.min(Math.max(state().step + by, 0), data.steps.length - 1) });
    if (event.key === "Escape" && selected >= 0) select(selected);
  });
  show();
  document.documentElement.dataset.ready = "true";
}
