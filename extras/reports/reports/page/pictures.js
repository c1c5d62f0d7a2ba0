"use strict";
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
  if (names.length > 8)
    return [element("p", {}, element("select", { "aria-label": "function", onchange: (event) => go({ fn: event.target.value }) }, ...names.map((name) => element("option", { value: name, selected: name === chosen }, name))))];
  return names.length < 2 ? [] : [element("p", {}, ...names.map((name) => element("button", { "aria-current": String(name === chosen), style: "margin: 2px; padding: 1px 8px", onclick: () => go({ fn: name }) }, name)))];
}

function graph(step, now) {
  const names = Object.keys(step.drawings);
  if (!names.length) return element("p", { className: "note" }, "After this pass there are no graphs any more, or not yet: choose another pass.");
  const name = names.includes(now.fn) ? now.fn : names[0];
  const drawing = data.drawings[step.drawings[name]];
  const what = plural(drawing.boxes.filter((b) => b.kind !== "argument").length, "operator");
  return [...choose(names, name), ...framed(drawing, name, `${what}${data.profile ? "; the bar in a box compares its time with the time of the slowest" : ""}`)];
}

// A picture with buttons for its size. With `limits`, times stand below boxes, with their shares of the limit.
function framed(drawing, name, note, limits = false) {
  const picture = svg("svg", { viewBox: `0 0 ${drawing.width} ${drawing.height}`, role: "img", "aria-label": `graph of ${name}` });
  const labels = new Set(), slowest = Math.max(...drawing.boxes.map((box) => (box.callee && calls(box.callee)?.share) || 0));
  for (const arrow of drawing.arrows) {
    const a = drawing.boxes[arrow.source], b = drawing.boxes[arrow.target];
    picture.append(svg("path", { d: way(a, arrow.points, b) }), svg("path", { d: `M ${b.x - 3} ${b.y - 6} l 3 6 l 3 -6` }));
    // The arrows of a value carry its shape once.
    const key = `${arrow.source} ${arrow.label}`;
    if (arrow.label && !labels.has(key)) {
      const others = [...labels].filter((other) => other.startsWith(`${arrow.source} `)).length;
      picture.append(svg("text", { class: "small label", x: a.x + 5, y: a.y + a.height + 13 + 11 * others }, arrow.label));
    }
    labels.add(key);
  }
  for (const box of drawing.boxes) {
    const place = data.places.indexOf(box.place), measured = box.callee ? calls(box.callee) : null;
    const tip = [`${box.title} ${box.detail}`, measured ? `${time(measured.seconds)} a call, ${(100 * measured.share).toFixed(0)} % of the time in ${plural(measured.count, "call")}` : "", placeName(place)].filter(Boolean).join("\n");
    const group = svg("g", { class: box.kind, tabindex: 0, "data-place": place, "data-tip": tip, ...(box.callee ? { "data-callee": box.callee } : {}) },
      svg("rect", { x: box.x - box.width / 2, y: box.y, width: box.width, height: box.height, rx: 5 }),
      ...(measured ? [svg("rect", { class: "share", x: box.x - box.width / 2 + 1, y: box.y + box.height - 4, width: Math.max(1, ((box.width - 2) * measured.share) / slowest), height: 3 })] : []),
      svg("text", { x: box.x, y: box.y + 17, "text-anchor": "middle" }, box.title));
    box.rows.forEach((row, n) => group.append(svg("text", { class: "small", x: box.x, y: box.y + 33 + 16 * n, "text-anchor": "middle" }, row)));
    if (measured && limits) {
      const reached = measured.least ? ` · ${percent(measured.least / measured.seconds)}` : "";
      group.append(svg("text", { class: `small label ${quality(measured)}`, x: box.x - 5, y: box.y + box.height + 13, "text-anchor": "end" }, `${time(measured.seconds)}${reached}`));
    }
    picture.append(group);
  }
  const frame = element("div", { className: "scroll" });
  const scale = (to) => {
    zoom = Math.min(Math.max(to, 0.05), 3);
    frame.replaceChildren(sized(picture, drawing.width * zoom, drawing.height * zoom));
    mark();
  };
  const whole = () => {
    zoom = 0;
    frame.replaceChildren(...inColumns(picture, drawing, columns(drawing)));
    mark();
  };
  // Until the reader chooses, all of it if it can be read then; else columns across the window, as long as they are.
  const fits = columns(drawing), side = Math.floor(byId("view").clientWidth / (READABLE * drawing.width + 12));
  if (zoom === null) frame.replaceChildren(...inColumns(picture, drawing, fits.scale > 0.45 ? fits : side > 1 ? { count: side, scale: READABLE } : { count: 1, scale: 1 }));
  else if (zoom) scale(zoom);
  else whole();
  const controls = [["−", "smaller", () => scale((zoom || 1) / 1.25)], ["+", "larger", () => scale((zoom || 1) * 1.25)], ["1:1", "the size of the text", () => scale(1)], ["whole", "all of it in the window, in columns", whole]];
  return [element("p", { className: "controls" }, ...controls.map(([text, title, onclick]) => element("button", { title, onclick }, text)), element("span", { className: "note" }, ` ${note}`)), frame];
}

