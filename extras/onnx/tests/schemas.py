"""Operators of the standard beside the package onnx: random models of one node, made from each operator's schema.

    python extras/onnx/tests/schemas.py                          # some draws of each version of each operator
    python extras/onnx/tests/schemas.py --samples all            # all of them
    python extras/onnx/tests/schemas.py --only Softmax           # operators with this in their names
    python extras/onnx/tests/schemas.py --show Softmax-13 7      # one draw

`onnx.reference` computes what is expected, or ONNX Runtime where the reference has no result. What becomes of a draw:

* `right`: relex computes the same, of the same type and shape.
* `by rule`: it does not, and `RULINGS` says why it is right.
* `refused`: relex refuses the model, or stops when it runs, with a reason among `REFUSALS`; `refused?`: with another.
* `differs`: the results are others. `broken`: an error of the compiler, a crash, no end.
* `invalid`: nobody has a result for the model, nor does relex. `accepted`: nobody has, but relex computes one.

What was found is kept in `build/onnx-schemas.jsonl`: a run goes on where the one before was stopped, unless the source
has changed. `--write` writes the table in `docs/onnx-operators.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from node_suite import reason
from onnx import ModelProto
from schema_draws import Draw, NotDrawn, Operator, operators
from schema_judges import Judge, NoResult, by_onnx_runtime, compared, complete, in_one_line, judged
from schema_page import page
from schema_rules import RULES
from schema_rulings import Case, may_refuse, ruling

from relex.dialects.errors import CompileError, RelexError
from relex.frontend.onnx import from_onnx
from relex.reference import interpret
from relex.runtime import build

for _module in Path(__file__).parent.glob("schema_rules_*.py"):
    import_module(_module.stem)

ROOT = Path(__file__).parents[3]
FINDINGS = ROOT / "build" / "onnx-schemas.jsonl"
PAGE = ROOT / "docs" / "onnx-operators.md"
SECONDS = 120.0
"""The time that a draw may take until it counts as endless."""
SOME, ALL = 10, 200
"""How many draws of each version of an operator there are, and a few more for each of its attributes."""
MORE = 3

Array = Any
Run = Callable[[Any], Mapping[str, Callable[..., Any]]]
RUNS: dict[str, Run] = {"interpreted": interpret, "native": partial(build, cache=False)}


@dataclass(frozen=True)
class Finding:
    """What became of a draw."""

    operator: str
    number: int
    verdict: str
    message: str = ""
    text: str = ""


def by_relex(draw: Draw, run: Run) -> list[list[Array]]:
    """Return the results of relex. Raises `RelexError` if it refuses the model or stops."""
    function = run(from_onnx(complete_or_not(draw.model)))["main"]
    found: list[list[Array]] = []
    for feed in draw.feeds:
        results: Any = function(*feed.values())
        many: list[Any] = [*results] if isinstance(results, tuple) else [results]
        found.append([np.asarray(result) for result in many])
    return found


def complete_or_not(model: ModelProto) -> ModelProto:
    """Return a model with the types of its outputs, which the importer's checker asks for."""
    try:
        return complete(model)
    except Exception:
        declared = ModelProto()
        declared.CopyFrom(model)
        for output in declared.graph.output:
            output.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        return declared


def outcome(draw: Draw, run: Run) -> Finding:
    """Run a draw."""

    def found(verdict: str, message: str = "") -> Finding:
        return Finding(str(draw.operator), draw.number, verdict, message, draw.text)

    def refused(why: str) -> str:
        if isinstance(judge, NoResult):
            return "invalid"
        return "refused" if may_refuse(draw, why) else "refused?"

    with np.errstate(all="ignore"):
        try:
            judge: Judge | NoResult = judged(draw)
        except NoResult as e:
            judge = e
        try:
            results = by_relex(draw, run)
        except CompileError as e:
            return found(refused(reason(e)), reason(e))
        except RelexError as e:
            why = f"at run time: {in_one_line(e)}"
            return found(refused(why), why)
        except Exception as e:
            return found("broken", f"{type(e).__name__}: {in_one_line(e)}")
        if isinstance(judge, NoResult):
            return found("accepted", str(judge))
        difference = compared(draw, judge.results, results)
        if not difference:
            return found("right")
        runtime = _second(draw, judge, results)
        near = not compared(draw, judge.results, results, epsilon=2.0**-23)
        is_finite = bool(compared(draw, judge.results, results, epsilon=2.0**-23, finite=True))
        if why := ruling(Case(draw, judge.name, runtime, near, is_finite)):
            return found("by rule", why)
        return found("differs", f"{judge.name} {difference}; ONNX Runtime: {runtime}")


def _second(draw: Draw, judge: Judge, results: list[list[Array]]) -> str:
    """Return what ONNX Runtime says where relex differs from what is expected."""
    try:
        other = by_onnx_runtime(complete(draw.model), draw.feeds)
    except Exception as e:
        return f"no result: {in_one_line(e)[:80]}"
    return compared(draw, other, results) or "as relex"


