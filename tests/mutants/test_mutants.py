"""The mistakes that `mutants.py` makes, the tests that it runs for a file, and what it says in the end."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from campaign import Campaign, Verdict, equivalents
from covering import Covering
from draws import ONLY_SHOWN, ONLY_SPEED, ROOMS, Draws
from edits import KINDS, edits
from mutants import make_parser, numbers
from tree import ROOT, Ended, Tests

MISTAKES = {
    "comparison": {
        "a < b": ["a <= b"],
        "a is not b": ["a is b"],
        "a <= b != c": ["a < b != c", "a <= b == c"],
        "(a if x else b) in c": ["(a if x else b) not in c"],
    },
    "off by one": {"a[1]": ["a[0]", "a[2]"], "a - 0": ["a - 1"], "len(a)": ["(len(a) - 1)"]},
    "dropped condition": {
        "a and (b or c)": ["True and (b or c)", "a and (True)", "a and (False or c)", "a and (b or False)"],
        "a if b else c": ["a if True else c", "a if False else c"],
        "[a for a in b if c]": ["[a for a in b if True]"],
        "not a": ["a"],
        "a if (b := c) else d": [],
    },
    "swapped operands": {
        "a - b * c": ["(b * c) - a", "a + b * c", "a - b + c"],
        "f(a, b)": ["f(b, a)"],
        "f(a, *b)": [],
        "gcd(a, b)": [],
        "a in (b, c)": [],
        "min(a, b)": ["max(a, b)"],
        "(a, b, c)": ["(b, a, c)", "(a, c, b)"],
    },
    "lost flag": {
        "f(a, b=c)": ["f(a)"],
        "f(b=c, d=True)": ["f(d=True)", "f(b=c)", "f(b=c, d=False)"],
        "zip(a, b, strict=True)": [],
    },
    "lost step": {"f(a)": ["pass"], "a += b": ["pass"], "fail(a)": []},
}
"""Sources, and what each kind of edit makes of them."""

ONE_STATEMENT = [(kind, source) for kind, cases in MISTAKES.items() for source in cases]


def test_kinds():
    assert list(MISTAKES) == list(KINDS)


@pytest.mark.parametrize(("kind", "source"), ONE_STATEMENT)
def test_edits(kind: str, source: str):
    found = [edit.apply(source.encode()).decode().strip() for edit in edits(source.encode()) if edit.kind == kind]
    assert sorted(found) == sorted(MISTAKES[kind][source])


NOT_REACHED = '''
"""A docstring of 3 words."""
import a, b
@cache(size=1)
def f(a: tuple[int, 1], b: "x" = c) -> tuple[int, 2]:
    """Docstring."""
    if TYPE_CHECKING:
        g(1)
    if sys.platform == "linux":
        g(2)
    assert a < b
    fail(f"expected {a + 1}", a, b)
    raise Wrong(a, b, c=True)
class A(B, c=True):
    a: dict[int, 3] = b
    def __repr__(self):
        return a - b
'''


def test_what_no_program_reaches():
    assert edits(NOT_REACHED.encode()) == []


def test_edits_of_a_file():
    """The rest of a file stays as it is, and each edit makes another program."""
    data = (ROOT / "passes" / "graph" / "fuse_tir.py").read_bytes()
    tree = ast.dump(ast.parse(data))
    found = edits(data)
    assert {edit.kind for edit in found} == set(KINDS)
    for edit in found[:: len(found) // 20]:
        assert ast.dump(ast.parse(edit.apply(data))) != tree
        assert edit.apply(data).count(b"\n") >= data.count(b"\n") - 8
        ast.parse(edit.probe(data, 1))


def test_description():
    """The lines that change, and no others."""
    data = b"if a:\n    f(\n        b,\n        c=1 < d,\n    )"
    assert [edit.describe(data) for edit in edits(data) if edit.kind in ("comparison", "lost flag", "lost step")] == [
        "f( b, c=1 < d, ) => pass",
        "c=1 < d, => ",
        "c=1 < d, => c=1 <= d,",
    ]


def test_draws():
    """A number is the same mistake in each run, and folders and kinds come in turn."""
    files = ["passes/graph/fuse_*.py", "runtime/shapes.py"]
    draws = Draws(ROOT, files)
    first = [next(draws.draw(7, number)) for number in range(12)]
    turns = [(room, kind) for kind in KINDS for room in ("passes", "runtime")]
    assert [(mutant.file.split("/")[0], mutant.edit.kind) for mutant in first] == turns
    assert first == [next(Draws(ROOT, files).draw(7, number)) for number in range(12)]
    assert first != [next(draws.draw(8, number)) for number in range(12)]


def test_files_that_are_left_out():
    assert all((ROOT / name).exists() for name in ONLY_SPEED | ONLY_SHOWN)


NEAREST = {
    "passes/graph/fuse_ops.py": "tests/lit/passes/fuse-ops.mlir",
    "runtime/saving.py": "tests/unit/runtime/test_saving.py",
    "lowering/legalizations/matrix_products.py": "tests/unit/end_to_end/test_operator_cases.py",
    # It has no separate tests; the tests of the function that asks it are the nearest.
    "relex_dialects/index/constraints.py": "tests/unit/passes/test_check_tir_linear.py",
}


@pytest.fixture(scope="module")
def covering() -> Covering:
    return Covering(ROOT)


def test_tests_of_a_file(covering: Covering):
    for file, expected in NEAREST.items():
        found = covering.tests(ROOT / file)
        nearest = [test for distance, test in found if distance == found[0][0]]
        assert ROOT / expected in nearest, file


def test_tests_that_speak_of_the_same_things(covering: Covering):
    text = """fail(op, f"expected a public function not to be named as one that compiled code calls, found '{name}'")"""
    assert covering.alike(text)[0] == ROOT / "tests" / "unit" / "lowering" / "test_llvm_object_code.py"


def test_every_file_has_tests(covering: Covering):
    """Beyond the tests of everything."""
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py") if file.stem != "__init__"]
    assert [file for file in files if min(distance for distance, _ in covering.tests(file)) > 3] == []


PRINTED = {
    "tests/lit/passes/a.mlir": """\