const READABLE = 0.75;

function sized(picture, width, height) {
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  return picture;
}

function columns({ width, height }) {
  const fit = (n) => Math.min(1, (byId("view").clientWidth - 12 * n) / (n * width), (n * (innerHeight - 120)) / height);
  const count = range(1, 17).reduce((best, n) => (fit(n) > fit(best) ? n : best));
  return { count, scale: fit(count) };
}

// A picture that is cut between layers into columns, as many as make it largest in the window.
function inColumns(picture, { width, height, boxes }, { count, scale }) {
  const tops = [...new Set(boxes.map((box) => box.y - 8))];
  const near = (y) => tops.reduce((best, top) => (Math.abs(top - y) < Math.abs(best - y) ? top : best), 0);
  const cuts = [0, ...range(1, count).map((k) => near((k * height) / count)), height];
  return range(0, count).map((k) => {
    const column = sized(picture.cloneNode(true), width * scale, (cuts[k + 1] - cuts[k]) * scale);
    column.setAttribute("viewBox", `0 ${cuts[k]} ${width} ${cuts[k + 1] - cuts[k]}`);
    return column;
  });
}

// From box to box, straight through the layers between.
function way(a, points, b) {
  let [x, y] = [a.x, a.y + a.height], path = `M ${x} ${y}`;
  const curve = (toX, toY) => {
    const middle = (y + toY) / 2;
    path += toX === x ? ` V ${toY}` : ` C ${x} ${middle}, ${toX} ${middle}, ${toX} ${toY}`;
    [x, y] = [toX, toY];
  };
  for (const [toX, toY] of points) curve(toX, toY);
  curve(b.x, b.y - 4);
  return path;
}

// Memory over time

function memory() {
  return data.plans.flatMap((plan) => {
    const wide = Math.max(18, Math.min(70, 1100 / plan.steps.length)), high = 300, left = 78, top = 14;
    const picture = svg("svg", { width: left + wide * plan.steps.length + 20, height: high + 44, role: "img", "aria-label": `memory of ${plan.function}` });
    for (const share of [0, 0.25, 0.5, 0.75, 1])
      picture.append(svg("path", { class: "rule", d: `M ${left - 6} ${top + high * share} H ${left + wide * plan.steps.length}` }), svg("text", { class: "small", x: left - 10, y: top + 4 + high * share, "text-anchor": "end" }, bytes(Math.round(plan.bytes * share))));
    const live = plan.steps.map((_, n) => plan.buffers.filter((b) => b.first <= n && n <= b.last).reduce((sum, b) => sum + b.bytes, 0));
    const most = Math.max(...live);
    plan.steps.forEach((name, n) => {
      const x = left + wide * n, tip = `${n + 1}. ${name}: ${bytes(live[n])} in use`;
      picture.append(svg("g", { class: "step", "data-tip": tip, tabindex: 0 }, svg("rect", { x, y: top, width: wide, height: high + 24 }),
        ...(wide > 22 || n % 2 === 0 ? [svg("text", { class: live[n] === most ? "small most" : "small", x: x + wide / 2, y: top + high + 16, "text-anchor": "middle" }, String(n + 1))] : [])));
    });
    plan.buffers.forEach((b, n) => {
      const box = { x: left + wide * b.first + 1, y: top + (high * b.offset) / plan.bytes, width: wide * (b.last - b.first + 1) - 2, height: Math.max(2, (high * b.bytes) / plan.bytes - 1) };
      const name = b.name ? `%${b.name}` : b.type.replace(/^memref<|>$/g, "");
      const tip = `${b.name ? `${name}: ` : ""}${b.type}, ${bytes(b.bytes)} at ${b.offset}\n${b.size ? `${b.size}\n` : ""}written by ${b.first + 1}. ${plan.steps[b.first]}, last read by ${b.last + 1}. ${plan.steps[b.last]}`;
      picture.append(svg("g", { class: "buffer", "data-tip": tip, tabindex: 0 }, svg("rect", { ...box, style: `fill: hsl(${(n * 67) % 360} 60% 60% / .45)` }),
        ...(box.height > 12 && box.width > 30 ? [svg("text", { class: "small", x: box.x + 4, y: box.y + 11 }, name.slice(0, Math.floor(box.width / 7)))] : [])));
    });
    const sum = plan.buffers.reduce((total, b) => total + b.bytes, 0), sizes = Object.entries(plan.sizes).map(([name, n]) => `${name} = ${n}`).join(", ");
    return [element("h2", {}, `${plan.function}: ${bytes(plan.bytes)} for buffers of ${bytes(sum)}${sizes ? `, for ${sizes}` : ""}`),
      element("p", { className: "note" }, `Time runs to the right, step by step, and addresses down. Most is in use in step ${live.indexOf(most) + 1}: ${bytes(most)}.`),
      element("div", { className: "scroll" }, picture),
      element("ol", { className: "columns" }, ...plan.steps.map((name) => element("li", {}, element("a", { href: address({ step: state().step, tab: "assembly", fn: baseOf(name.replace(/^@/, "")) }) }, name))))];
  });
}
