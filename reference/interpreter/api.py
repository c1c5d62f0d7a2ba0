"""Programs as interpreted Python functions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.interpreter import InterpreterFunctions
from xdsl.traits import SymbolTable

from relex.dialects.arrays import Array
from relex.dialects.errors import CompileError, RelexError
from relex.dialects.function_arguments import replacements
from relex.dialects.parser import add_source
from relex.dialects.signature import Signature, TensorSpec, unknown_function
from relex.extras import find_part
from relex.lowering.support.signatures import is_on_buffers, refusals, signatures

# Each of these adds the semantics of its dialect to the table of steps.
from relex.reference.interpreter import arith as arith
from relex.reference.interpreter import control as control
from relex.reference.interpreter import graph as graph
from relex.reference.interpreter import loops as loops
from relex.reference.interpreter import math as math
from relex.reference.interpreter import memref as memref
from relex.reference.interpreter import tiles as tiles
from relex.reference.interpreter import vector as vector
from relex.reference.interpreter import vector_forms as vector_forms
from relex.reference.interpreter import views as views
from relex.reference.interpreter.checks import watching
from relex.reference.interpreter.failures import results_of
from relex.reference.interpreter.late_results import collecting_results, note_results
from relex.reference.interpreter.memory import Buffer, fresh_array
from relex.reference.interpreter.program import PreparedFunction, Program
from relex.runtime.arguments import argument_reader, bind_arguments, expect_apart, expect_in_place
from relex.runtime.results import ResultArrays, split_out
from relex.runtime.shapes import ShapeRule
from relex.runtime.sources import AnyProgram, read_program


def interpret(
    module: AnyProgram,
    *,
    checked: bool = False,
    interface: Mapping[str, Signature] | None = None,
    implementations: Iterable[InterpreterFunctions] = (),
) -> Interpretation:
    """Return the functions of a program, interpreted op by op at any level: graph, loops, core, or a mixture.

    `module` is a module, MLIR text, or the path of an `.mlir` file or of a `.py` file in TVMScript. Arguments and
    results are as in functions from `build`. Graph operators compute what their NumPy semantics define; everything
    below rounds once per op, in program order.

    With `checked`, fresh memory holds NaN (integers a pattern, booleans true and false in turn), and a run stops when
    memory is used after it was freed, when of two iterations of a parallel loop, or two values of a block's spatial
    variables, one writes an element that the other reads or writes, and when a block variable leaves its range.
    Accesses are always bounds-checked.

    Lowering turns outputs into trailing arguments. A function is called by the signature that it states, as those do
    that the pipeline has lowered, or by that in `interface` (`signatures(module)` of the module before lowering); a
    function on buffers with neither takes all of them and writes into them.
    `implementations` are from xDSL's interpreter for further dialects.

    Raises `CompileError` for an invalid program; a run raises `ExecutionError`, which names the op.
    """
    program, text = read_program(module)
    if interface is None:
        interface = signatures(program)
    return Interpretation(Program(program, checked=checked, implementations=implementations), interface, text)


class Interpretation(Mapping[str, "InterpretedFunction"]):
    """An interpreted program: a mapping from names to functions."""

    def __init__(self, program: Program, interface: Mapping[str, Signature], text: str | None):
        self._functions: dict[str, InterpretedFunction] = {}
        self._reasons = refusals(program.module)
        for name, signature in interface.items():
            op = SymbolTable.lookup_symbol(program.module, name)
            if op is not None:
                self._functions[name] = InterpretedFunction(program.function(op), signature, program.checked, text)

    def __getitem__(self, name: str) -> InterpretedFunction:
        if name not in self._functions:
            raise unknown_function(name, self._functions, self._reasons)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return "\n".join(["<interpretation>", *(f"  {f.signature}" for f in self._functions.values())])

    def _repr_html_(self) -> str:
        return find_part("html-of-functions")([f.signature for f in self._functions.values()], "interpretation")


class InterpretedFunction:
    """A function on arrays, called like a compiled one: see `relex.runtime.CompiledFunction`."""

    def __init__(self, function: PreparedFunction, signature: Signature, checked: bool, text: str | None):
        self.signature = signature
        self._function = function
        self._checked = checked
        self._text = text
        self._result_shapes = ShapeRule(signature, lambda shapes: shapes[len(signature.inputs) :])
        self._results = ResultArrays(signature)
        self._readers = [argument_reader(spec, signature.name) for spec in signature.inputs]

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        named, out = split_out(self.signature, named)
        values = bind_arguments(self.signature, args, named)
        inputs = [read(value) for read, value in zip(self._readers, values, strict=True)]
        expect_apart(self.signature, inputs)
        shapes = self._result_shapes(inputs)
        outputs = None if out is None else self._results.given(out, shapes, inputs)
        with self._located(), watching(), np.errstate(all="ignore"), collecting_results() as late:
            results = self._run(inputs, values, shapes)
        if outputs is None:
            # Below the level of loops, the type of memory does not say whether integers are signed.
            found = {i: array.view(self.signature.outputs[i].dtype) for i, array in late.items()}
            return self._results.returned(results, found)
        for output, result in zip(outputs, results, strict=True):
            output[...] = result
        return self._results.returned(outputs)

    def _run(self, inputs: Sequence[Array], given: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        op, signature = self._function.op, self.signature
        if isinstance(op, FuncOp) and not is_on_buffers(op):
            replaced = {number: inputs[i] for i, number in replacements(op).items()}
            values = self._passed(inputs, lambda array, _: array)
            results = [np.array(result) for result in self._function(*values)]
            for number, array in replaced.items():
                array[...] = results[number]
            results = [result for i, result in enumerate(results) if i not in replaced]
            note_results({i: results[i] for i in signature.late})
            return [result for i, result in enumerate(results) if i not in signature.late]
        if signature.writes_inputs:
            expect_in_place(signature, inputs, given)
            self._function(*self._passed(inputs, lambda array, _: Buffer(array)))
            return []
        specs = signature.framed[len(inputs) :]
        outputs = [
            fresh_array(shape, spec.dtype, checked=self._checked) for shape, spec in zip(shapes, specs, strict=True)
        ]
        buffers = [Buffer(array) for array, spec in zip(outputs, specs, strict=True) if not spec.is_scalar]
        returned = iter(results_of(op, self._function(*self._passed(inputs, _buffer), *buffers)))
        return [
            np.array(next(returned)) if spec.is_scalar else array for array, spec in zip(outputs, specs, strict=True)
        ]

    def _passed(self, inputs: Sequence[Array], pass_array: Callable[[Array, TensorSpec], Any]) -> list[Any]:
        """Return the values that the function takes: scalars as numbers."""
        pairs = zip(inputs, self.signature.inputs, strict=True)
        return [array[()] if spec.is_scalar else pass_array(array, spec) for array, spec in pairs]

    @contextmanager
    def _located(self) -> Generator[None]:
        """Add the source line to errors, if the program was given as text."""
        try:
            yield
        except CompileError as e:
            if self._text is None:
                raise
            raise type(e)([add_source(d, self._text) for d in e.diagnostics]) from e
        except RecursionError as e:
            raise RelexError(f"{self.signature.name}() calls itself too deeply to be interpreted") from e

    def __repr__(self) -> str:
        return f"<interpreted {self.signature}>"

    def _repr_html_(self) -> str:
        return find_part("html-of-signature")(self.signature, "interpreted function")


def _buffer(array: Array, spec: TensorSpec) -> Buffer:
    return Buffer(array) if spec.is_inout else Buffer.read_only(array)
