"""Failed assertions as results of functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, cf, func, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relex.dialects.errors import fail
from relex.dialects.exceptions import AssertionRecord
from relex.dialects.failures import NOTES, failure_of, found_index, notes_index
from relex.dialects.function_arguments import PARALLEL_ATTR, SIGNATURE_ATTR
from relex.dialects.symbols import erase_unused
from relex.dialects.upstream.hints import isa
from relex.dialects.walks import reachable, walk
from relex.lowering.memory.live_buffers import live_buffers
from relex.lowering.support.signatures import state_signature, stated_signature
from relex.passes.driver.base import RelexPass

OpT = TypeVar("OpT", bound=Operation)

RECORD = MemRefType(i64, [1])
"""Where the calls of a parallel function store which assertion has failed."""


class ReturnFailuresPass(RelexPass):
    """
    Lets functions return when an assertion fails. A function that checks assertions, itself or by calls, returns two
    more numbers: which assertion has failed, counted from 1 in the module, or 0; and the index that
    `@relex_found_index` was called with right before it. It frees its buffers first; other results are unspecified.
    Its callers return in turn. A function whose calls are parallel stores the number in a buffer of its caller
    instead. Signatures list the messages.

    Without this pass, a failed assertion ends the process, as in MLIR. So it does in a public function without a
    signature, and in what that calls.

    ```mlir
    func.func private @f(%c: i1, %x: f32) -> f32 {
      cf.assert %c, "expected more"
      func.return %x : f32
    }
    // return-failures
    func.func private @f(%c: i1, %x: f32) -> (f32, i64, i64) {
      cf.cond_br %c, ^holds, ^failed
    ^holds:
      %none = arith.constant 0 : i64
      func.return %x, %none, %none : f32, i64, i64
    ^failed:
      %failure = arith.constant 1 : i64
      %index = arith.constant 0 : i64
      %result = arith.constant 0.0 : f32
      func.return %result, %failure, %index : f32, i64, i64
    }
    ```
    """

    name = "return-failures"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(type(inner) is cf.AssertOp for inner in walk(op)):
            return
        functions = _called_by_relex(op)
        failures = [*dict.fromkeys(failure_of(check) for f in functions.values() for check in f.assertions)]
        failing = _failing(functions)
        recorded = {_callee(call) for f in functions.values() for call in f.calls if PARALLEL_ATTR in call.attributes}
        for name in failing:
            _Rewriting(functions[name], failing, recorded, failures).run()
        for note in [call for f in functions.values() for call in f.calls if notes_index(call)]:
            Rewriter.erase_op(note)
        erase_unused(op, [f for f in op.ops if isinstance(f, func.FuncOp) and f.sym_name.data in NOTES])


class _Function:
    """A function, the assertions that it checks, its calls and its returns."""

    def __init__(self, op: func.FuncOp):
        self.op = op
        ops = [*walk(op)]
        self.assertions = [inner for inner in ops if isinstance(inner, cf.AssertOp)]
        self.calls = [inner for inner in ops if isinstance(inner, func.CallOp)]
        self.returns = [inner for inner in ops if isinstance(inner, func.ReturnOp)]

    @property
    def is_private(self) -> bool:
        """True if it is only called in its module."""
        return self.op.sym_visibility == StringAttr("private")


def _callee(call: func.CallOp) -> str:
    return call.callee.root_reference.data


def _called_by_relex(module: ModuleOp) -> dict[str, _Function]:
    """Return the functions of a module, except for those that are called from outside in another way than by their
    signature, which says what they return, and those that they call."""
    functions = {f.sym_name.data: _Function(f) for f in module.ops if isinstance(f, func.FuncOp) and f.body.blocks}
    others = [name for name, f in functions.items() if not f.is_private and SIGNATURE_ATTR not in f.op.attributes]

    def callees(name: str) -> Iterable[str]:
        return map(_callee, functions[name].calls) if name in functions else ()

    left = {name for other in others for name in reachable(other, callees)}
    return {name: function for name, function in functions.items() if name not in left}


def _failing(functions: Mapping[str, _Function]) -> list[str]:
    """Return the functions that check assertions, themselves or by calls."""
    callers: dict[str, list[str]] = {}
    for name, function in functions.items():
        for call in function.calls:
            callers.setdefault(_callee(call), []).append(name)
    starts = [name for name, function in functions.items() if function.assertions]
    return [*dict.fromkeys(name for start in starts for name in reachable(start, lambda n: callers.get(n, ())))]


class _Rewriting:
    """The rewriting of a function that may fail."""

    def __init__(
        self,
        function: _Function,
        failing: Collection[str],
        recorded: Collection[str],
        failures: Sequence[AssertionRecord],
    ):
        self._function = function
        self._failing = failing
        self._recorded = recorded
        self._failures = failures
        self._results = function.op.function_type.outputs.data
        self._entry = function.op.body.blocks[0]
        self._record = self._entry.insert_arg(RECORD, len(self._entry.args)) if self._is_recorded else None
        self._inner_record: SSAValue | None = None

    @property
    def _is_recorded(self) -> bool:
        return self._function.op.sym_name.data in self._recorded

    def run(self) -> None:
        """Let the function return when an assertion fails."""
        function = self._function
        checks = [*function.assertions, *(call for call in function.calls if _callee(call) in self._failing)]
        live = live_buffers(function.op, checks)
        for check in checks:
            if check.parent_op() is not function.op:
                fail(check, "expected to be among the branches of a function; run convert-scf-to-cf first")
        for end in function.returns:
            self._return(_Place(InsertPoint.before(end), end), end.arguments, None, None)
            Rewriter.erase_op(end)
        for check in checks:
            self._branch(check, live.get(check, ()))
        self._state()

    def _branch(self, check: Operation, live: Sequence[SSAValue]) -> None:
        """Branch to a return unless an assertion, or a call, succeeds."""
        place, failed = _Place(InsertPoint.before(check), check), Block()
        left = _Place(InsertPoint.at_end(failed), check)
        number: SSAValue
        if isinstance(check, cf.AssertOp):
            holds, index = check.arg, found_index(check)
            number = left.number(self._failures.index(failure_of(check)) + 1)
        else:
            assert isinstance(check, func.CallOp)
            number, index = self._call(check, place)
            holds = place.add(arith.CmpiOp(number, place.number(0), "eq")).result
        before = check.parent_block()
        assert before is not None
        after = before.split_before(check)
        _Place(InsertPoint.at_end(before), check).add(cf.ConditionalBranchOp(holds, after, (), failed, ()))
        for buffer in live:
            left.add(memref.DeallocOp.get(buffer))
        self._return(left, [left.zero(t) for t in self._results], number, index)
        Rewriter.erase_op(check)
        self._function.op.body.add_block(failed)

    def _call(self, call: func.CallOp, place: _Place) -> tuple[SSAValue, SSAValue | None]:
        """Replace a call of a function that may fail. Return the number of the failure, and the index, if any."""
        if _callee(call) in self._recorded:
            record = self._record_of_callees()
            first = place.number(0, IndexType())
            place.add(memref.StoreOp.get(place.number(0), record, [first]))
            new = place.add(func.CallOp(call.callee, [*call.arguments, record], []))
            number, index = place.add(memref.LoadOp.get(record, [first])).res, None
        else:
            new = place.add(func.CallOp(call.callee, call.arguments, [*call.result_types, i64, i64]))
            number, index = new.results[-2:]
        new.attributes |= call.attributes
        for old, result in zip(call.results, new.results, strict=False):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        return number, index

    def _record_of_callees(self) -> SSAValue:
        if self._inner_record is None:
            alloca = memref.AllocaOp.get(i64, shape=[1])
            _Place(InsertPoint.at_start(self._entry), self._function.op).add(alloca)
            self._inner_record = alloca.memref
        return self._inner_record

    def _return(
        self, place: _Place, results: Sequence[SSAValue], number: SSAValue | None, index: SSAValue | None
    ) -> None:
        """Return results, and the number of a failure, if there is one, with an index, if it has one."""
        if self._record is None:
            place.add(func.ReturnOp(*results, number or place.number(0), index or place.number(0)))
            return
        if number is not None:
            place.add(memref.StoreOp.get(number, self._record, [place.number(0, IndexType())]))
        place.add(func.ReturnOp(*results))

    def _state(self) -> None:
        """Change the type of the function, and its signature."""
        op, results = self._function.op, [*self._results]
        if self._record is None:
            results += [i64, i64]
        elif op.arg_attrs is not None:
            op.arg_attrs = ArrayAttr([*op.arg_attrs, DictionaryAttr({})])
        op.function_type = FunctionType.from_lists(self._entry.arg_types, results)
        if op.res_attrs is not None:
            op.res_attrs = ArrayAttr([*op.res_attrs, *[DictionaryAttr({})] * (len(results) - len(op.res_attrs))])
        if (signature := stated_signature(op, op.sym_name.data)) is not None:
            state_signature(op, replace(signature, failures=tuple(self._failures)))


class _Place:
    """A place for new ops, which have the location of another op."""

    def __init__(self, point: InsertPoint, like: Operation):
        self._builder = Builder(point)
        self._like = like

    def add(self, op: OpT) -> OpT:
        """Insert an op."""
        op.location = self._like.location
        return self._builder.insert(op)

    def number(self, value: int, kind: IntegerType | IndexType = i64) -> SSAValue:
        """Insert an integer."""
        return self.add(arith.ConstantOp(IntegerAttr(value, kind))).result

    def zero(self, kind: Attribute) -> SSAValue:
        """Insert a result that nobody reads."""
        if isa(kind, IntegerType) or isinstance(kind, IndexType):
            return self.number(0, kind)
        if isinstance(kind, AnyFloat):
            return self.add(arith.ConstantOp(FloatAttr(0.0, kind))).result
        fail(self._like, f"expected a function that may fail to return numbers, found {kind}")
