"""The programs that the documentation shows are what the tools print."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import operator_reference
import pytest
from started import run_python, tool, tools

import relex.passes.analysis
from relex.dialects.dtypes import ELEMENT_TYPES, SUB_BYTE
from relex.dialects.parser import parse_module
from relex.dialects.relex import Operator, Relex
from relex.dialects.table import TABLES, Table, is_own
from relex.dialects.target.processors import PROCESSORS
from relex.tools.opt.relex_opt import main

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"


def steps(page: str) -> list[tuple[str | None, str]]:
    """The blocks of a page, each with the `relex-opt` command in front of it."""
    pattern = r"(?:^`relex-opt ([^`]*)`\n\n)?^```(?:mlir|llvm)\n(.*?)^```$"
    found = re.findall(pattern, (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    return [(command or None, text) for command, text in found]


def assert_shows(shown: str, printed: str) -> None:
    """Every run of lines between lines that say `...` is in the printed text, in this order.

    A line that ends with an open parenthesis shows the beginning of a line.
    """
    lines = [line.strip() for line in printed.splitlines()]
    at = 0
    for part in re.split(r"^\s*\.\.\.\s*$", shown, flags=re.MULTILINE):
        wanted = [line.strip() for line in part.strip().splitlines()]
        places = (i for i in range(at, len(lines) - len(wanted) + 1) if all(map(same, wanted, lines[i:])))
        start = next(places, None)
        assert start is not None, f"not printed:\n{part}\nin:\n{printed}"
        at = start + len(wanted)


def same(wanted: str, line: str) -> bool:
    return line.startswith(wanted) if wanted.endswith("(") else line == wanted


@pytest.fixture(autouse=True)
def entries_of_pages() -> Iterator[None]:
    """What a page adds to tables is not there in other tests."""

    def of_others() -> list[tuple[Table[Any, Any], object]]:
        return [(table, key) for table in TABLES for key, module in table.entered_by.items() if not is_own(module)]

    before = of_others()
    yield
    for table, key in of_others():
        if (table, key) not in before:
            del table[key]


def printed_here(arguments: list[str], text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `relex-opt` prints of a program on its standard input, in this process: a start takes longer than the
    rest."""
    stdin, stdout = io.TextIOWrapper(io.BytesIO(text.encode())), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    assert main(arguments) == 0
    stdout.seek(0)
    return stdout.read()


