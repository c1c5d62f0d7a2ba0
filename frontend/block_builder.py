"""A builder for modules, one op at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import UnionType
from typing import Any, TypeGuard

from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from relex.dialects import errors
from relex.dialects.names import Names
from relex.dialects.parser import verify_module
from relex.dialects.relex import PRIMITIVE_ATTR, CallTirOp
from relex.dialects.relex.types import with_names, without_names
from relex.dialects.sizes import IndexExpr, gathering, name_of_size, named
from relex.dialects.sizes.function_analysis import FunctionAnalysis
from relex.dialects.sizes.modules import is_static, sizes_at_entry
from relex.dialects.symbols import symbol_of
from relex.dialects.tir import PrimFuncOp
from relex.frontend.call_site import refuse, user_place, with_source
from relex.frontend.function_body import Dataflow, FunctionBody
from relex.frontend.graph_expressions import Binding, Call, Var
from relex.frontend.graph_expressions import Tensor as AnyTensor
from relex.frontend.ir_module import IRModule
from relex.frontend.regions import RegionBuilder
from relex.lowering.te import Tensor, emit_prim_func, placeholder
from relex.passes.rewriting.size_values import Sources


class BlockBuilder(RegionBuilder):
    """
    Builds a module function by function and op by op. Types are inferred, and errors raised, when an expression is
    emitted; a `CompileError` shows the line of the program that caused it.

        bb = BlockBuilder()
        x = Var("x", (1, 784), "float32")
        with bb.function("main", [x]):
            with bb.dataflow():
                lv = bb.emit(op.dense(x, const(w)))
                gv = bb.emit_output(op.relu(lv))
            bb.emit_func_output(gv)
        module = bb.get()

    `BlockBuilder(module)` continues with the functions of a module, which it leaves as it is.
    """

    def __init__(self, module: ModuleOp | None = None):
        self._module: ModuleOp = IRModule([]) if module is None else IRModule.of(module)
        self._names = Names()
        self._body: FunctionBody | None = None

    @contextmanager
    def function(
        self, name: str, params: Sequence[Var] = (), *, primitive: bool = False, private: bool = False
    ) -> Generator[str]:
        """Open a graph function, and yield its name. A `primitive` function is a fused group, which `op.call` calls,
        and is private; the name of a private function is numbered if it is taken."""
        place = user_place()
        _expect(name, str, _NAME)
        _expect(params, Sequence, "a list of parameters")
        for param in params:
            _expect(param, Var, "parameters made by 'Var'")
        outer = self._body
        if outer is not None and not outer.exists:
            refuse(f"expected @{outer.op.sym_name.data} to end before @{name} begins")
        is_private = primitive or private
        if is_private:
            name = self._symbols().fresh(name)
        elif SymbolTable.lookup_symbol(self._module, name) is not None:
            refuse(f"expected a new name for a function, found '{name}' again")
        if len({param.name for param in params}) != len(params):
            refuse(f"expected parameters of different names, found {', '.join(p.name for p in params)}")
        types = [param.type for param in params]
        op = FuncOp(name, (types, []), Region(Block(arg_types=types)), "private" if is_private else None)
        op.location = place
        if primitive:
            op.attributes[PRIMITIVE_ATTR] = UnitAttr()
        self._body = FunctionBody(self._module, self._names, op, params)
        try:
            yield name
            if not self._body.is_complete:
                refuse(f"expected 'emit_func_output' at the end of @{name}", place)
            self._module.body.block.add_op(op)
        finally:
            self._body = outer

    @contextmanager
    def dataflow(self) -> Generator[None]:
        """Open a dataflow block of pure ops. Only the values of `emit_output` are visible after it."""
        body = self._open_body()
        if body.dataflow is not None:
            refuse("dataflow blocks cannot be nested")
        if body.is_in_region:
            refuse("expected a dataflow block around branches and loops, found one in them")
        body.dataflow = Dataflow()
        yield
        body.close_dataflow()

    def emit(self, expr: AnyTensor, name: str = "lv") -> Any:
        """Emit the ops that compute an expression. Return its value, or a tuple of values for a call with several
        results."""
        return _one_or_all(self._open_body().bind(expr, name))

    def emit_output(self, expr: AnyTensor) -> Any:
        """Like `emit`, and make the value an output of the dataflow block."""
        body = self._open_body()
        if body.dataflow is None:
            refuse("expected a dataflow block around 'emit_output'; use 'emit' outside of one")
        if body.is_in_region:
            refuse("expected 'emit_output' outside of branches and loops, which return their values")
        outputs = body.bind(expr, "lv")
        body.dataflow.outputs.extend(outputs)
        return _one_or_all(outputs)

    def emit_func_output(
        self, results: AnyTensor | Sequence[AnyTensor] = (), *, replacing: Mapping[Var, AnyTensor] | None = None
    ) -> None:
        """End the function and return results from it. Those in `replacing` take the place of parameters: a call writes
        them to the memory of these arguments, and returns the others."""
        body = self._open_body()
        if body.dataflow is not None:
            refuse("expected the dataflow block to end before the function does")
        if body.is_in_region:
            refuse("expected branches and loops to end before the function does")
        _expect(results, AnyTensor | Sequence, "a tensor of the program, or several")
        values = [body.value(e) for e in (results if isinstance(results, Sequence) else [results])]
        _expect(replacing or {}, Mapping, "tensors by the parameters whose place they take")
        body.finish(values, {body.value(param): body.value(e) for param, e in (replacing or {}).items()})

    def call_te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Return a call of a new loop function generated from a tensor expression: `function` receives a `te` tensor
        for each tensor of the program and the other arguments unchanged, and returns one or several `te` tensors.
        Dynamic sizes are expressions of names. They must imply that all accesses are in bounds, which can be shown if
        indices are sums of axes times constants."""
        place = user_place()
        body = self._open_body()
        if not callable(function):
            refuse(f"'call_te' expected a function, found {errors.kind_of(function)}")
        values = [body.value(arg) for arg in args if _is_tensor(arg)]
        names = Names()
        inputs = [_placeholder(names, value) for value in values]
        rest = iter(inputs)
        try:
            with gathering() as requirements:
                result = function(*(next(rest) if _is_tensor(arg) else arg for arg in args), **kwargs)
            outputs = _tensors(result)
            name = self._symbols().fresh(getattr(function, "__name__", "te").strip("<>"))
            prim_func = emit_prim_func(name, inputs, outputs, requirements)
            _expect_checked(prim_func)
        except (errors.RelexError, VerifyException, TypeError, ValueError) as e:
            refuse(f"'call_te' {errors.one_line(e)}")
        for inner in prim_func.walk():
            inner.location = place
        self._module.body.block.add_op(prim_func)
        types = [TensorType(t.type, without_names(t.shape)) for t in outputs]
        unknown = [size for t in outputs for size in t.shape if isinstance(size, IndexExpr)]
        bindings = [Binding(value, body.dataflow or body) for value in values]

        def call(body: FunctionBody, operands: list[SSAValue]) -> Operation:
            sizes = body.compute_sizes(unknown, _sources(inputs, operands), place)
            return CallTirOp(name, operands, types, sizes)

        return Call("relex.call_tir", bindings, call)

    def emit_te(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Emit the call that `call_te` returns."""
        return self.emit(self.call_te(function, *args, **kwargs))

    def add_func(self, function: Operation, name: str | None = None) -> str:
        """Add a copy of a graph or loop function, renamed to `name` if given. Return its name, numbered if it was
        already taken."""
        if name is not None:
            _expect(name, str, _NAME)
        copy = _copy(function, lambda old: self._symbols().fresh(name if name is not None else old))
        self._module.body.block.add_op(copy)
        return copy.sym_name.data

    def update_func(self, name: str, function: Operation) -> None:
        """Replace the function `name`, which must exist, by a copy of `function`."""
        _expect(name, str, _NAME)
        old = SymbolTable.lookup_symbol(self._module, name)
        if old is None:
            known = ", ".join(filter(None, map(symbol_of, self._module.ops))) or "none"
            raise errors.UnknownNameError(
                f"no function '{name}' to update; there are {known}; 'add_func' adds a function"
            )
        self._module.body.block.insert_op_before(_copy(function, lambda _: name), old)
        self._module.body.block.erase_op(old)

    def get(self) -> IRModule:
        """Return the verified module. The builder can continue; later additions do not change the returned module."""
        if self._body is not None:
            refuse(f"expected @{self._body.op.sym_name.data} to end before the module is taken")
        module = IRModule.of(self._module)
        try:
            verify_module(module)
        except errors.CompileError as e:
            raise errors.CompileError([with_source(d) for d in e.diagnostics]) from None
        return module

    @contextmanager
    def continuing(self, module: ModuleOp, body: FunctionBody) -> Generator[BlockBuilder]:
        """Continue inside of a module and of a function in it, both of which change. Functions may be opened, too."""
        before = self._module, self._body
        self._module, self._body = module, body
        try:
            yield self
        finally:
            self._module, self._body = before

    def _open_body(self) -> FunctionBody:
        if self._body is None:
            refuse("expected a function to be open; use 'with bb.function(...)'")
        if self._body.is_complete:
            refuse(f"unreachable code after 'emit_func_output' of @{self._body.op.sym_name.data}")
        return self._body

    def _symbols(self) -> Names:
        taken = [] if self._body is None else [self._body.op.sym_name.data]
        return Names.of_symbols(self._module, taken)


_NAME = "the name of a function"


def _expect(value: object, kind: type | UnionType, expected: str) -> None:
    if not isinstance(value, kind):
        refuse(f"expected {expected}, found {errors.kind_of(value)}")


def _is_tensor(arg: object) -> TypeGuard[AnyTensor]:
    return isinstance(arg, AnyTensor)


def _tensors(result: object) -> list[Tensor]:
    """Return the results of a tensor expression's function as a list."""
    parts: list[Any] = list(result) if isa(result, list[Any] | tuple[Any, ...]) else [result]
    for part in parts:
        if not isinstance(part, Tensor):
            found = errors.kind_of(part) if part is result else f"a {type(result).__name__} with {errors.kind_of(part)}"
            raise errors.DTypeError(f"expected a function that returns a 'te' tensor, or several, found {found}")
    return parts


def _one_or_all(bindings: list[Binding]) -> Binding | tuple[Binding, ...]:
    return bindings[0] if len(bindings) == 1 else tuple(bindings)


def _placeholder(names: Names, value: SSAValue) -> Tensor:
    """Return a `te` input for a tensor of the program, with a fresh name for each dynamic size."""
    if not isa(value.type, TensorType):
        refuse(f"'call_te' expected a tensor with dimensions, found {value.type}")
    hint = value.name_hint or "x"
    name = names.fresh(hint if hint.isidentifier() else "x")
    shape = with_names(value.type.get_shape(), lambda dimension: named(f"{name}_d{dimension}"))
    return placeholder(name, shape, value.type.element_type)


def _expect_checked(prim_func: PrimFuncOp) -> None:
    """Require that the checks of sizes at run time imply that all indices are in bounds: indices themselves are not
    checked."""
    if is_static(prim_func):
        return
    analysis = FunctionAnalysis(prim_func, sizes_at_entry)
    analysis.run()
    for op in analysis.unchecked:
        buffer = next(errors.name_of(value) for value in op.operands if isinstance(value.type, MemRefType))
        raise errors.ShapeError(
            f"expected indices of {buffer} that are sums of axes with factors, where sizes are known at run time"
        )


def _sources(inputs: Sequence[Tensor], values: Sequence[SSAValue]) -> Sources:
    """Map each named size of an input to the value and dimension that it is read from."""
    return {
        name: (value, dimension)
        for tensor, value in zip(inputs, values, strict=True)
        for dimension, size in enumerate(tensor.shape)
        if (name := name_of_size(size)) is not None
    }


def _copy(function: object, rename: Callable[[str], str]) -> FuncOp | PrimFuncOp:
    if not isinstance(function, FuncOp | PrimFuncOp):
        found = f"'{function.name}'" if isinstance(function, Operation) else errors.kind_of(function)
        refuse(f"expected a graph function or a loop function, found {found}")
    copy = function.clone()
    copy.properties["sym_name"] = type(copy.sym_name)(rename(copy.sym_name.data))
    return copy
