"""Execution of functions on generated arguments: interpreted, or natively once they are machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.ir import Operation
from xdsl.traits import SymbolTable
from xdsl.utils.hints import isa

from relex.dialects import errors
from relex.dialects.arrays import Array
from relex.dialects.dtypes import element_type_of, numpy_dtype, storage_of
from relex.dialects.target.machine import PACKED_PREFIX
from relex.dialects.tir import PrimFuncOp
from relex.lowering.llvm.object_code import compile_module
from relex.lowering.support.signatures import stated_signature
from relex.passes.rewriting.numerics import Numerics, exact
from relex.reference.equivalence.approximation import numbers_for
from relex.reference.equivalence.bounded import UndecidedBranch, plain, spread_of
from relex.reference.equivalence.interface import Interface, NotComparable, Spec, find_function, late_results

# The interpreter's tables are filled by its modules.
from relex.reference.interpreter import api as api
from relex.reference.interpreter.budget import OutOfSteps, at_most
from relex.reference.interpreter.failures import expect_success, results_of
from relex.reference.interpreter.late_results import collecting_results
from relex.reference.interpreter.library import CALLS
from relex.reference.interpreter.memory import Buffer, signless
from relex.reference.interpreter.numbers import Numbers
from relex.reference.interpreter.program import Program
from relex.runtime.callbacks import LateResults
from relex.runtime.linking import LoadedCode
from relex.runtime.loader import load

Shapes = Sequence[tuple[int, ...]]
Call = tuple[str, tuple[Array, ...]]
"""The name of a library function, and the arguments of a call."""


@dataclass(frozen=True)
class CallOutcome:
    """The outcome of a call: the results, then the contents of buffers that it may write; or the error that stopped
    it."""

    results: tuple[Array, ...] = ()
    error: str | None = None
    calls: Sequence[Call] | None = None
    """The calls of library functions, in order, with their arguments; None if they are not known."""
    failed: str | None = None
    """The message of the assertion that has failed, if that is the error."""

    @classmethod
    def of(cls, error: errors.ExecutionError) -> CallOutcome:
        """Return the outcome of a call that an error has stopped."""
        is_assertion = isinstance(error, errors.AssertionFailedError | errors.IndexRangeError)
        failed = error.reason.removeprefix("failed: ") if is_assertion else None
        return cls(error=error.diagnostics[0].message, failed=failed)


class Runner:
    """Runs the functions of a module. Memory that is not yet written holds NaN, or a pattern."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self._program = Program(module, numbers=Numbers(checked=True))
        self._code: LoadedCode | None = None
        self._bounded: dict[Numerics, Program] = {}
        self.symbolic: dict[object, Any] = {}
        """The results of functions on symbols, kept from one proof to the next."""

    def run(self, name: str, interface: Interface, arguments: Sequence[Any], shapes: Shapes | None) -> CallOutcome:
        """Call a function. `shapes` are the shapes of the results, if known; they are required if the function gets
        buffers for results of dynamic sizes.

        Raises `NotComparable` if it cannot be called.
        """
        function = find_function(self.module, name)
        if isinstance(function, llvm.FuncOp):
            return self._run_natively(function, interface, arguments, shapes)
        if function is None:
            raise NotComparable("it has no body")
        inputs = [_input(spec, value) for spec, value in zip(interface.inputs, arguments, strict=True)]
        calls: list[Call] = []
        token = CALLS.set(calls)
        try:
            found = _interpret(self._program, function, interface, inputs, shapes, STEPS)
        except errors.UnsupportedError as e:
            raise NotComparable(e.diagnostics[0].message) from e
        except errors.ExecutionError as e:
            return CallOutcome.of(e)
        except CallCrash as e:
            return CallOutcome(error=str(e))
        finally:
            CALLS.reset(token)
        return CallOutcome(tuple(map(_without_sign, found)), calls=calls)

    def spreads(
        self,
        name: str,
        interface: Interface,
        arguments: Sequence[Any],
        shapes: Shapes,
        numerics: Numerics = exact,
    ) -> list[Array]:
        """Return how far apart two correct results of a call may lie, elementwise: as the ops say, and as a pass of
        these numerics may change them. Raises `NotComparable` if that is unknown."""
        program = self._bounded.setdefault(numerics, Program(self.module, numbers=numbers_for(numerics)))
        inputs = [
            value if spec.is_index else plain(_input(spec, value))
            for spec, value in zip(interface.inputs, arguments, strict=True)
        ]
        try:
            found = self.run_on(program, name, interface, inputs, shapes, STEPS // BOUNDED_STEPS)
        except UndecidedBranch:
            raise Rounding("it decides by numbers that rounding may change") from None
        return [np.asarray(spread_of(np.asarray(x))) for x in found]

    def run_on(
        self,
        program: Program,
        name: str,
        interface: Interface,
        inputs: Sequence[Any],
        shapes: Shapes | None,
        steps: int,
    ) -> list[Any]:
        """Call a function in another representation of numbers, as in `program` and `inputs`, and return the results
        in it. Raises `Fails` if an assertion fails, and `NotComparable` if it cannot be called, or takes more steps."""
        function = find_function(self.module, name)
        if function is None or isinstance(function, llvm.FuncOp):
            raise NotComparable("machine code does not say what rounding may change")
        try:
            return _interpret(program, function, interface, inputs, shapes, steps)
        except errors.ExecutionError as e:
            outcome = CallOutcome.of(e)
            raise (NotComparable if outcome.failed is None else Fails)(outcome.error) from e

    def _run_natively(
        self, function: llvm.FuncOp, interface: Interface, arguments: Sequence[Any], shapes: Shapes | None
    ) -> CallOutcome:
        if self._code is None:
            try:
                self._code = load(compile_module(self.module))
            except errors.RelexError as e:
                raise NotComparable(str(e)) from e
        inputs = [_input(spec, value) for spec, value in zip(interface.inputs, arguments, strict=True)]
        entry = SymbolTable.lookup_symbol(self.module, PACKED_PREFIX + function.sym_name.data) or function
        signature = stated_signature(entry, function.sym_name.data)
        late = () if signature is None else signature.late
        outputs = [] if interface.written else _fresh(self._program.numbers, interface, shapes, late)
        scalars = [spec for spec in interface.outputs if spec.shape is None]
        failures = () if signature is None else signature.failures
        result = _native_result(scalars, may_fail=bool(failures))
        words = [word for value in (*inputs, *outputs) for word in _words(value)]
        if len(words) != len(function.function_type.inputs):
            raise NotComparable(f"expected {len(words)} arguments at the machine level")
        prototype = ctypes.CFUNCTYPE(result, *(kind for kind, _ in words))
        before = [np.array(value) for value in inputs]
        allocated: dict[int, Array] = {}
        with LateResults(signature, allocated) if signature is not None else nullcontext():
            returned = prototype(self._code.address(function.sym_name.data))(*(word for _, word in words))
        read = [i for i in range(len(inputs)) if i not in interface.replaced.values()]
        if not interface.written and any(before[i].tobytes() != inputs[i].tobytes() for i in read):
            return CallOutcome(error="writes one of its inputs")
        if failures:
            try:
                expect_success(function, failures, returned.number, returned.index)
            except errors.ExecutionError as e:
                return CallOutcome.of(e)
        values = [np.array(returned, spec.dtype) for spec in scalars]
        found = values if interface.written else _in_order(interface, outputs, values, inputs, allocated)
        return CallOutcome((*found, *map(np.array, _written(interface, inputs))))


STEPS = 5_000_000
"""The number of steps that an interpreted call may take: some seconds."""

BOUNDED_STEPS = 20
"""The number of steps on numbers that take as long as one on numbers with bounds."""


class TooLong(NotComparable):
    """A call that takes more steps than it may."""

    def __init__(self) -> None:
        super().__init__(f"it takes more than {STEPS} steps to be interpreted")


class Rounding(NotComparable):
    """A call that depends on rounding in other ways than by its results."""


class Fails(NotComparable):
    """A call in which an assertion fails."""


class UnknownSizes(NotComparable):
    """A call with arguments of sizes that do not fit, so that nothing says how large the results are."""


class CallCrash(NotComparable):
    """A call that raises an exception other than relex's errors, so that the reason is unknown."""


@contextmanager
def interpreting(steps: int) -> Generator[None]:
    """Limit the steps of a run. Raises `CallCrash` for exceptions that name no op."""
    try:
        with at_most(steps), np.errstate(all="ignore"):
            yield
    except OutOfSteps:
        raise TooLong from None
    except (errors.RelexError, UndecidedBranch, NotComparable):
        raise
    except RecursionError:
        raise CallCrash("it nests or calls itself too deeply") from None
    except Exception as e:
        raise CallCrash(f"the interpreter stumbles over it: {errors.describe(e)}") from e


def _interpret(
    program: Program,
    function: Operation,
    interface: Interface,
    inputs: Sequence[Any],
    shapes: Shapes | None,
    steps: int,
) -> list[Any]:
    """Call a function, and return its results, then the buffers that it may have written."""
    assert isinstance(function, func.FuncOp | PrimFuncOp)
    types = function.function_type.inputs.data
    writes_results = any(isinstance(types[i], MemRefType) for i in interface.replaced.values())
    returns_all = isinstance(function, func.FuncOp) and len(types) == len(interface.inputs) and not writes_results
    late = late_results(function)
    outputs = [] if returns_all and not late else _fresh(program.numbers, interface, shapes, late)
    written = range(len(inputs)) if returns_all else interface.replaced.values()
    with interpreting(steps), collecting_results() as allocated:
        found = program.function(function)(*_as_arguments(function, inputs, written), *map(Buffer, outputs))
        returned = results_of(function, found)
    if returns_all and not late:
        return [*returned, *_written(interface, inputs)]
    return _in_order(interface, outputs, returned, inputs, allocated)


def _input(spec: Spec, value: Any) -> Any:
    """Return an argument for one call: a copy, as buffers are written in place."""
    return np.array(value) if spec.shape is not None else value


def _without_sign(value: Any) -> Array:
    """Return a result of a tensor type in the representation that interfaces have."""
    array = np.array(value)
    return array.view(signless(array.dtype))


def _as_arguments(function: Operation, values: Sequence[Any], written: Collection[int]) -> list[Any]:
    """Return what the interpreter passes for arrays: themselves for tensors, with the sign of their type, buffers for
    memrefs, which may be `written` or not."""
    types = function.regions[0].blocks[0].arg_types
    arguments: list[Any] = []
    for i, (t, value) in enumerate(zip(types, values, strict=False)):
        if isa(t, TensorType) and storage_of(t.element_type) != t.element_type:
            arguments.append(_with_sign(value, numpy_dtype(t.element_type)))
        elif t.name != "memref":
            arguments.append(value)
        else:
            arguments.append(Buffer(value) if i in written else Buffer.read_only(value))
    return arguments


def _with_sign(value: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers of a dtype, of which an array has the bits; what stands for numbers has no sign."""
    return value.view(dtype) if value.dtype.names is None else value


def _in_order(
    interface: Interface,
    filled: Sequence[Any],
    returned: Sequence[Any],
    inputs: Sequence[Any],
    late: Mapping[int, Any] | None = None,
) -> list[Any]:
    """Return the results of a function that fills buffers for arrays, some of them arguments, and returns scalars. It
    has allocated late results."""
    arrays, numbers, replaced, allocated = iter(filled), iter(returned), interface.replaced, late or {}

    def result(i: int, spec: Spec) -> Any:
        if i in replaced:
            return np.array(inputs[replaced[i]])
        return allocated[i] if i in allocated else next(numbers if spec.shape is None else arrays)

    return [result(i, spec) for i, spec in enumerate(interface.outputs)]


def _fresh(numbers: Numbers, interface: Interface, shapes: Shapes | None, late: Collection[int] = ()) -> list[Array]:
    """Allocate arrays for the results, except for scalars, late results, and those that take the place of arguments."""
    shapes = shapes or [spec.shape or () for spec in interface.outputs]
    if any(size < 0 for i, shape in enumerate(shapes) if i not in late for size in shape):
        raise UnknownSizes("the sizes of its results are not known")
    arrays = [(interface.outputs[i].dtype, shapes[i]) for i in interface.filled if i not in late]
    return [numbers.fresh_array(shape, dtype, element_type_of(dtype)) for dtype, shape in arrays]


def _written(interface: Interface, inputs: Sequence[Any]) -> list[Array]:
    return [] if interface.fills else [x for spec, x in zip(interface.inputs, inputs, strict=True) if spec.is_buffer]


def _native(dtype: np.dtype[Any]) -> Callable[..., Any]:
    try:
        return np.ctypeslib.as_ctypes_type(dtype)
    except NotImplementedError:
        raise NotComparable(f"numbers of {dtype.name} cannot be passed to machine code") from None


class _Failure(ctypes.Structure):
    """The numbers that a function returns that may fail."""

    _fields_ = (("number", ctypes.c_int64), ("index", ctypes.c_int64))


def _native_result(scalars: Sequence[Spec], *, may_fail: bool) -> Any:
    if len(scalars) + may_fail > 1:
        raise NotComparable("machine code returns several numbers")
    if may_fail:
        return _Failure
    return _native(scalars[0].dtype) if scalars else None


def _words(value: Any) -> list[tuple[Any, Any]]:
    """Return the C types and values that are passed for an argument: a number, or the fields of a descriptor."""
    if not isinstance(value, np.ndarray):
        return [(_native(value.dtype), value.item())]
    array = cast(Array, value)
    address = (ctypes.c_void_p, array.ctypes.data)
    numbers = (0, *array.shape, *(step // array.itemsize for step in array.strides))
    return [address, address, *((ctypes.c_int64, n) for n in numbers)]
