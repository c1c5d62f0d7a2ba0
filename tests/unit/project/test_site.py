"""The documentation site: all pages are on it, links lead somewhere, and the reference is complete."""

from __future__ import annotations

import re
from pathlib import Path

import dialect_pages
import links
import make_site
import navigation
import pytest
import reference_pages

from relex import lowering, passes
from relex.dialects.context import get_all_dialects
from relex.passes.schedule.primitive_table import PRIMITIVES

ROOT = Path(__file__).parents[3]
PAGES = navigation.written_pages()


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    return reference_pages.write_reference()


def headings(page: str) -> list[str]:
    return re.findall(r"^## (.*)", page, re.MULTILINE)


def test_every_page_is_in_the_navigation() -> None:
    pages = {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md")}
    assert {page for page in PAGES if page.startswith("docs/")} == pages
    assert len(PAGES) == len({*PAGES})


def test_links_lead_somewhere() -> None:
    assert links.broken(ROOT, PAGES) == []
    assert sum(len(links.targets((ROOT / page).read_text())) for page in PAGES) > 200


@pytest.mark.parametrize(
    "target", ["other.md", "page.md#no-heading", "#two-words", "../folder/none.py", "code.py#part"]
)
def test_a_broken_link_is_noticed(target: str, tmp_path: Path) -> None:
    (tmp_path / "code.py").touch()
    right = "[a](page.md) [b](#one) [`c` of\n d](code.py) [e](https://example.org/none)"
    (tmp_path / "page.md").write_text(
        f"# One\n\n{right} [f]({target})\n\n```\n# Two words\n[g](none.md)\n```\n`[h](none)`\n"
    )
    assert links.broken(tmp_path, ["page.md"]) == [f"page.md: {target}"]


def test_anchors_are_those_of_github() -> None:
    text = "# A `b-c` d\n## What's (it), now?\n### relex.add_n\n## [Link](page.md)\n## Twice\n## Twice\n"
    assert links.anchors(text) == {"a-b-c-d", "whats-it-now", "relexadd_n", "link", "twice", "twice-1"}


def test_links_between_pages_stay_and_others_lead_to_their_source(tmp_path: Path) -> None:
    written = {*PAGES}
    measured = next(page for page in PAGES if page.startswith("benchmarks/results/") and page.count("/") == 3)
    for page in ("docs/glossary.md", "docs/usage.md", "README.md", "benchmarks/README.md", measured):
        make_site.write_page(tmp_path, page, written)
    assert "](../index.md#map)" in (tmp_path / "docs" / "glossary.md").read_text()
    home = (tmp_path / "index.md").read_text()
    assert "](docs/limits.md)" in home
    assert (tmp_path / "benchmarks" / "results" / "overview.svg").exists()
    assert "](../sources/examples/batch_dask.py.md)" in (tmp_path / "docs" / "usage.md").read_text()
    shown = (tmp_path / "sources" / "examples" / "batch_dask.py.md").read_text()
    assert (ROOT / "examples" / "batch_dask.py").read_text() in shown
    assert headings((tmp_path / "sources" / "examples" / "out_of_tree.md").read_text())
    assert "](../sources/benchmarks/rows.py.md)" in (tmp_path / "benchmarks" / "README.md").read_text()
    assert (tmp_path / measured).with_name("times.svg").exists()


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("README.md", "*Start: 5 minutes, with all that is run.*"),
        ("docs/first-steps.md", "*Start: 10 minutes, with all that is run.*"),
        ("docs/lessons/1-tensor-functions.md", r"*Course: \d+ minutes, with all that is run.*"),
        ("docs/onnx.md", r"*How-to: \d+ minutes to read.*"),
        ("docs/operators.md", "*Reference: to look things up, a minute for each.*"),
        ("reference/commands.md", "*Reference: to look things up, a minute for each.*"),
    ],
)
def test_pages_say_their_kind_and_time(page: str, line: str, tmp_path: Path) -> None:
    if page.startswith("reference/"):
        assert re.fullmatch(line.replace("*", r"\*"), navigation.about(page, "# Commands\n"))
        return
    make_site.write_page(tmp_path, page, {*PAGES})
    title, empty, found, *_ = (tmp_path / make_site.staged(page)).read_text().splitlines()
    assert title == (ROOT / page).read_text().splitlines()[0]
    assert empty == ""
    assert re.fullmatch(line.replace("*", r"\*"), found)


def test_the_time_of_a_page_is_the_time_of_its_text_and_code() -> None:
    words, code = "word " * 400, "x = 1\n" * 24
    assert navigation.minutes(words) == 2
    assert navigation.minutes(f"{words}\n\n```python\n{code}```\n") == 4


@pytest.mark.parametrize("page", [page for page in navigation.NOTEBOOKS if "lessons/" in page])
def test_lessons_take_twenty_minutes_and_end_with_exercises(page: str) -> None:
    text = (ROOT / page).read_text()
    assert navigation.about(page, text) == "*Course: 20 minutes, with all that is run.*"
    number = Path(page).name[0]
    assert f"`relex-learn start {number}.1`" in text[text.rindex("\n## ") :]


