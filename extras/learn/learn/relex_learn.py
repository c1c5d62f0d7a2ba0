"""`relex-learn`: exercises of the lessons, graded by relex."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from relex.tools.options.arguments import add_common_arguments, parse
from relex.tools.shell.completion import add_completion
from relex.tools.shell.diagnostics import ToolError, parse_source, read_source, run_tool

COMMANDS = {
    "notebook": "write a lesson, 1 to 6, as a Jupyter notebook",
    "list": "print the exercises",
    "start": "print the task, and write the file to begin with",
    "check": "grade a solution",
    "hint": "print the next hint, or the one that --step names",
    "answer": "print a solution",
}


def make_parser() -> argparse.ArgumentParser:
    """Return the argument parser of the tool."""
    commands = "\n".join(f"  {name:10}{what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="relex-learn",
        description=f"Exercises of the lessons, graded by relex itself.\n\ncommands:\n{commands}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=[*COMMANDS], metavar="COMMAND", help="one of the above")
    parser.add_argument("exercise", nargs="?", help="the number of an exercise, such as 1.2, or of a lesson")
    parser.add_argument("file", nargs="?", help="the solution (the file that 'start' writes)")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="hint: the first, the second, ... (1)")
    parser.add_argument("--no-speed", action="store_true", help="check: measure nothing")
    add_common_arguments(parser)
    add_completion(parser)
    return parser


def run(args: argparse.Namespace, begin: Callable[[str], None]) -> None:
    """Run the tool with parsed arguments. `begin` is told the number of an exercise before it is graded."""
    from relex.tools.learn.exercises import answer_of, exercises, find_exercise

    if args.command == "list":
        for exercise in exercises().values():
            print(f"{exercise.number}  {exercise.title}")
        return
    if args.command == "notebook":
        _write_notebook(args.exercise, args.file)
        return
    if args.exercise is None:
        raise ToolError(f"expected the number of an exercise: relex-learn {args.command} 1.1")
    exercise = find_exercise(args.exercise)
    match args.command:
        case "start":
            file = Path(args.file or exercise.file)
            if file.exists():
                raise ToolError(f"{file} exists already; nothing was written")
            file.write_text(exercise.start)
            print(f"{exercise.number}  {exercise.title}\n\n{exercise.task}\n\n{file} is the beginning.")
        case "hint":
            if not 1 <= args.step <= len(exercise.hints):
                raise ToolError(f"expected --step from 1 to {len(exercise.hints)}, found {args.step}")
            print(exercise.hints[args.step - 1])
            if args.step < len(exercise.hints):
                print(f"\nMore: relex-learn hint {exercise.number} --step {args.step + 1}")
        case "answer":
            print(answer_of(exercise), end="")
        case _:
            file = Path(args.file or exercise.file)
            if not file.exists():
                raise ToolError(f"{file} was not found; relex-learn start {exercise.number} writes it")
            begin(exercise.number)
            _check(exercise.number, file, speed=not args.no_speed)


def _write_notebook(number: str | None, name: str | None) -> None:
    from relex.tools.learn.notebooks import lessons, notebook_of_lesson

    if number is None or number not in lessons():
        raise ToolError(f"expected the number of a lesson, 1 to {len(lessons())}: relex-learn notebook 1")
    own, text = notebook_of_lesson(number)
    file = Path(name or own)
    if file.exists():
        raise ToolError(f"{file} exists already; nothing was written")
    file.write_text(text, encoding="utf-8")
    print(f"{file}: jupyter lab {file} opens it, where jupyterlab is installed")


def _check(number: str, file: Path, *, speed: bool) -> None:
    from relex.dialects.errors import CompileError
    from relex.dialects.parser import parse_module
    from relex.tools.learn.exercises import find_exercise
    from relex.tools.learn.graded_operators import graded_operator
    from relex.tools.learn.grading import graded
    from relex.tools.learn.lessons import AIMS, OPERATORS, PASSES
    from relex.tools.learn.passes import graded_pass

    exercise = find_exercise(number)
    source = read_source(str(file))
    try:
        if number in PASSES:
            lines = graded_pass(file, PASSES[number])
        elif number in OPERATORS:
            lines = graded_operator(file, OPERATORS[number])
        else:
            module = parse_source(source, {})
            start = parse_module(exercise.start) if AIMS[number].keeps else module
            lines = graded(module, start, AIMS[number], speed=speed)
        for line in lines:
            print(f"{number}  {line}", flush=True)
    except CompileError as e:
        raise CompileError([source.show(d) for d in e.diagnostics]) from e
    print(f"{number}  solved")


def main(args: Sequence[str] | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code."""
    args = sys.argv[1:] if args is None else args
    graded: list[str] = []
    status = run_tool("relex-learn", lambda: run(parse(args, make_parser()), graded.append), debug="--debug" in args)
    if status:
        for number in graded:
            print(f"not solved yet; relex-learn hint {number} prints a hint", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
