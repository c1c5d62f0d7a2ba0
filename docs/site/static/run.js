"use strict";
// Cells of pages that are notebooks, too, can be run in the page, if the site has Pyodide: Python for browsers.

const FOLDER = new URL("pyodide/", document.currentScript.src).href;
const PREPARE = `
import contextlib, io, linecache, sys, traceback
sys.path.insert(0, "/packages")
sys.dont_write_bytecode = True
names = {"__name__": "__main__"}

def run(text, name):
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    printed, failed = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(text, name, "exec"), names)
        except BaseException as error:
            failed = "".join(traceback.format_exception_only(error)).strip()
    return [printed.getvalue(), failed]

run
`;
let starting;

// Returns a function that runs a text, and returns what it prints and why it failed.
async function start() {
  const { loadPyodide } = await import(`${FOLDER}pyodide.mjs`);
  const python = await loadPyodide({ indexURL: FOLDER });
  // The folder may have NumPy, or not: some pages do without.
  await python.loadPackage("numpy", { messageCallback: () => {}, errorCallback: () => {} }).catch(() => {});
  const packages = await (await fetch(`${FOLDER}relex.zip`)).arrayBuffer();
  python.unpackArchive(packages, "zip", { extractDir: "/packages" });
  const run = python.runPython(PREPARE);
  return (text, name) => run(text, name).toJs();
}

async function runUntil(cells, last) {
  const running = cells.slice(0, last + 1).filter((cell) => !cell.isDone);
  const { button, output } = cells[last];
  button.disabled = true;
  output.hidden = false;
  output.textContent = "Python is loaded, some 20 MB for the first cell ...";
  try {
    const run = await (starting ??= start());
    for (const cell of running) {
      const [printed, failed] = run(cell.text, `<cell ${cells.indexOf(cell) + 1}>`);
      cell.output.textContent = [printed.trimEnd(), failed].filter(Boolean).join("\n") || "(prints nothing)";
      cell.output.hidden = false;
      if (failed) {
        const hint = "Not all runs in a browser, which has no native code. The notebook of this page runs on your machine.";
        output.textContent = `${cell === cells[last] ? "" : `An earlier cell fails: `}${failed}\n${hint}`;
        break;
      }
      cell.isDone = true;
    }
  } catch (error) {
    starting = undefined;
    output.textContent = `Python cannot be loaded: ${error.message ?? error}`;
  }
  button.disabled = false;
}

const isThere = async (file) => (await fetch(FOLDER + file, { method: "HEAD" }).catch(() => ({ ok: false }))).ok;

async function offer() {
  if (!document.querySelector('a[href$=".ipynb"]') || !location.protocol.startsWith("http")) return;
  const blocks = [...document.querySelectorAll("div.highlight-python")];
  if (!(await isThere("relex.zip"))) return;
  if (blocks.some((block) => /\bimport numpy\b/.test(block.textContent))) {
    const { packages } = await (await fetch(`${FOLDER}pyodide-lock.json`)).json();
    if (!(await isThere(packages.numpy.file_name))) return;
  }
  const cells = blocks.map((block) => {
    const button = Object.assign(document.createElement("button"), { className: "run", textContent: "Run in this page" });
    const output = Object.assign(document.createElement("pre"), { className: "printed", hidden: true });
    block.after(button, output);
    return { text: block.querySelector("pre").textContent, button, output, isDone: false };
  });
  cells.forEach((cell, n) => (cell.button.onclick = () => runUntil(cells, n)));
}

addEventListener("DOMContentLoaded", offer);