FAIL: relex :: passes/a.mlir (1 of 3)
TIMEOUT: relex :: passes/b.mlir (2 of 3)
********************
Failed Tests (1):
  relex :: passes/a.mlir
""",
    "tests/unit/test_a.py": """\
..F
FAILED tests/unit/test_a.py::test_x[f32 - 1] - AssertionError: a - b
FAILED tests/unit/test_a.py::test_y
ERROR tests/unit/test_b.py
2 failed, 1 error in 0.10s
""",
    "tests/unit/test_c.py": """\
Timeout (0:03:00)!
Thread 0x0001 (most recent call first):
  File "build/mutants/tree/passes/a.py", line 7 in f
  File "build/mutants/tree/tests/unit/test_c.py", line 70 in test_x
""",
}
FAILED = {
    "tests/lit/passes/a.mlir": ["tests/lit/passes/a.mlir", "tests/lit/passes/b.mlir"],
    "tests/unit/test_a.py": [
        "tests/unit/test_a.py::test_x[f32 - 1]",
        "tests/unit/test_a.py::test_y",
        "tests/unit/test_b.py",
    ],
    "tests/unit/test_c.py": ["tests/unit/test_c.py"],
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_failed(name: str):
    assert Tests((name,)).failed(Ended(1, PRINTED[name])) == FAILED[name]


def test_campaign(tmp_path: Path):
    campaign = Campaign(3)
    campaign.verdicts.append(Verdict(1, "passes/a.py", 7, "comparison", "a < b => a <= b", "survived", "by no test"))
    campaign.verdicts.append(Verdict(0, "passes/b.py", 8, "lost step", "f() => pass", "tests", "tests/unit/test_b.py"))
    campaign.verdicts.append(Verdict(2, "passes/c.py", 9, "off by one", "1 => 2", "same", "a guess"))
    campaign.save(tmp_path)
    found = Campaign.load(tmp_path)
    assert found == campaign
    assert found.verdict(1) == campaign.verdicts[0]
    assert found.verdict(4) is None
    assert str(found).splitlines() == [
        "0  passes/b.py:8  lost step   tests     tests/unit/test_b.py  f() => pass",
        "1  passes/a.py:7  comparison  survived  by no test            a < b => a <= b",
        "2  passes/c.py:9  off by one  same      a guess               1 => 2",
        "seed 3: 1 of 2 killed (1 by tests), 1 more change nothing",
        "survived: passes/a.py:7: a < b => a <= b",
    ]


def test_an_edit_that_changes_nothing_is_replaced():
    campaign = Campaign(3)
    arguments = make_parser().parse_args(["--count", "3"])
    assert numbers(arguments, campaign) == [0, 1, 2]
    for number, stage in enumerate(("tests", "same", "survived")):
        campaign.verdicts.append(Verdict(number, "passes/a.py", 7, "off by one", "1 => 2", stage))
    assert numbers(arguments, campaign) == [3]
    campaign.verdicts.append(Verdict(3, "passes/a.py", 7, "off by one", "1 => 2", "same"))
    assert numbers(arguments, campaign) == [4]
    assert numbers(make_parser().parse_args(["--only", "2", "7"]), campaign) == [7]


def test_equivalents():
    assert all((ROOT / file).exists() and " => " in edit and reason for (file, edit), reason in equivalents().items())
