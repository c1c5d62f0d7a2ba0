"""In Pyodide, Python compiled to WebAssembly, `docs/tour.md` prints what it shows: in node, and in a page."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread

import in_page
import pytest

ROOT = Path(__file__).parents[3]
NODE, CHROMIUM = shutil.which("node"), shutil.which("chromium")
PYODIDE = Path(sys.prefix, "pyodide", "node_modules", "pyodide")
TOUR: list[tuple[str, str]] = re.findall(
    r"^```(\w+)\n(.*?)^```$", (ROOT / "docs" / "tour.md").read_text(), re.MULTILINE | re.DOTALL
)

pytestmark = pytest.mark.skipif(not PYODIDE.exists(), reason="Pyodide is not installed: make pyodide")

RUN = """
import { readFileSync } from "node:fs";
const [pyodide, packages, program] = process.argv.slice(2);
const { loadPyodide } = await import(pyodide);
const python = await loadPyodide({ stdout: (line) => console.log(line) });
python.mountNodeFS("/packages", packages);
python.runPython("import sys; sys.path.insert(0, '/packages'); sys.dont_write_bytecode = True");
python.runPython(readFileSync(program, "utf8"));
"""


@pytest.mark.skipif(NODE is None, reason="node was not found")
def test_the_tour(tmp_path: Path) -> None:
    assert NODE is not None
    packages = tmp_path / "packages"
    in_page.copy_packages(packages)
    program, run = tmp_path / "tour.py", tmp_path / "run.mjs"
    program.write_text("".join(text for language, text in TOUR if language == "python"))
    run.write_text(RUN)
    command = [NODE, str(run), str(PYODIDE / "pyodide.mjs"), str(packages), str(program)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    assert process.stdout == "".join(text for language, text in TOUR if language in ("text", "mlir"))


CLICKS = """
const until = async (condition) => { while (!condition()) await new Promise((next) => setTimeout(next, 50)); };
const report = (found) => fetch("/", { method: "POST", body: JSON.stringify(found) });
(async () => {
  await until(() => document.querySelectorAll("button.run").length);
  const buttons = [...document.querySelectorAll("button.run")], printed = [...document.querySelectorAll("pre.printed")];
  buttons.at(-2).click();
  await until(() => buttons.at(-2).disabled);
  await until(() => !buttons.at(-2).disabled);
  buttons.at(-1).click();
  await until(() => !buttons.at(-1).disabled);
  report(printed.map((output) => output.textContent));
})().catch((error) => report([String(error)]));
"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium was not found")
def test_cells_run_in_a_page(tmp_path: Path) -> None:
    """The last but one cell runs all before it; the last one needs native code, which a browser does not have."""
    assert CHROMIUM is not None
    shutil.copytree(ROOT / "docs" / "site" / "static", tmp_path / "_static")
    in_page.add_pyodide(PYODIDE, tmp_path / "_static", tmp_path / "packages")
    code = [text for language, text in TOUR if language == "python"]
    code.append("import relex\nrelex.build('func.func @main() { func.return }')\n")
    blocks = "".join(f'<div class="highlight-python"><pre>{html.escape(text)}</pre></div>' for text in code)
    head = '<script src="_static/run.js"></script>'
    page = f'<!DOCTYPE html>{head}<a href="tour.ipynb">notebook</a>{blocks}<script>{CLICKS}</script>'
    (tmp_path / "page.html").write_text(page)
    *printed, last = _reported(CHROMIUM, tmp_path)
    shown = [text for language, text in TOUR if language in ("text", "mlir")]
    assert [text for text in printed if text != "(prints nothing)"] == [text.rstrip() for text in shown]
    assert "llvmlite" in last
    assert last.endswith("The notebook of this page runs on your machine.")


def _reported(chromium: str, folder: Path) -> list[str]:
    """What a script in page.html of a folder reports."""
    reports = Queue[list[str]]()

    class Handler(SimpleHTTPRequestHandler):
        def do_POST(self) -> None:
            reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    # Without a port for debugging, a browser without a window ends at once.
    command = [chromium, *options, "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/page.html"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as browser:
        try:
            return reports.get(timeout=180)
        finally:
            browser.kill()
            server.shutdown()
            server.server_close()
