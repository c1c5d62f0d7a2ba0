"""Refuse words that only this project would use, and say what to write instead.

Looked at are pages without their code blocks, comments and docstrings, comments of MLIR, and in the source also other
strings, which are messages. Other strings of tests are left out: most are programs. `make lint` looks at all files:

    python tests/unit/support/plain_words.py                # all files
    python tests/unit/support/plain_words.py docs lowering  # some
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]

WORDS = {
    r"open (size|batch|number|length|width|shape|dimension|extent)(e?s)?": "dynamic, or only known at run time",
    r"(size|batch|length|dimension|heads|shape|images)s? (that |which )?(is|are|may be|stays?|left) open": "dynamic",
    r"shapes['`] closes?|closes? (the |open )?sizes": "fix the size with `shapes=`",
    r"(those|that) of": "repeat the noun, or rewrite the sentence",
    r"nothing but": "only",
    r"made up": "random, or generated",
    r"(stand|stands|standing|stood) in": "be in, be inside, or replace",
    r"of (its|their) own(?! \w)": "its own, or separate",
    r"of (its|their) own (after|and|as|before|by|for|from|if|in|is|that|to|where|which|with|without)": "separate",
    r"so many": "n, or a number of",
    r"(take|takes|taken|taking|took) apart": "split, or parse",
    r"(go|goes|going|went) on with": "continue",
    r"(hand|hands|handed|handing) on": "pass, or carry",
    r"(accesses|blocks|iterations|intervals|may|that|they|values) meets?": "conflict, overlap, or alias",
    r"suit(s|ed|ing)?": "apply to, or fit",
    r"(loops|rows|columns|axes) (and|or) (the )?terms": "reduction axis",
}
"""What is refused, as regular expressions in which a space is any gap between words, and what to write instead."""

ALLOWED: dict[tuple[str, str], str] = {
    ("extras/script/tests/test_script_loops.py", "stand in"): "the docstring of a program in TVMScript",
}
"""Phrases that are good English after all, each in one file, and why."""

NOT_OURS = (
    "CHANGELOG.md",
    "docs/onnx-operators.md",
    "docs/torch-operators.md",
    "tests/script/",
    "tests/errors/",
    "examples/seeds/",
)
"""What was written before, what programs write, and programs in TVMScript."""

OURS = Path(__file__).relative_to(ROOT).as_posix()

_EACH = {re.compile(rf"(?i)\b(?:{word})\b".replace(" ", r"\s+")): better for word, better in WORDS.items()}
_ANY = re.compile("|".join(WORDS).replace(" ", r"""[\s#/"'fr]+"""))
"""What finds all of them fast in a file in lower case, and some that are no prose."""
_CODE_OF_A_PAGE = re.compile(r"^ *```.*?^ *```|`[^`]+`", re.MULTILINE | re.DOTALL)
_TEXT_OF_A_PROGRAM = re.compile(
    r"""(?P<begins>^[ ]*)?(?:(?P<comment>[#])[^\n]*|"""
    r"""(?<!\w)[a-zA-Z]{0,2}(?P<quote>"{3}|'{3}|["'])(?:\\.|.)*?(?P=quote))""",
    re.MULTILINE | re.DOTALL,
)
_MARKS = re.compile(r"""^ *[#fr]*["']*|["']*$""")
_COMMENT = re.compile(r" *//(?! *[A-Z][-A-Z\d_]*:| *expected-| *\^)")


class Found(NamedTuple):
    line: int
    phrase: str
    better: str


def blank(code: str) -> str:
    """Return text as long as some code, without words, in which lines end at the same places."""
    return code if code.isspace() else re.sub(r"[^\n]", "\0", code)


def text_of_page(page: str) -> str:
    """Return a page of Markdown with blanks for code."""
    return _CODE_OF_A_PAGE.sub(lambda code: blank(code[0]), page)


def text_of_program(program: str, *, messages: bool = True) -> str:
    """Return a Python file with blanks for all but comments and docstrings and, with `messages`, other strings."""
    parts, end = list[str](), 0
    for found in _TEXT_OF_A_PROGRAM.finditer(program):
        is_docstring = found["begins"] is not None and found["quote"] == '"""'
        is_text = messages or found["comment"] or is_docstring
        text = _MARKS.sub(lambda mark: " " * len(mark[0]), found[0]) if is_text else blank(found[0])
        parts += [blank(program[end : found.start()]), text]
        end = found.end()
    return "".join([*parts, blank(program[end:])])


def text_of_mlir(program: str) -> str:
    """Return a test or an example in MLIR with blanks for all but comments. What tools are to print is no comment."""
    lines = program.splitlines(keepends=True)
    return "".join(line.replace("//", "  ", 1) if _COMMENT.match(line) else blank(line) for line in lines)


def refused(text: str) -> Iterator[Found]:
    """Yield the words of a text that are refused, in the order of `WORDS`."""
    for word, better in _EACH.items():
        for found in word.finditer(text):
            yield Found(text.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), better)


def text_of(name: str, contents: str) -> str:
    """Return the prose of a file."""
    if name.endswith(".md"):
        return text_of_page(contents)
    if name.endswith(".mlir"):
        return text_of_mlir(contents)
    return text_of_program(contents, messages=not name.startswith(("tests/", "examples/", "benchmarks/")))


def refused_in(name: str, contents: str) -> Iterator[Found]:
    """Yield the words of a file that are refused."""
    if _ANY.search(contents.lower()):
        yield from (found for found in refused(text_of(name, contents)) if (name, found.phrase) not in ALLOWED)


def files(below: Iterable[str]) -> Iterator[str]:
    """Yield the pages, Python and MLIR files of the project, or of some folders, by their names in it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *below]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.split("\0"):
        if (
            name.endswith((".md", ".mlir", ".py", ".pyi"))
            and not name.startswith(NOT_OURS)
            and name != OURS
            and (ROOT / name).is_file()
        ):
            yield name


def main() -> int:
    count = 0
    for name in files(sys.argv[1:]):
        for found in refused_in(name, (ROOT / name).read_text(encoding="utf-8")):
            print(f"{name}:{found.line}: {found.phrase}: {found.better}")
            count += 1
    print(f"{count} words to replace" if count else "all words are plain")
    return count > 0


if __name__ == "__main__":
    sys.exit(main())
