"""A process that has the Python tools loaded, and forks for each call of one.

The tests call tools some thousand times, and most of the time of a call would go into imports. `client.py` sends its
arguments, environment, folder and standard streams over a socket, and gets the exit status.

    python server.py SOCKET TOOL...

One of the tools is `python`, for programs that do not care how they were started.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, cast

PACKAGES = ("relex.dialects", "relex.passes", "relex.lowering", "relex.runtime", "relex.tools")
"""Whose modules tools import as they need them."""

PROGRAMS = ("pytest", "python")
"""The tools that run programs of others, which may leave to the end of the process what tools do themselves."""

REQUEST_BYTES = 1 << 20


def serve(path: str, names: Sequence[str]) -> NoReturn:
    """Answer calls of the installed tools with these names, until the process that started this one has ended."""
    parent = os.getppid()
    tools = {entry.name: entry.load() for entry in entry_points(group="console_scripts") if entry.name in names}
    tools |= {"python": run_python} if "python" in names else {}
    for package in PACKAGES:
        for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    # The collections when a call ends would otherwise look at all of it, and copy its pages.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        # The name is there when calls can be made.
        listener.bind(f"{path}.new")
        listener.listen(64)
        os.rename(f"{path}.new", path)
        listener.settimeout(1)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while os.getppid() == parent:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                listener.close()
                _answer(connection, tools)
            connection.close()
    sys.exit()


def run_python() -> None:
    """Run a program as Python's command does, with its options -W, -c and -m."""
    gc.enable()
    match sys.argv[1:]:
        case ["-W", action, *rest]:
            warnings.simplefilter(cast("Any", action))
            sys.argv[1:] = rest
            run_python()
        case ["-c", code, *rest]:
            sys.argv, sys.path[0] = ["-c", *rest], ""
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(main))
        case ["-m", name, *rest]:
            sys.argv, sys.path[0] = [name, *rest], os.getcwd()
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        case [file, *rest]:
            sys.argv, sys.path[0] = [file, *rest], str(Path(file).resolve().parent)
            runpy.run_path(file, run_name="__main__")
        case _:
            raise ValueError("expected a program")


def _status(tool: Callable[[], Any]) -> Any:
    """Return the exit status of a tool, which may be the status of `sys.exit`."""
    try:
        return tool()
    except SystemExit as e:
        return e.code


def _end(status: Any) -> NoReturn:
    """End the process as `sys.exit` does, but leave its memory to the system: to free everything that the server has
    imported takes as long as many a tool."""
    if threading.active_count() == 1 and isinstance(status, int | None):
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status or 0)
    sys.exit(status)


def _answer(connection: socket.socket, tools: Mapping[str, Callable[[], Any]]) -> NoReturn:
    """Run the tool of a request in a separate process, which may crash, and send its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
    arguments, environment, folder = marshal.loads(request)
    pid = os.fork()
    if pid == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # The server's own streams may be files, which can be sought in, where these are pipes.
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
        sys.stderr = open(2, "w", buffering=1, closefd=False)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = arguments
        # A short life needs no garbage collector.
        gc.disable()
        name = Path(arguments[0]).name
        (_end if name not in PROGRAMS else sys.exit)(_status(tools[name]))
    if connection in select.select([os.pidfd_open(pid), connection], [], [])[0]:
        # The client was stopped.
        os.kill(pid, signal.SIGKILL)
    else:
        connection.send(marshal.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
