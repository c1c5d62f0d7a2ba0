"""Places of operators in a model: the line of its Python source, and the path of its module."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc

from relex.dialects.errors import Diagnostic

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_OF_TORCH = re.compile(r"[/\\]torch[/\\](nn|functional|_\w+|fx|export)\b|^torch/")


def place_of(node: Any, file: str) -> LocationAttr:
    """Return the location of a node of a graph: its line, named by the path of its module, `layer3.0.conv1`."""
    path, line = module_path(node), source_line(node)
    place = FileLineColLoc(StringAttr(line[0]), IntAttr(line[1]), IntAttr(1)) if line else None
    if path:
        inner = place or FileLineColLoc(StringAttr(file), IntAttr(0), IntAttr(0))
        return NameLoc(StringAttr(path), inner)
    return place or UnknownLoc()


def module_path(node: Any) -> str:
    """Return the path of the module whose `forward` made a node, empty for the model itself."""
    stack: Mapping[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values()]
    path = paths[-1] if paths else ""
    return "" if path.startswith("_empty") else re.sub(r"^L\['\w+'\]\.?|@\d+$", "", path)


def source_line(node: Any) -> tuple[str, int] | None:
    """Return the file and line of the model that made a node: the innermost one that is not torch's own."""
    frames = [(file, int(line)) for file, line in _FRAME.findall(node.meta.get("stack_trace") or "")]
    own = [frame for frame in frames if not _OF_TORCH.search(frame[0])]
    return own[-1] if own else frames[-1] if frames else None


def diagnostic_at(node: Any, message: str, file: str) -> Diagnostic:
    """Return a diagnostic at a node: the line of its source, and the path of its module."""
    path, line = module_path(node), source_line(node)
    text = f"{path}: {message}" if path else message
    return Diagnostic(text, *(line or (file, 0)), 1 if line else 0, reason=message)
