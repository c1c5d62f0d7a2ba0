"""Follows a page of the documentation in the current folder, as its reader does: writes the files that it shows, runs
its commands and its Python, each in its turn, and fails where one of them does.

    python follow_page.py PAGE.md PACKAGES

PACKAGES is the folder that relex is installed in.
"""

from __future__ import annotations

import linecache
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, NoReturn

BLOCK = re.compile(r"(?:^(?P<before>[^\n]+)\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block, with the line in front of it."""

COMMAND = re.compile(r"`([^`]* [^`]*)`")
"""All of the line in front of a block that shows what a command prints."""

FILE = re.compile(r".*`([\w./-]+\.\w+)`:?")
"""A line in front of a block that names the file to save it in."""

INSTALLS = re.compile(r"^(python -m venv|pip|python -m pip|npm) .*$", re.MULTILINE)
"""What is installed already."""

MISSING = {"cc", "qemu-aarch64", "qemu-riscv64"}
"""Programs that a machine may lack."""

OPTIONAL = {"skl2onnx", "torch", "wasmtime", "ziglang"}
"""Packages that an environment may lack."""


class Step(NamedTuple):
    """A thing to do: write a file, run a command or a program in Python, or look at what is shown."""

    kind: str
    name: str
    text: str


def steps(page: str) -> Iterator[Step]:
    """The steps of a page."""
    for block in BLOCK.finditer(page):
        before, language, text = block["before"] or "", block["language"], block["text"]
        if command := COMMAND.fullmatch(before):
            yield Step("command", command[1], text)
        elif language == "sh":
            yield Step("command", INSTALLS.sub("", text), "")
        elif file := FILE.fullmatch(before):
            yield Step("file", file[1], text)
        elif language == "python":
            yield Step("python", f"line {page[: block.start('text')].count(chr(10)) + 1}", text)
        else:
            yield Step("shown", language, text)


class Session:
    """What happens in the folder."""

    def __init__(self) -> None:
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.program = ""
        """The last program that was shown or printed: commands without a file read it."""
        self.written: set[str] = set()

    def follow(self, step: Step) -> None:
        """Do one thing."""
        match step.kind:
            case "file":
                self.write(Path(step.name), step.text)
            case "command":
                self.run(step.name, fails=re.search(r"\berror: ", step.text) is not None)
            case "python":
                self.execute(step.text, step.name)
            case _ if step.name == "mlir":
                self.program = step.text
            case _:
                pass

    def write(self, file: Path, text: str) -> None:
        """Write a file, or add to one that is shown in parts."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join([*([file.read_text()] if str(file) in self.written else []), text]))
        self.written.add(str(file))

    def run(self, command: str, *, fails: bool) -> None:
        """Run a command, or several."""
        if missing := missing_for(command):
            leave_out(command, missing)
        run = subprocess.run(["sh", "-ec", command], input=self.program, stdout=subprocess.PIPE, text=True)
        assert (run.returncode == 0) != fails, f"{command}\n{run.stdout}"
        self.program = run.stdout

    def execute(self, code: str, name: str) -> None:
        """Run a part of the program of the page. Scripts in it find their source by the name of the file."""
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        self.names["__file__"] = name
        try:
            exec(compile(code, name, "exec"), self.names)
        except ModuleNotFoundError as e:
            if e.name not in OPTIONAL:
                raise
            leave_out(name, e.name)


def leave_out(what: str, missing: str) -> NoReturn:
    """End the session: what follows may need what is missing."""
    print(f"The rest is left out, as there is no {missing}: {what}")
    sys.exit()


def missing_for(command: str) -> str | None:
    """The first program or package that the commands need and the machine lacks."""
    words = shlex.split(command, comments=True)
    programs = (word for word in words if word in MISSING and shutil.which(word) is None)
    packages = (word for word in words if word in OPTIONAL and find_spec(word) is None)
    return next(programs, None) or next(packages, None)


if __name__ == "__main__":
    import relex

    assert Path(str(relex.__file__)).is_relative_to(sys.argv[2]), relex.__file__
    session = Session()
    for step in steps(Path(sys.argv[1]).read_text()):
        session.follow(step)
