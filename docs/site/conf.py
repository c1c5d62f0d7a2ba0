"""How Sphinx makes the site; `make_site.py` runs it."""

from __future__ import annotations

from typing import Protocol

from mlir_lexer import MlirLexer
from pygments.lexer import Lexer

project = "relex"
extensions = ["myst_parser"]
root_doc = "index"
# Fonts of the system, and nothing from the web.
html_theme = "furo"
html_title = "relex"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["run.js"]
html_copy_source = False
html_show_copyright = False
# As on GitHub, headings of any depth are anchors.
myst_heading_anchors = 6
highlight_language = "text"
nitpicky = True


class _Application(Protocol):
    def add_lexer(self, alias: str, lexer: type[Lexer]) -> None: ...


def setup(application: _Application) -> None:
    application.add_lexer("mlir", MlirLexer)
