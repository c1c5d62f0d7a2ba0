"""`--print-completion` of the tools: their options and the names of passes, for the completion of a shell."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from relex.tools.shell.diagnostics import ToolError

Names = Callable[[], Mapping[str, Iterable[str]]]

SHELLS = ("bash", "zsh", "fish")

_FOLDER = re.compile(r"\b(DIR|FOLDER)\b")
_FILE = re.compile(r"\bFILE\b|^(input_|output_)?file$")


def add_completion(parser: argparse.ArgumentParser, names: Names = dict, flags: Iterable[str] = ()) -> None:
    """Add the option. `names` returns what options take, by their destinations: one of them, or several if the option
    is shown with a comma. `flags` are passes that are options, of which the parser itself does not know."""
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=SHELLS,
        names=names,
        flags=flags,
        help="print what makes a shell complete the options of this tool, and exit; needs the package shtab",
    )


class _PrintCompletion(argparse.Action):
    """Prints the completion for a shell and exits."""

    def __init__(self, *args: Any, names: Names, flags: Iterable[str], **options: Any):
        super().__init__(*args, **options)
        self._names = names
        self._flags = flags

    def __call__(self, parser: argparse.ArgumentParser, namespace: object, values: Any, *_: Any) -> None:
        try:
            shtab = import_module("shtab")
        except ImportError:
            raise ToolError(
                "expected the package shtab for completions: pip install 'relex-compiler[completion]'"
            ) from None
        names, known = self._names(), set(parser._option_string_actions)  # pyright: ignore[reportPrivateUsage]
        for flag in sorted({f"--{name}" for name in self._flags} - known):
            parser.add_argument(flag, action="store_true", help="run this pass")
        for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
            shown = action.metavar if isinstance(action.metavar, str) else action.dest
            if action.dest in names:
                vars(action)["complete"] = _among(parser.prog, action.dest, names[action.dest], "," in shown)
            elif action.nargs != 0 and _FOLDER.search(shown):
                vars(action)["complete"] = shtab.DIRECTORY
            elif action.nargs != 0 and _FILE.search(shown):
                vars(action)["complete"] = shtab.FILE
        print(shtab.complete(parser, values))
        parser.exit()


def _among(tool: str, option: str, names: Iterable[str], several: bool) -> dict[str, Any]:
    """Return functions of the shells, for shtab, that complete one of these names, or the last one of a list."""
    function = "_".join(["", *re.findall(r"\w+", tool), option])
    words = " ".join(sorted(names))
    functions = {
        "bash": f"""{function}() {{
  compgen -P "${{1%"${{1##*,}}"}}" -W "{words}" -- "${{1##*,}}"
}}""",
        "zsh": f"""{function}() {{
  _values {"-s , " if several else ""}{option} {words}
}}""",
        "fish": f"""function {function}
  set -l word (commandline -ct | string replace -r -- '^-[^=]*=' '')
  for name in {words}
    echo (string replace -r -- '[^,]*$' '' $word)$name
  end
end""",
    }
    return {"bash": function, "zsh": function, "fish": f"({function})", "preamble": functions}