@pytest.mark.parametrize("page", ["fusion.md", "llvm.md", "memory.md", "schedules.md", "sizes.md", "threads.md"])
def test_each_block_is_what_the_command_prints(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ""
    for command, shown in steps(page):
        if command is None:
            text = shown
            parse_module(text)
            continue
        arguments = [word for word in command.split() if not word.endswith(".mlir")]
        text = printed_here(arguments, text, monkeypatch)
        assert_shows(shown, text)


def test_schedules_in_python(tmp_path: Path) -> None:
    page = (DOCS / "schedules.md").read_text()
    (tmp_path / "linear.mlir").write_text(steps("schedules.md")[0][1])
    (program,) = re.findall(r"in `sums.mlir`:\n\n^```mlir\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "sums.mlir").write_text(program)
    ((command, shown),) = re.findall(r"^`(relex-tune [^`]*)`\n\n^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    run = run_python("-m", "relex.tools.tuning.relex_tune", *command.split()[1:], cwd=tmp_path)
    assert_shows(shown, run.stdout)
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for code in blocks:
        run = run_python("-W", "error", "-c", code, cwd=tmp_path)
        assert run.returncode == 0, run.stderr


def test_explained_schedule(tmp_path: Path) -> None:
    page = (DOCS / "schedules.md").read_text()
    pattern = r"```mlir\n([^`]*)^```$\n\n^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$"
    ((program, command, shown),) = re.findall(pattern, page, re.MULTILINE | re.DOTALL)
    (tmp_path / "sums.mlir").write_text(program)
    run = subprocess.run(
        [tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stderr == shown
    pattern = r"`edited.mlir`\n\n```mlir\n([^`]*)^```$\n\n^`relex-run ([^`]*)`\n\n^```text\n(.*?)^```$"
    ((program, command, shown),) = re.findall(pattern, page, re.MULTILINE | re.DOTALL)
    (tmp_path / "edited.mlir").write_text(program)
    command = [tool("relex-run"), *command.split()]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stderr == shown


def test_memory() -> None:
    page = (DOCS / "memory.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    run_python("-W", "error", "-c", code, check=True)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    passes = "infer-sizes,legalize-ops,lower-call-tir,plan-memory{report=true}"
    command = [tool("relex-opt"), "-p", passes]
    run = subprocess.run(command, input=steps("memory.md")[0][1], capture_output=True, text=True, check=True)
    assert shown in run.stderr


@pytest.mark.parametrize("page", ["adding-an-op.md", "writing-a-pass.md"])
def test_files_of_a_page(page: str, tmp_path: Path) -> None:
    """The files that a page shows pass their own test, and each command prints what the page shows after it."""
    text = (DOCS / page).read_text()
    files: dict[str, str] = {}
    for name, part in re.findall(r"^`([\w.]+)`\n\n^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        files[name] = "\n\n".join([*filter(None, [files.get(name)]), part])
    for name, part in files.items():
        (tmp_path / name).write_text(part)
        if (example := EXAMPLES / "load_passes" / name).exists():
            assert example.read_text() == part
    tests = [name for name in files if name.startswith("test_")]
    assert tests
    pytest_here = [tool("pytest"), "-q", "-W", "error", "-p", "no:cacheprovider", *tests]
    run = subprocess.run(pytest_here, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    commands = [(command, shown) for command, shown in steps(page) if command is not None]
    assert commands
    for command, shown in commands:
        printed = subprocess.run(
            [tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert_shows(shown, printed.stdout)
    for command, shown in re.findall(r"^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        here = {**os.environ, "TMPDIR": str(tmp_path)}
        failed = subprocess.run(
            [tool("relex-opt"), *command.split()], cwd=tmp_path, env=here, capture_output=True, text=True
        )
        assert failed.returncode == 1
        assert re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), failed.stderr), failed.stderr


BLOCK = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block of a page, with the file or the command in front of it."""


SESSIONS = ["adding-a-lowering.md", "analyses.md", "loop-passes.md", "pdl.md", "testing-a-pass.md"]
"""Pages that are followed here in an empty folder."""


@pytest.mark.parametrize("page", SESSIONS)
def test_a_page_is_a_session(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the top to the bottom: files are written, commands are run, and each prints what the page shows after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tools()}{os.pathsep}{Path(sys.executable).parent}", prepend=os.pathsep)
    printed = 0
    for label, language, text in BLOCK.findall((DOCS / page).read_text()):
        if " " in label or language == "sh":
            command = label or text
            run = subprocess.run(["sh", "-ec", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert (run.returncode == 0) == (" error: " not in text), run.stdout
            if label:
                assert_shows(text, run.stdout)
                printed += 1
        elif label:
            file = Path(label)
            file.parent.mkdir(parents=True, exist_ok=True)
            # A file that is shown in parts grows.
            file.write_text("\n\n".join([*([file.read_text()] if file.exists() else []), text]))
    assert printed


LESSONS = sorted(f"lessons/{path.name}" for path in (DOCS / "lessons").glob("*.md"))


BESIDE_COMMANDS = ("sizes.md", "threads.md")
"""Pages with programs in MLIR for commands: see `test_each_block_is_what_the_command_prints`."""


IN_PYTHON = [
    *("calls.md", "control-flow.md", "from-tvm.md", "library.md", "narrow-numbers.md", "notebooks.md"),
    "operators-to-loops.md",
    *("random-numbers.md", "tour.md", *LESSONS),
]
"""Pages whose Python, which is all that they run, is run here in an empty folder."""


@pytest.mark.parametrize("page", [*IN_PYTHON, *BESIDE_COMMANDS])
@pytest.mark.usefixtures("own_library")
def test_code_prints_what_stands_after_it(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page is one program, which runs in any folder; what a block prints is in the block after
    it."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    printed = ""
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            assert printed == "", f"not shown:\n{printed}"
            printed = run_block(text, f"<{page}, block {number}>", names)
        elif language == "mermaid" or (page in BESIDE_COMMANDS and language != "text"):
            continue
        elif re.search(r"^\s*\.\.\.$", text, re.MULTILINE):
            assert_shows(text, printed)
            printed = ""
        else:
            assert text == printed
            printed = ""
    assert printed == "", f"not shown:\n{printed}"


def run_block(code: str, file: str, names: dict[str, object]) -> str:
    """What a part of a program prints. Scripts in it find their source by the name of the file."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, file, "exec"), names)
    return output.getvalue()


def test_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python and the commands of the page, in their order, print what stands after them."""
    page = (DOCS / "saving.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for name, text in re.findall(r"^`([\w.]+)`\n\n^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tools()}{os.pathsep}{Path(sys.executable).parent}", prepend=os.pathsep)
    names: dict[str, object] = {}
    printed: str | None = ""
    for number, (language, text) in enumerate(blocks):
        if language == "python":
            printed = run_block(text, f"<saving.md, block {number}>", names)
        elif language == "sh":
            can_run = shutil.which("cc") or not re.search("^cc ", text, re.MULTILINE)
            run = subprocess.run(["sh", "-ec", text], capture_output=True, text=True, check=True) if can_run else None
            printed = run.stdout if run is not None else None
        elif language == "text":
            assert printed in (text, None)


def test_profiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page shows is printed, but for times."""
    monkeypatch.setattr("relex.runtime.profile.MIN_SECONDS", 0.0)
    page = (DOCS / "profiling.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    (shown, table), (numbers, printed) = [
        (text, run_block(code, f"<profiling.md, block {number}>", names)) for number, (code, text) in enumerate(blocks)
    ]
    assert list(map(without_times, table.splitlines())) == list(map(without_times, shown.splitlines()))
    assert printed == numbers


def test_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the page runs, and names of tabs are as in the report."""
    page = (DOCS / "reports.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)):
        run_block(code, f"<reports.md, block {number}>", names)
    report = (tmp_path / "report.html").read_text()
    (tabs,) = re.findall(r"const TABS = (\[.*?\])", report)
    assert re.findall(r"^\| (\w+) \|", page, re.MULTILINE) == ["tab", *json.loads(tabs)]


def without_times(line: str) -> list[str]:
    """The words of a line of a profile without numbers that differ from run to run."""
    if line.startswith("main"):
        return re.sub(r"[\d.]+ (us|ms|runs)", "", line).split()
    words = line.replace(" us", "us").replace(" ms", "ms").split()
    return words[:1] + words[5:]


def test_checking(tmp_path: Path) -> None:
    """The wrong pass of the page is found, with the words and the smaller program that the page shows."""
    page = (DOCS / "checking.md").read_text()
    files = dict(re.findall(r"^`([\w./-]+)`\n\n^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert files.keys() == {"wrong.py", "program.mlir", "found/undo-sums.main.mlir"}
    for name in ("wrong.py", "program.mlir"):
        (tmp_path / name).write_text(files[name])
    (command, shown) = re.findall(r"^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    run = subprocess.run([tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in shown.splitlines()]
    assert re.fullmatch("\n".join(lines), run.stderr.strip()), run.stderr
    assert_shows(files["found/undo-sums.main.mlir"], (tmp_path / "found/undo-sums.main.mlir").read_text())
    (command, shown) = re.findall(r"^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    run = subprocess.run([tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 1
    lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in shown.splitlines()]
    assert re.fullmatch("\n".join(lines), run.stderr.strip()), run.stderr


def test_proofs(tmp_path: Path) -> None:
    """The commands of the page print what stands after them."""
    page = (DOCS / "proofs.md").read_text()
    for name, text in re.findall(r"^`([\w.]+)`\n\n^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (tmp_path / name).write_text(text)
    commands = re.findall(r"^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(commands) == 2
    for command, shown in commands:
        run = subprocess.run([tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == ("--load-passes" in command)
        lines = [re.escape(line).replace(r"\.\.\.", ".*") for line in shown.splitlines()]
        assert re.fullmatch("\n".join(lines), run.stderr.strip()), run.stderr
    proved = [tool("relex-opt"), "program.mlir", "-p", "legalize-ops", "--check-each=proof"]
    run = subprocess.run(proved, cwd=tmp_path, capture_output=True)
    assert run.stderr.decode().endswith(f"the result has the SHA-256 {sha256(run.stdout).hexdigest()}\n")


def test_tracing_rules(tmp_path: Path) -> None:
    """The commands of the page print what stands after them, but for numbers, and its test passes."""
    page = (DOCS / "tracing-rules.md").read_text()
    files = dict(re.findall(r"^`([\w.]+)`\n\n^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    commands = re.findall(r"^`relex-opt ([^`]*)`\n\n^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(commands) == 4
    for command, shown in commands:
        run = subprocess.run([tool("relex-opt"), *command.split()], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == ("--bisect" in command)
        pattern = re.escape(shown.rstrip()).replace(re.escape("..."), "(?s:.*)")
        assert re.fullmatch(pattern, run.stderr.rstrip()), run.stderr
    pytest_here = [tool("pytest"), "-q", "-W", "error", "-p", "no:cacheprovider", "test_halves.py"]
    subprocess.run(pytest_here, cwd=tmp_path, capture_output=True, text=True, check=True)


def test_script(tmp_path: Path) -> None:
    """The script of the page is what the command makes of it."""
    page = (DOCS / "script.md").read_text()
    ((name, text),) = re.findall(r"^`(\w+\.py)`\n\n^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / name).write_text(text)
    ((command, shown),) = [step for step in steps("script.md") if step[0] is not None]
    assert command is not None
    arguments = [tool("relex-opt"), *command.split()]
    printed = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert_shows(shown, printed)


PATH = re.compile(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+(\.[\w-]+)*\.(md|mlir|py|toml)|[\w.-]+/")
"""What is a path, of all that is in backquotes: it has a slash, or ends like a file of the project."""


@pytest.mark.parametrize("page", ["docs/contributing.md", "docs/glossary.md", "tests/README.md"])
def test_paths_exist(page: str) -> None:
    """Paths in backquotes are paths of files and folders, from the root of the repository or from the page."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    quoted: list[str] = re.findall(r"`([^`]*)`", text)
    named = [quote for quote in quoted if PATH.fullmatch(quote)]
    assert len(named) > 20
    linked: list[str] = re.findall(r"\]\(([^)#]+)", text)
    folder = (ROOT / page).parent
    assert [name for name in named if not (ROOT / name).exists() and not (folder / name).exists()] == []
    assert [name for name in linked if not (folder / name).exists()] == []


def test_the_names_that_passes_use_exist() -> None:
    _, _, listed = (DOCS / "writing-a-pass.md").read_text().partition("## What passes use")
    rows = [
        (module, re.findall(r"`(\w+)`", names))
        for module, names in re.findall(r"^\| `([\w.]+)` \| (`[^|]*)", listed, re.M)
    ]
    assert len(rows) > 10
    missing = [
        f"{module}.{name}" for module, names in rows for name in names if not hasattr(import_module(module), name)
    ]
    assert missing == []


def test_all_analyses_are_listed() -> None:
    _, _, listed = (DOCS / "analyses.md").read_text().partition("## What there is")
    rows: list[str] = re.findall(r"^\| (`[^|]*) \|", listed, re.MULTILINE)
    names: set[str] = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    assert names == {*dir(relex.passes.analysis)}


def test_the_operator_reference_is_current() -> None:
    """If not, run `python tests/unit/support/operator_reference.py`."""
    page = operator_reference.PAGE.read_text()
    assert page == operator_reference.write_page()
    assert {kind.name for kind in Relex.operations} == {*re.findall(r"^### (.*)", page, re.MULTILINE)}
    linked: list[str] = re.findall(r"\[\w+\]\(#(\w+)\)", page)
    assert {*linked} == {kind.name.replace(".", "") for kind in Relex.operations if issubclass(kind, Operator)}


def test_the_glossary_is_in_order() -> None:
    words: list[str] = re.findall(r"^\*\*([^*]+)\.\*\*", (DOCS / "glossary.md").read_text(), re.MULTILINE)
    assert len(words) > 40
    assert words == sorted(words, key=str.lower)


def test_limits() -> None:
    """Programs of the page are refused as it says; its lists are as in the code, and the counts as in the test
    suite of ONNX."""
    page = (DOCS / "limits.md").read_text()
    ((code, shown),) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert run_block(code, "<limits.md>", {}) == shown
    assert re.findall(r"^\| ([\w-]+(?: with .*)?) \|$", page, re.MULTILINE)[1:] == [
        name for name, processor in PROCESSORS.items() if processor.vector_bits
    ]
    types: str = page.partition("## Element types")[2].partition("\n\nThere")[0]
    assert {*re.findall(r"`(\w+)`", types)} == {*map(str, ELEMENT_TYPES)}
    assert re.findall(r"for storage only \| (.*) \|", types) == [", ".join(f"`{t}`" for t in SUB_BYTE)]
    cases = (ROOT / "extras" / "onnx" / "tests" / "node_suite.txt").read_text().partition("\n\n")[2]
    listed: list[tuple[str, str]] = re.findall(r"^\[(.*)\]\n((?:test_.*\n)+)", cases, re.MULTILINE)
    groups = {title: names.count("\n") for title, names in listed}
    given, passed = groups["passes with values"], groups["passes"] + groups["passes with values"]
    assert f"Of the {sum(groups.values())} node cases" in page
    assert f"{passed} pass, {given} of these only" in page
    refused = {title: str(count) for title, count in groups.items() if not title.startswith("passes")}
    assert {title: count for count, title in re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)} == refused


def test_something_else_is_noticed() -> None:
    assert_shows("a\n...\nc(\n", "a\nb\nc(d)\n")
    for wrong in ("b\n...\na\n", "a\nc\n", "...\nd\n"):
        with pytest.raises(AssertionError):
            assert_shows(wrong, "a\nb\nc\n")
