"""Calls of a function from the command line: its arguments, one call or many, and what becomes of their results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from relex.dialects.errors import DTypeError, RangeError, ShapeError
from relex.passes.driver.activity import doing
from relex.tools.run.inputs import Input, count_calls, for_argument, source_of
from relex.tools.shell.diagnostics import ToolError
from relex.tools.shell.progress_bar import with_progress

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from relex.dialects.dtypes import Array
    from relex.dialects.signature import Signature
    from relex.runtime import Executable
    from relex.tools.run.benchmark import Measured
    from relex.tools.run.buffer_functions import Callee


def call(
    functions: Mapping[str, Callee], module: ModuleOp | None, args: argparse.Namespace, inputs: Sequence[Input]
) -> Sequence[Array]:
    """Return the results of the requested function, and the arguments that it changes, stacked over calls if there are
    several."""
    import numpy as np

    function = _callee(functions[args.entry], args, inputs)
    returned = len(function.signature.outputs)
    changed = [i for i, spec in enumerate(function.signature.inputs) if spec.is_inout]
    expected = returned + len(changed)
    if len(args.output) > expected:
        raise ToolError(f"expected at most {expected} --output, found {len(args.output)}")

    def results(number: int) -> Sequence[Array]:
        values = _arguments(function.signature, inputs, args.random, number)
        with naming(source_of(inputs, number)), doing("Calls"):
            result = function(*values)
        return [*([result] if returned == 1 else result or []), *(np.array(values[i]) for i in changed)]

    count = count_calls(inputs)
    found = (
        results(0)
        if count is None
        else stack([results(i) for i in with_progress(range(count), sys.stderr)], partial(source_of, inputs))
    )
    first = partial(_arguments, function.signature, inputs, args.random, 0)
    if args.benchmark:
        print(benchmark(function, module, first()))
        found = list[Any]()
    if args.profile:
        print(cast("Executable", functions).profile(*first(), entry=args.entry), file=sys.stderr)
    if args.html:
        cast("Executable", functions).report(*first(), entry=args.entry).save(args.html, beside=args.html_compare)
    return found


def _callee(function: Callee, args: argparse.Namespace, inputs: Sequence[Input]) -> Callee:
    """Return what is called: a function on buffers as one that returns what it writes."""
    names = [i.name for i in inputs if i.name is not None]
    if len(set(names)) != len(names):
        raise ToolError("expected every --input name once")
    if not function.signature.writes_inputs:
        return function
    if args.profile or args.html:
        option = "profile" if args.profile else "html"
        raise ToolError(f"expected a function on tensors with --{option}, found one on buffers")
    from relex.tools.run.buffer_functions import BufferFunction

    return BufferFunction(function, len(inputs))


def _arguments(signature: Signature, inputs: Sequence[Input], random: str | None, number: int) -> Sequence[Any]:
    """Return the arguments of a call; with `random`, those that are not given are random."""
    from relex.runtime.arguments import bind_arguments

    in_order = [i.value(number) for i in inputs if i.name is None]
    by_name = {i.name: i.value(number) for i in inputs if i.name is not None}
    if random is not None:
        from relex.tools.run.random_inputs import random_arguments, read_sizes

        given = [spec.name for spec in signature.inputs[: len(in_order)]]
        by_name |= random_arguments(signature, read_sizes(random), [*given, *by_name])
    bound = bind_arguments(signature, in_order, by_name)
    return [for_argument(value, spec, signature.name) for value, spec in zip(bound, signature.inputs, strict=True)]


def benchmark(function: Callee, module: ModuleOp | None, arguments: Sequence[Any]) -> Measured:
    """Return how long calls with these arguments take."""
    import numpy as np

    from relex.tools.run.benchmark import measure
    from relex.tools.run.signature_help import count_flops

    signature = function.signature
    shapes = [np.shape(argument) for argument in arguments]
    flops = None if module is None else count_flops(module, signature.name, shapes)
    size = sum(np.asarray(argument).nbytes for argument in arguments)
    is_double = any(spec.element_type == "f64" for spec in signature.outputs)
    dtype = "float64" if is_double else "float32"
    return measure(signature.name, lambda: function(*arguments), flops, size, dtype)


@contextmanager
def naming(source: str) -> Generator[None]:
    """Add the origin of a call's arguments to an error in one of them."""
    try:
        yield
    except (DTypeError, RangeError, ShapeError) as e:
        raise ToolError(f"{source}: {e}" if source else str(e)) from e


def stack(calls: Sequence[Sequence[Array]], source: Callable[[int], str]) -> Sequence[Array]:
    """Stack each result of several calls into one array. `source` returns the origin of the arguments of a call."""
    import numpy as np

    for result in zip(*calls, strict=True):
        first = result[0].shape
        if other := next((i for i, array in enumerate(result) if array.shape != first), 0):
            found = f"{first} from {source(0)}, {result[other].shape} from {source(other)}"
            raise ToolError(f"expected results of one shape from --each, found {found}")
    return [np.stack(result) for result in zip(*calls, strict=True)]


def write_results(results: Sequence[Array], files: Sequence[str]) -> None:
    """Save the results for which there are files, and print the others."""
    import numpy as np

    for path, array in zip(files, results, strict=False):
        try:
            with Path(path).open("wb") as file:
                np.save(file, array)
        except OSError as e:
            raise ToolError(f"cannot write '{path}': {e.strerror}") from e
    for array in results[len(files) :]:
        print(np.array2string(np.asarray(array), separator=", ", threshold=1000))
