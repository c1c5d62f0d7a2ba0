"""Programs that take the place of Python where other processes are to work, and fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BROKEN = {
    "is no program": "{}",
    "ends": "#!/bin/sh\nexit 1\n",
    "complains and ends": "#!/bin/sh\necho Traceback >&2\nexit 1\n",
    "says nothing": "#!/bin/sh\nhead -c 10 >/dev/null\n",
    "says something else": "#!/bin/sh\necho hello\ncat >/dev/null\n",
    "says too little": "#!/bin/sh\necho '{\"size\": 100}'\n",
    "says too much": "#!/bin/sh\necho '{\"size\": 1000000000000000000000}'\ncat >/dev/null\n",
    "says what is no message": "#!/bin/sh\necho '[1, 2]'\ncat >/dev/null\n",
    "says what is no code": "#!/bin/sh\necho '{\"size\": 5}'\necho hello\ncat >/dev/null\n",
    "says other facts": '#!/bin/sh\necho \'{"size": 0, "functions": 1, "imports": {"a": []}}\'\ncat >/dev/null\n',
    "hangs": "#!/bin/sh\nexec sleep 1000\n",
    "hangs after it has read": "#!/bin/sh\nhead -c 10 >/dev/null\nexec sleep 1000\n",
}
"""What each of them does, and its text."""


def start_instead_of_workers(broken: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one of these programs started where another process is to work; it is put into a folder."""
    executable = folder / "python"
    executable.write_text(BROKEN[broken])
    executable.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(executable))