def test_how_to_pages_are_called_what_readers_want_to_do() -> None:
    pages = [page for page in navigation.written_pages() if navigation.kind_of(page) == "How-to"]
    assert list(navigation.TASKS) == pages
    assert "Quantize weights to 8 bits </docs/narrow-numbers.md>" in make_site.contents()


def test_parts_of_the_navigation_have_four_kinds() -> None:
    assert {part.partition(":")[0] for part in navigation.NAVIGATION} == {"Start", "Course", "How-to", "Reference"}


WORDS = {
    "tiling": "schedules.md",
    "roofline": "reports.md",
    "quantize": "onnx.md",
    "bfloat16": "limits.md#element-types",
    "autotuning": "schedules.md#measuring",
    "tutorial": "first-steps.md",
}


@pytest.mark.parametrize("word", WORDS)
def test_words_that_people_type_have_an_answer(word: str) -> None:
    (row,) = re.findall(rf"^\| [^|]*\b{word}\b.*", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert f"]({WORDS[word]})" in row


def test_all_passes_are_in_the_reference(reference: dict[str, str]) -> None:
    found = [name for page in reference_pages.PASS_PAGES for name in headings(reference[page])]
    assert sorted(found) == sorted([*passes.PASSES, *lowering.PASSES])
    shown = reference["graph-passes"].partition("## set-target\n")[2].partition("\n## ")[0]
    assert "// set-target" in shown
    assert "| `cpu` | `string` |" in shown


def test_all_primitives_are_in_the_reference(reference: dict[str, str]) -> None:
    page = reference["primitives"]
    # Other tests add primitives.
    names = {op.name for op, _ in PRIMITIVES.items() if op.__module__.startswith("relex.dialects.")}
    assert {name for name in names if name.startswith("schedule.")} <= {f"schedule.{name}" for name in headings(page)}
    split = page.partition("## split\n")[2].partition("\n## ")[0]
    assert "split(loop: Loop, factors: Sequence[int | None]) -> list[Loop]" in split
    assert "schedule.split @" in split


def test_all_operations_are_in_the_reference() -> None:
    pages = dialect_pages.dialect_pages()
    for name, make in get_all_dialects().items():
        # Other tests add operations to dialects that are lists.
        operations = {op.name for op in make().operations if op.__module__.startswith("relex.dialects.")}
        assert operations <= {*headings(pages[f"dialect-{name}"])}
        assert f"reference/dialect-{name}.md" in navigation.NAVIGATION["Reference: what there is"]


def test_operations_have_operands_and_constructors() -> None:
    pages = dialect_pages.dialect_pages()
    loop = pages["dialect-tir"].partition("## tir.for\n")[2].partition("\n## ")[0]
    assert "| operand | `dynamic_extent` | optional `index` |" in loop
    assert "| property | `kind` | optional `tir.loop_kind` |" in loop
    assert "| region | `body` | one block |" in loop
    assert "kind: LoopKind = LoopKind.SERIAL," in loop
    dense = pages["dialect-relex"].partition("## relex.dense\n")[2].partition("\n## ")[0]
    assert "DenseOp(" in dense
    assert "(../docs/operators.md#relexdense)" in dense
    call = pages["dialect-relex"].partition("## relex.call_tir\n")[2].partition("\n## ")[0]
    assert "| operand | `arguments` | any number of `tensor` |" in call
    assert "operandSegmentSizes" not in call
    step = pages["dialect-schedule"].partition("## schedule.split\n")[2].partition("\n## ")[0]
    assert "[What it does](primitives.md#split)" in step


def test_public_names_are_in_the_reference(reference: dict[str, str]) -> None:
    assert {"build", "load", "parse", "show", "interpret"} <= {*headings(reference["relex"])}
    assert "strict: bool = False" in reference["relex.runtime"]
    assert "### Executable.save" in reference["relex.runtime"]
    assert "| `FuseOpsPass` | [fuse-ops](graph-passes.md#fuse-ops) |" in reference["relex.passes"]
    assert "The passes of this package by name." in reference["relex.passes"]
    assert "Tensor: TypeAlias = Known | Computed" in reference["relex.frontend.onnx"]
    assert headings(reference["relex.frontend.script"])[-2:] == ["parse_script", "print_script"]
    for name in reference_pages.API:
        assert all(len(part.split()) > 2 for part in re.split("^## ", reference[name], flags=re.MULTILINE)[1:])
    assert all(headings(reference[name]) or "| pass |" in reference[name] for name in reference_pages.API)


def test_a_site_with_a_broken_link_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("[a](none.md)")
    monkeypatch.setattr(make_site, "ROOT", tmp_path)
    monkeypatch.setattr(make_site, "written_pages", lambda: ["page.md"])
    assert make_site.build(tmp_path / "site") == 1
    assert capsys.readouterr().err == "leads nowhere: page.md: none.md\n"
