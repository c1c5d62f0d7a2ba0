"""What notebooks show: HTML that needs nothing else, in IPython and marimo without being asked, and by `show`."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

import relex
from relex.frontend import IRModule
from relex.runtime.profile import KernelCalls, Profile
from relex.tools.notebook import kernels
from relex.tools.notebook.ops import html_of_change, html_of_op
from relex.tools.shell.highlighting import for_terminal, text_of

PROGRAM = """
func.func @main(%x: tensor<?x3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
  %c = relex.constant dense<"0x%s"> : tensor<20xf32>
  %y = relex.add %x, %b : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  func.return %y : tensor<?x3xf32>
}
func.func private @"<b>&"(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = relex.call_dps_packed "<i>f"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
""".replace("%s", np.arange(20, dtype=np.float32).tobytes().hex())

CHROMIUM = shutil.which("chromium")


class Fragment(HTMLParser):
    """Reads a fragment: its tags are closed, and the text in it, without the text of its style, is what people see."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.kinds: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []
        assert not re.search(r"<script|https?:|@import|url\(|\bon\w+=", html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.kinds |= {(tag, value or "") for name, value in attrs if name == "class"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def shown(value: Any) -> Fragment:
    return Fragment(value._repr_html_())


@pytest.fixture(scope="module")
def module() -> ModuleOp:
    return relex.parse(PROGRAM)


def test_modules(module: ModuleOp) -> None:
    found = Fragment(html_of_op(module))
    assert found.text.startswith("module 2 functions")
    for op in module.ops:
        assert text_of(op) in found.text
    assert "dense_resource<__elided__>" in found.text
    assert {("span", kind) for kind in ("op", "symbol", "value", "type", "string")} <= found.kinds
    assert html_of_op(module).count("<details open>") == 2
    module = module.clone()
    module.attributes["relex.note"] = StringAttr("</pre>")
    assert 'relex.note = "</pre>"' in Fragment(html_of_op(module)).text


def test_changes() -> None:
    html = html_of_change('-  %x = a.b "<"\n+  %x = a.c\n   %y\n...')
    assert Fragment(html).text == '-  %x = a.b "<"+  %x = a.c   %y...'
    assert html.count('<div class="removed">') == html.count('<div class="added">') == 1


def test_executables_and_functions() -> None:
    ex = relex.build(PROGRAM.partition("func.func private")[0])
    found = shown(ex)
    assert found.text.startswith("executable 1 functionmain(x, b)")
    for part in ("argument", "result", "x_d0 x 3", "f32"):
        assert part in found.text
    assert "compiled function main(x, b)" in shown(ex["main"]).text
    assert "signature main(x, b)" in shown(ex["main"].signature).text
    interpreted = relex.interpret(PROGRAM.partition("func.func private")[0])
    assert shown(interpreted).text.startswith("interpretation 1 functionmain(x, b)")
    assert "interpreted function main(x, b)" in shown(interpreted["main"]).text
    assert repr(interpreted) == repr(ex).replace("<executable>", "<interpretation>")


def test_loaded_executables_show_themselves_without_xdsl(tmp_path: Path) -> None:
    """What only runs programs does not import the compiler, in notebooks neither."""
    file = tmp_path / "a.relex"
    relex.build(PROGRAM.partition("func.func private")[0]).save(file)
    code = f"import relex, sys; print(relex.load({str(file)!r})._repr_html_()); assert 'xdsl' not in sys.modules"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "main(x, b)" in Fragment(run.stdout).text


def test_profiles() -> None:
    row = KernelCalls("dense", False, 2, 2e-3, ("4xf32",), ("4xf32",), 32, 10_000_000)
    other = KernelCalls("env.f", True, 1, 1e-3, (), (), 0, None)
    profile = Profile("main", 3, 4e-3, (row, other))
    found = shown(profile)
    assert found.text.startswith("profile main(): 4.00 ms a run, the median of 3 runs")
    assert "dense22.00 ms" in found.text
    html = profile._repr_html_()  # pyright: ignore[reportPrivateUsage]
    widths = [float(width) for width in re.findall(r'class="meter " style="width: ([\d.]+)%"', html)]
    assert widths == [100.0, 50.0]
    limits = [float(width) for width in re.findall(r'class="meter limit" style="width: ([\d.]+)%"', html)]
    assert 0 < limits[0] <= 100
    assert limits[1] == 0
    assert shown(Profile("main", 3, 0.0, ())).text.startswith("profile")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium was not found")
def test_themes_of_pages_are_followed(module: ModuleOp, tmp_path: Path) -> None:
    """The background and the color of an op, as a browser computes them, beside rules such as Jupyter's."""
    assert CHROMIUM is not None
    themes = ('data-jp-theme-light="true"', 'data-jp-theme-light="false"', 'class="vscode-dark"', 'class="light"')
    rules = ".page:not(.a) td { text-align: right } .page:not(.a) tbody tr:nth-child(odd) { background: red }"
    both = html_of_op(module) + relex.interpret(PROGRAM)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    parts = "".join(f"<div {theme}><div class='page'>{both}</div></div>" for theme in themes)
    script = """<script>
    const styles = (of) => [...document.querySelectorAll(of)].map((e) => getComputedStyle(e));
    document.title = JSON.stringify({
      back: styles(".relex:first-child").map((s) => s.backgroundColor),
      op: [...new Set(styles(".op").map((s) => s.color))],
      cells: [...new Set(styles("td").map((s) => s.textAlign))],
      rows: [...new Set(styles("tbody tr").map((s) => s.backgroundColor))],
    });
    </script>"""
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><title></title><style>{rules}</style>{parts}{script}")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    run = subprocess.run([CHROMIUM, *options, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    (found,) = re.findall("<title>(.*?)</title>", run.stdout)
    light, dark = "rgb(255, 255, 255)", "rgb(29, 32, 39)"
    assert json.loads(found) == {
        "back": [light, dark, dark, light],
        "op": ["rgb(31, 95, 191)", "rgb(130, 170, 255)"],
        "cells": ["left"],
        "rows": ["rgba(0, 0, 0, 0)"],
    }


# In notebooks


@pytest.fixture
def shell() -> Iterator[Any]:
    pytest.importorskip("IPython", reason="IPython is not installed")
    kind = import_module("IPython.core.interactiveshell").InteractiveShell
    yield kind.instance()
    kind.clear_instance()


def test_ipython_shows_ops(shell: Any, module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    kernels.register()
    for op in (module, *module.ops):
        data, _ = shell.display_formatter.format(op)
        assert data == {"text/plain": text_of(op), "text/html": html_of_op(op)}
    inner = next(op for op in module.walk() if op.name == "relex.add")
    data, _ = shell.display_formatter.format([inner])
    assert set(data) == {"text/plain"}
    assert "\n" not in data["text/plain"]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    data, _ = shell.display_formatter.format(module)
    assert data["text/plain"] == for_terminal(text_of(module))


def test_importing_relex_is_enough(tmp_path: Path) -> None:
    pytest.importorskip("IPython", reason="IPython is not installed")
    code = "import relex; relex.parse('func.func @f() {\\n  func.return\\n}')"
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", f"{code}"]
    run = subprocess.run(
        [*command, "-i"], input="exit\n", capture_output=True, text=True, env={"HOME": str(tmp_path)}, check=True
    )
    assert "func.func @f() {\n" in run.stdout


class Stream(io.StringIO):
    """Standard output in a kernel."""


def test_show_in_jupyter(shell: Any, module: ModuleOp, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.display_pub = published = import_module("IPython.core.displaypub").CapturingDisplayPublisher()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(Stream, "__module__", "ipykernel.iostream")
    monkeypatch.setattr(sys, "stdout", stream := Stream())
    relex.show(module)
    after = module.clone()
    after.body.block.erase_op(list(after.ops)[-1])
    relex.show(after, since=module)
    whole, change = (output["data"] for output in published.outputs)
    assert whole["text/plain"] == text_of(module)
    assert Fragment(whole["text/html"]).text == text_of(module)
    assert change["text/plain"].startswith("   ")
    assert ("div", "removed") in Fragment(change["text/html"]).kinds
    assert stream.getvalue() == ""
    relex.show(module, color=False)
    assert stream.getvalue() == f"{text_of(module)}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    relex.show(module)
    assert stream.getvalue() == f"{text_of(module)}\n" * 2
    assert len(published.outputs) == 2


def test_scripts_are_colored(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.display_pub = published = import_module("IPython.core.displaypub").CapturingDisplayPublisher()
    module = IRModule.of(relex.parse(PROGRAM.partition("func.func private")[0]))
    script = module.script()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    module.show()
    assert "\x1b[34mdef\x1b[0m \x1b[33mmain\x1b[0m(x: \x1b[36mR.Tensor\x1b[0m(" in stream.getvalue()
    assert re.sub(r"\x1b\[\d*m", "", stream.getvalue()) == f"{script}\n"
    monkeypatch.setattr(Stream, "__module__", "ipykernel.iostream")
    monkeypatch.setattr(sys, "stdout", Stream())
    module.show()
    [output] = published.outputs
    assert Fragment(output["data"]["text/html"]).text == output["data"]["text/plain"] == script


MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import relex

    module = relex.parse("func.func @f() {\\n  func.return\\n}")
    return module, relex


@app.cell
def _(module):
    module
    return


@app.cell
def _(module, relex):
    relex.show(module)
    return


@app.cell
def _(module, relex):
    relex.interpret(module)
    return
"""


def test_marimo(tmp_path: Path) -> None:
    pytest.importorskip("marimo", reason="marimo is not installed")
    (tmp_path / "notebook.py").write_text(MARIMO)
    command = [sys.executable, "-m", "marimo", "export", "ipynb", "notebook.py", "--include-outputs", "-o", "out.ipynb"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "out.ipynb").read_text()
    assert text.count('<div class=\\"relex\\">') == 3
