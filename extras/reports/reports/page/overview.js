"use strict";
// What the passes made of the program, and where the time goes

const MOST_LOSSES = 5;

function overview() {
  const found = data.overview, step = data.steps[found.graph];
  const names = step ? Object.keys(data.steps[0].drawings).filter((name) => name in step.drawings) : [];
  const wanted = state().fn || data.profile?.function, name = names.includes(wanted) ? wanted : names[0];
  const drawing = name === undefined ? null : data.drawings[step.drawings[name]];
  const about = data.profile ? "below each, the time of a call and its share of what the arithmetic and the memory of one core allow" : "a call with arguments, by ex.report(...) or relex-run, adds times";
  return [
    ...headline(found),
    element("ul", { className: "counts" }, ...found.counts.map(({ before, after }) => element("li", {}, before, element("span", { className: "dim" }, " → "), element("b", {}, after))), element("li", {}, ...compilation())),
    ...losses(found),
    ...(drawing ? [element("h2", {}, `What ${name} calls`), ...choose(names, name), ...framed(drawing, name, about, true)] : []),
    element("p", { className: "note" }, "Click on a box, or on any line of the program, to see where it comes from and what all passes made of it."),
  ];
}

function headline({ least }) {
  const profile = data.profile;
  if (!profile) return [];
  const share = least ? `, of which one core needs at least ${time(least)} (${percent(least / profile.seconds)})` : "";
  return [element("p", { className: "headline" }, element("b", {}, time(profile.seconds)), ` a run of ${profile.function}${share}`)];
}

function compilation() {
  const passes = data.steps.reduce((sum, s) => sum + s.seconds, 0);
  const slowest = data.steps.reduce((best, s) => (s.seconds > best.seconds ? s : best));
  const llvm = data.llvm ? [` and ${time(data.llvm)} by LLVM`] : [];
  return [`compiled in ${time(passes)} by ${plural(data.steps.length - 1, "pass")}`, ...llvm, ...(slowest.seconds ? [", most of it in ", element("a", { href: address({ step: data.steps.indexOf(slowest), tab: "changes" }) }, slowest.name)] : [])];
}

function losses(found) {
  if (!found.losses.length) return [];
  const [worst] = found.losses, scheduled = data.steps.findIndex((s) => s.name === "schedule-cpu");
  const named = (fn) => (fn ? element("a", { href: address({ step: Math.max(scheduled, 0), tab: "schedule", fn: baseOf(fn) }) }, fn) : "outside of kernels");
  const row = (loss) => element("tr", {}, element("td", { className: "number" }, time(loss.seconds)), element("td", {}, named(loss.function)), element("td", {}, loss.reason, element("div", { className: "note" }, loss.advice)));
  return [element("h2", {}, "Where time is lost"),
    element("p", { className: "loss" }, worst.function ? "Most in " : "Most ", named(worst.function), `: ${worst.reason}. To try: ${worst.advice}.`),
    element("details", { className: "plain" }, element("summary", {}, `${plural(Math.min(found.losses.length, MOST_LOSSES), "largest loss")}, beyond the least time of one core`), element("table", {}, ...found.losses.slice(0, MOST_LOSSES).map(row)))];
}
