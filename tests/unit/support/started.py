"""Tools that have started already: a server that has them loaded runs each call (see `tests/lit/tool_server`)."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parents[2] / "lit" / "tool_server"
TOOLS = ("relex-opt", "relex-run", "relex-tune", "relex-fuzz", "relex-learn", "filecheck", "pytest", "python")


@cache
def tools(packages: Path | None = None) -> Path:
    """The folder of the tools: the folder of the server's clients on Linux, else of the installed tools. Tools of relex
    come from a folder of installed packages, if it is given."""
    if sys.platform != "linux":
        return Path(sys.executable).parent
    folder = Path(tempfile.mkdtemp(prefix="relex-tools-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for tool in TOOLS:
        (folder / tool).symlink_to(SERVER / "client.py")
    command = [sys.executable, str(SERVER / "server.py"), str(folder / "socket"), *TOOLS]
    environment = {**os.environ, **({} if packages is None else {"PYTHONPATH": str(packages)})}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
    atexit.register(server.wait)
    atexit.register(server.terminate)
    while not (folder / "socket").exists():
        assert server.poll() is None, "the server of the tools ended; what it printed says why"
        time.sleep(0.02)
    return folder


def tool(name: str) -> str:
    """The path of a tool."""
    return str(tools() / name)


def run_python(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program that does not care how Python was started: with all of relex imported, and without what variables
    such as `PYTHONPATH` say. `options` are options of `subprocess.run`."""
    return subprocess.run([tool("python"), *arguments], capture_output=True, text=True, **options)
