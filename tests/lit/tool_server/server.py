"""A process that has the Python tools loaded, and forks for each call of one.

The tests call tools some thousand times, and most of the time of a call would go into imports. `client.py` sends its
arguments, environment, folder and standard streams over a socket, and gets the exit status.

    python server.py SOCKET TOOL...
"""

from __future__ import annotations

import gc
import marshal
import os
import pkgutil
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

PACKAGES = ("relex.dialects", "relex.passes", "relex.lowering", "relex.runtime", "relex.tools")
"""Whose modules tools import as they need them."""

REQUEST_BYTES = 1 << 20


def serve(path: str, names: Sequence[str]) -> NoReturn:
    """Answer calls of the installed tools with these names, until the process that started this one has ended."""
    parent = os.getppid()
    tools = {entry.name: entry.load() for entry in entry_points(group="console_scripts") if entry.name in names}
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


def _answer(connection: socket.socket, tools: Mapping[str, Callable[[], Any]]) -> NoReturn:
    """Run the tool of a request in a process of its own, which may crash, and send its exit status."""
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
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = arguments
        # A short life needs no garbage collector.
        gc.disable()
        sys.exit(tools[Path(arguments[0]).name]())
    if connection in select.select([os.pidfd_open(pid), connection], [], [])[0]:
        # The client was stopped.
        os.kill(pid, signal.SIGKILL)
    else:
        connection.send(marshal.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
