"""Examinations of models in processes, with limits of time and memory: whatever one does, it ends and gives a row."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Protocol

Found = dict[str, Any]
"""What is known of a model: a verdict, which is "right" if all is well, and what was measured."""

LONGEST = 600
"""The length of a verdict, at most."""


class Stage(Protocol):
    """Called by an examination before each of its steps, with the verdict if it does not get any further, and with what
    was measured before."""

    def __call__(self, verdict: str, **more: Any) -> None: ...


def as_it_is(verdict: str, message: str) -> str:
    """Return the verdict for an exception after a stage: its message."""
    return message


def _child(
    connection: Any,
    examine: Callable[..., None],
    given: Sequence[Any],
    megabytes: float | None,
    blame: Callable[[str, str], str],
) -> None:
    last: Found = {"verdict": "the process ended"}

    def stage(verdict: str, **more: Any) -> None:
        last.update(more, verdict=verdict[:LONGEST])
        connection.send(last)

    if megabytes is not None:
        most = int(megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        examine(*given, stage)
    except MemoryError:
        stage("the memory does not suffice")
    except Exception as e:
        stage(blame(last["verdict"], " ".join(str(e).split()) or type(e).__name__))


def examined(
    examine: Callable[..., None],
    *given: Any,
    seconds: float,
    megabytes: float | None = None,
    blame: Callable[[str, str], str] = as_it_is,
    method: Literal["spawn", "forkserver"] = "spawn",
) -> Found:
    """Return what is found by `examine(*given, stage)`, which runs in a process of a module's function. The process is
    ended after some seconds, and may have so much memory. `blame` makes the verdict from the stage and the message of
    an exception."""
    context: Any = get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, examine, given, megabytes, blame), daemon=True)
    found: Found = {"verdict": "the process took too long to start"}
    end = perf_counter() + seconds
    process.start()
    sender.close()
    is_cut = True
    try:
        while receiver.poll(max(end - perf_counter(), 0)):
            found = receiver.recv()
    except (EOFError, OSError):
        is_cut = False
    receiver.close()
    if not is_cut:
        process.join(max(end - perf_counter(), 1))
    code = process.exitcode
    process.kill()
    process.join()
    if code:
        found["verdict"] = f"the process ended with {code} at '{found['verdict']}'"
    return found


def write_rows(
    names: Iterable[str],
    run: Callable[[str], Mapping[str, Found]],
    line: Callable[[str, Mapping[str, Found]], str],
    path: Path,
) -> dict[str, Mapping[str, Found]]:
    """Examine models by name, print a line for each, and write all that is found to a file after each. Returns it."""
    known: dict[str, Mapping[str, Found]] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        known[name] = run(name)
        print(line(name, known[name]), flush=True)
        path.write_text(json.dumps(known, indent=1))
    return known


def cell(text: str) -> str:
    """Return a text as a cell of a table in Markdown."""
    return text.replace("|", "\\|")


def amount(found: Found, key: str, form: str) -> str:
    """Return a cell with a number, `-` if it was not measured."""
    return form.format(found[key]) if key in found else "-"


def ratio(found: Found, time: str, other: str) -> str:
    """Return a cell with the ratio of two times, `-` if they were not measured."""
    return f"{found[time] / found[other]:.2f}" if time in found and other in found else "-"
