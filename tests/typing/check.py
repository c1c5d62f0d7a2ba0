"""Runs pyright over the project and fails if it looked at fewer files than there are.

pyright exits with 0 when it finds nothing to analyse, which is what happens when a folder is missing in `include`.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


SCRIPTS = [
    ROOT / "tests" / "errors",
    ROOT / "extras" / "script" / "tests" / "script",
    ROOT / "extras" / "torch" / "tests" / "models",
    ROOT / "examples" / "seeds",
]
"""Programs in TVMScript: Python by their syntax alone, and models of PyTorch, which need not be installed."""


def python_files() -> list[Path]:
    """Every Python file of the project: all but those in build products, hidden folders and behind links."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in ("build", "dist")]
    return [
        file
        for folder in folders
        if not folder.name.startswith(".")
        for file in folder.rglob("*.py")
        if file.resolve() == file and file.parent not in SCRIPTS
    ]


def main() -> int:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        report = json.loads(process.stdout)
    except json.JSONDecodeError:
        print(process.stdout, process.stderr, sep="\n", file=sys.stderr)
        return 1
    for found in report["generalDiagnostics"]:
        start = found["range"]["start"] if "range" in found else {"line": 0, "character": 0}
        file = Path(found["file"]).resolve()
        place = f"{file.relative_to(ROOT)}:{start['line'] + 1}:{start['character'] + 1}"
        print(f"{place}: {found['severity']}: {found['message']} ({found.get('rule', 'syntax')})")
    analysed, expected = report["summary"]["filesAnalyzed"], len(python_files())
    print(f"pyright: {report['summary']['errorCount']} errors in {analysed} files")
    if analysed < expected:
        print(f"pyright analysed {analysed} of {expected} files: is a folder missing in its `include`?")
        return 1
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
