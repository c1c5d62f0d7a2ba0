"""One program of a campaign: how it is made, what is wrong with it, and the file that shows it."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, InternalError, InvalidOutputError, RelexError, describe
from relex.dialects.parser import parse_module
from relex.dialects.symbols import symbol_of
from relex.dialects.upstream.printer import as_text
from relex.reference.equivalence.reduction import reduce_module
from relex.tools.campaign.subject import Case, Skip, counting
from relex.tools.campaign.subject_table import SUBJECTS
from relex.tools.shell.diagnostics import ToolError, make_folder, read_text, write_bytes

Verdict = Literal["right", "refused", "skipped", "wrong"]

HEADER = "// subject: "
"""The prefix of the line in a file that says how its program is tried."""


@dataclass(frozen=True)
class TrialOutcome:
    """The outcome of a program. `message` says why it was refused or skipped, or what is wrong; `path` is the file that
    shows it; `number` is the program's number in its campaign; `counts` are the counters of its check."""

    subject: str
    verdict: Verdict
    message: str = ""
    path: str = ""
    number: int = -1
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


def subject_of(seed: int, number: int, subjects: Sequence[str]) -> tuple[str, Random]:
    """Return the subject of a program by its number, and the generator to make it with."""
    random = Random(f"{seed} {number}")
    return random.choices(subjects, [SUBJECTS[name].weight for name in subjects])[0], random


def try_number(seed: int, number: int, subjects: Sequence[str], folder: Path) -> TrialOutcome:
    """Make and try a program by its number. One that is wrong is reduced and written into the folder."""
    name, random = subject_of(seed, number, subjects)
    try:
        case = SUBJECTS[name].make(random)
    except Exception as e:
        outcome = _outcome_of(name, e)
        return replace(outcome, message=f"no program could be made of seed {seed}, number {number}: {outcome.message}")
    outcome = try_case(name, case)
    if outcome.verdict != "wrong":
        return outcome
    reduced = _reduced(name, case)
    path = write_case(folder, f"{name}-{seed}-{number}", name, reduced, outcome.message)
    return replace(outcome, path=path)


def try_case(name: str, case: Case) -> TrialOutcome:
    """Try a program."""
    with counting() as counts:
        try:
            wrong = SUBJECTS[name].check(Case(case.module.clone(), case.options))
        except Exception as e:
            return replace(_outcome_of(name, e), counts=dict(counts))
    verdict = "right" if wrong is None else "wrong"
    return TrialOutcome(name, verdict, wrong or "", counts=dict(counts))


def _outcome_of(name: str, error: Exception) -> TrialOutcome:
    match error:
        case Skip():
            return TrialOutcome(name, "skipped", str(error))
        case InvalidOutputError():
            return TrialOutcome(name, "wrong", f"it becomes invalid: {error.diagnostics[0].message}")
        case CompileError() if not isinstance(error, InternalError):
            return TrialOutcome(name, "refused", error.diagnostics[0].message)
        case _:
            return TrialOutcome(name, "wrong", _described(error))


def _described(error: Exception) -> str:
    """Return an error with the place in the code that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"raises {describe(error)} in {place.name} ({Path(place.filename).name}:{place.lineno})"


def _reduced(name: str, case: Case) -> Case:
    """Return a smaller program that is wrong, too."""

    def shows(module: ModuleOp) -> bool:
        return try_case(name, replace(case, module=module)).verdict == "wrong"

    names = [symbol_of(op) for op in case.module.ops]
    main = "main" if "main" in names else next(filter(None, names), "main")
    return replace(case, module=reduce_module(case.module, main, shows))


def write_case(folder: Path, stem: str, name: str, case: Case, message: str) -> str:
    """Write a program with what it takes to try it again; return the path."""
    make_folder(folder)
    path = folder / f"{stem}.mlir"
    lines = [
        "// RUN: relex-fuzz --replay %s",
        f"{HEADER}{name} {json.dumps(dict(case.options))}",
        *(f"// {line}" for line in message.splitlines()),
    ]
    text = "\n".join(lines) + "\n" + as_text(case.module, make_context())
    write_bytes(str(path), text.encode())
    return str(path)


def read_case(path: str) -> tuple[str, Case]:
    """Return the subject and the program of a file. Raises `ToolError` for another file."""
    name, text = read_text(path)
    line = next((line for line in text.splitlines() if line.startswith(HEADER)), None)
    if line is None:
        raise ToolError(f"expected '{name}' to have a line '{HEADER.strip()} NAME OPTIONS'")
    subject, _, options = line.removeprefix(HEADER).partition(" ")
    if subject not in SUBJECTS:
        raise ToolError(f"expected the subject of '{name}' to be one of {', '.join(SUBJECTS)}, found '{subject}'")
    try:
        known = {str(key): str(value) for key, value in json.loads(options).items()}
    except (ValueError, AttributeError) as e:
        raise ToolError(f"expected the options of '{name}' as JSON: {e}") from e
    try:
        return subject, Case(parse_module(text, name), known)
    except RelexError as e:
        raise ToolError(f"cannot read the program of '{name}': {e}") from e
