"""Makes Jupyter notebooks of pages whose Python is one program: `make notebooks`, and `make docs` for downloads."""

from __future__ import annotations

import argparse
from pathlib import Path, PurePath

from navigation import NOTEBOOKS

from relex.tools.learn import notebooks as learn
from relex.tools.learn.notebooks import name_of as name_of

ROOT = Path(__file__).resolve().parents[2]


def make_notebook(page: str) -> str:
    """Return the notebook of a page of the repository, as its file has it."""
    return learn.make_notebook((ROOT / page).read_text(), {PurePath(page).name for page in NOTEBOOKS})


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes notebooks of the lessons.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "notebooks", metavar="DIR")
    output: Path = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for page in NOTEBOOKS:
        (output / name_of(page)).write_text(make_notebook(page))
        print(output / name_of(page))


if __name__ == "__main__":
    main()