# Many draws.


def tried(operator: Operator, number: int, run: Run) -> Finding:
    """Make a draw and run it."""
    try:
        draw = Draw(operator, number, RULES)
    except NotDrawn as e:
        return Finding(str(operator), number, "not drawn", str(e))
    except Exception as e:
        return Finding(str(operator), number, "no draw", f"{type(e).__name__}: {in_one_line(e)}")
    try:
        return outcome(draw, run)
    except Exception as e:
        return Finding(str(operator), number, "no draw", f"{type(e).__name__}: {in_one_line(e)}", draw.text)


def _send(sender: Connection, operator: Operator, numbers: Sequence[int], run: str) -> None:
    warnings.simplefilter("ignore")
    for number in numbers:
        sender.send(tried(operator, number, RUNS[run]))


def apart(operator: Operator, numbers: Sequence[int], run: str) -> list[Finding]:
    """Try draws in a separate process: one that crashes or hangs is a finding, too."""
    context = get_context("fork")
    found: list[Finding] = []
    while len(found) < len(numbers):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(sender, operator, numbers[len(found) :], run))
        process.start()
        sender.close()
        try:
            while len(found) < len(numbers):
                if not receiver.poll(SECONDS):
                    raise TimeoutError
                found.append(receiver.recv())
        except EOFError:
            process.join()
            message = f"the process ended with {process.exitcode}"
            found.append(Finding(str(operator), numbers[len(found)], "broken", message))
        except TimeoutError:
            found.append(Finding(str(operator), numbers[len(found)], "broken", f"no end in {SECONDS} seconds"))
        finally:
            process.kill()
            process.join()
    return found


@cache
def source() -> str:
    """Return a digest of the source, of which findings are a function."""
    folders = ("relex_dialects", "passes", "lowering", "runtime", "reference", "frontend", "extras/onnx/onnx")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    paths = sorted([*paths, *Path(__file__).parent.glob("schema*.py")])
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def remembered(run: str) -> dict[tuple[str, int], Finding]:
    """Return what runs before have found with this source."""
    found: dict[tuple[str, int], Finding] = {}
    if FINDINGS.exists():
        for line in FINDINGS.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if (entry.pop("source"), entry.pop("run")) == (source(), run):
                found[entry["operator"], entry["number"]] = Finding(**entry)
    return found


def campaign(chosen: Iterable[Operator], samples: int, run: str, jobs: int) -> Iterator[Finding]:
    """Yield what becomes of draws."""
    known = remembered(run)
    FINDINGS.parent.mkdir(exist_ok=True)

    def numbers(operator: Operator) -> range:
        return range(samples + (MORE * len(operator.schema.attributes) if samples >= SOME else 0))

    def missing(operator: Operator) -> list[Finding]:
        untried = [number for number in numbers(operator) if (str(operator), number) not in known]
        return apart(operator, untried, run) if untried else []

    chosen = list(chosen)
    with ThreadPoolExecutor(jobs) as pool, FINDINGS.open("a", encoding="utf-8") as file:
        for operator, new in zip(chosen, pool.map(missing, chosen), strict=True):
            for finding in new:
                file.write(json.dumps({**asdict(finding), "source": source(), "run": run}) + "\n")
                known[finding.operator, finding.number] = finding
            file.flush()
            yield from (known[str(operator), number] for number in numbers(operator))


WRONG = ("differs", "broken", "no draw", "refused?")


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", default=str(SOME), help=f"how many draws of each version ({SOME}), or all ({ALL})")
    parser.add_argument("--only", default="", metavar="TEXT", help="operators with this in their names")
    parser.add_argument("--interpreted", action="store_true", help="run the models by the interpreter")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (2)")
    parser.add_argument("--show", nargs=2, metavar=("OPERATOR", "NUMBER"), help="run one draw")
    options = parser.parse_args()
    run = "interpreted" if options.interpreted else "native"
    warnings.simplefilter("ignore")
    if options.show:
        (operator,) = [operator for operator in operators() if str(operator) == options.show[0]]
        finding = tried(operator, int(options.show[1]), RUNS[run])
        print(finding.text, f"{finding.verdict}: {finding.message}", sep="\n")
        return finding.verdict in WRONG
    samples = ALL if options.samples == "all" else int(options.samples)
    found: list[Finding] = []
    for finding in campaign([o for o in operators() if options.only in str(o)], samples, run, options.jobs):
        found.append(finding)
        if finding.verdict in WRONG:
            print(f"{finding.verdict}: {finding.text or finding.operator}\n    {finding.message}", flush=True)
    print(Counter(finding.verdict for finding in found).most_common())
    if options.write:
        PAGE.write_text(page(found), encoding="utf-8")
    return any(finding.verdict in WRONG for finding in found)


if __name__ == "__main__":
    sys.exit(main())
