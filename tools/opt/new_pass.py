"""`relex-opt --new-pass NAME`: a package with a pass and its tests, to begin with."""

from __future__ import annotations

import re
from collections.abc import Container
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from relex.tools.shell.diagnostics import ToolError, make_folder, write_bytes

TEMPLATE = Path(__file__).parent / "template"
"""A package that works as it is, with a pass called `my-rule`."""

NEXT = """\
{files}

Next:
  cd {name}
  python -m pytest
  lit -v tests
  relex-opt tests/{name}.mlir --load-passes {module}/{module}.py -p {name}
"""


def new_pass(name: str, known: Container[str]) -> str:
    """Write a package for a new pass into a folder of that name, and return what to print. Raises `ToolError` for a
    name that cannot be used."""
    module = name.replace("-", "_")
    if re.fullmatch("[a-z][a-z0-9]*(-[a-z0-9]+)*", name) is None or iskeyword(module):
        raise ToolError(f"expected a name such as 'hoist-bias' for a pass, found '{name}'")
    if name in known:
        raise ToolError(f"a pass '{name}' exists already")
    if find_spec(module) is not None:
        raise ToolError(f"a module '{module}' exists already; choose another name for the pass")
    if (folder := Path(name)).exists():
        raise ToolError(f"'{name}' exists already")
    package = folder / module
    written = [_write(folder, file, name) for file in sorted(TEMPLATE.rglob("*")) if _is_part(file)]
    written += [_add(package / "__init__.py", f'"""The pass `{name}`."""\n'), _add(package / "py.typed")]
    return NEXT.format(files="\n".join(sorted(map(str, written))), name=name, module=module)


def _is_part(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


def _write(folder: Path, file: Path, name: str) -> Path:
    """Write a file of the template, with the names of the new pass."""
    path = folder / _named(str(file.relative_to(TEMPLATE)), name)
    return _add(path, _named(file.read_text(encoding="utf-8"), name))


def _named(text: str, name: str) -> str:
    words = name.split("-")
    for old, new in (("my-rule", name), ("my_rule", "_".join(words)), ("MyRule", "".join(map(str.capitalize, words)))):
        text = text.replace(old, new)
    return text


def _add(path: Path, text: str = "") -> Path:
    make_folder(path.parent)
    write_bytes(str(path), text.encode())
    return path
