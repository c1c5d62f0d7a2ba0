"""The signatures of a module's functions: found from their types, and stated in the text by `relex.signature`.

```mlir
func.func @main(%x: memref<?x3xf32> {relex.dims = ["n", ""]}, %out: memref<?x3xf32> {relex.dims = ["n", ""]})
    attributes {relex.signature = {inputs = [{name = "x", shape = ["n", 3], element_type = "f32"}],
                                   outputs = [{name = "result", shape = ["n", 3], element_type = "f32"}]}}
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import NoReturn, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation

from relex.dialects.dtypes import BUFFER_TYPES, ELEMENT_TYPES, record_of
from relex.dialects.element_types import ELEMENTS
from relex.dialects.errors import fail
from relex.dialects.function_arguments import DIMS_ATTR, SIGNATURE_ATTR, argument_names, replacements
from relex.dialects.json_codec import Buffer, Plain, from_plain, to_plain
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.sizes import MAX_SIZE, Sizes, names_in
from relex.dialects.sizes.attributes import stated_requirements
from relex.dialects.sizes.modules import ModuleSizes, sizes_at_entry
from relex.dialects.symbols import is_public
from relex.dialects.tir import PrimFuncOp
from relex.dialects.upstream.hints import isa

SCALARS = (*(t for t in BUFFER_TYPES if record_of(t).in_numpy), IndexType())
"""The types of scalar arguments and results."""


def signatures(module: ModuleOp) -> dict[str, Signature]:
    """Return the signatures, by name, of a module's public functions above the machine level.

    Signatures of functions on tensors, and of loop functions, follow from their types; so do signatures of functions on
    buffers, which write their arguments, unless they state another one, as what graph functions are lowered to does.

    Raises `CompileError` for functions that cannot be called: with result sizes that do not follow from argument sizes,
    or elements that NumPy does not have. So does a function that states a signature that does not fit it.
    """
    sizes = ModuleSizes()
    functions = [op for op in module.ops if isinstance(op, func.FuncOp | PrimFuncOp)]
    return {s.name: s for op in functions if (s := _signature(op, sizes)) is not None}


def expect_stated_signature(function: func.FuncOp) -> None:
    """Fail if a function states a signature that does not fit it."""
    if SIGNATURE_ATTR in function.attributes:
        _signature(function, ModuleSizes())


def refusals(module: ModuleOp) -> dict[str, str]:
    """Return, by name, the reasons why other functions of a module cannot be called from outside."""
    functions = [op for op in module.ops if isinstance(op, func.FuncOp | PrimFuncOp)]
    reasons = {op.sym_name.data: _refusal(op) for op in functions}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def _refusal(op: func.FuncOp | PrimFuncOp) -> str | None:
    if not is_public(op):
        return "it is private"
    if not op.body.blocks:
        return "it has no body"
    types = (*op.function_type.inputs, *op.function_type.outputs)
    other = next((t for t in types if not isinstance(t, TensorType | MemRefType) and t not in SCALARS), None)
    if other is not None:
        return f"expected tensors and scalars as arguments and results, found {other}"
    return _refusal_of_buffers(op) if is_on_buffers(op) else None


def is_on_buffers(op: func.FuncOp | PrimFuncOp) -> bool:
    """Return whether a function takes buffers, or the memory of its results when it knows how much that is."""
    types = (*op.function_type.inputs, *op.function_type.outputs)
    if not isinstance(op, func.FuncOp) or any(isinstance(t, TensorType) for t in types):
        return False
    if any(isinstance(t, MemRefType) for t in types):
        return True
    stated = stated_signature(op, op.sym_name.data)
    return stated is not None and bool(stated.late)


def _refusal_of_buffers(op: func.FuncOp | PrimFuncOp) -> str | None:
    states_signature = SIGNATURE_ATTR in op.attributes
    for t in op.function_type.outputs:
        if not states_signature or t not in SCALARS:
            return f"expected a function on buffers to have no results{' but scalars' * states_signature}, found {t}"
    for t in op.function_type.inputs:
        if not isa(t, MemRefType):
            if states_signature and t in SCALARS:
                continue
            return f"expected buffers alone as arguments, found {t}"
        if t.element_type not in ELEMENT_TYPES or {t.layout, t.memory_space} != {NoneAttr()}:
            return f"expected buffers that arrays can be, found {t}"
    return None


def _signature(op: func.FuncOp | PrimFuncOp, sizes: ModuleSizes) -> Signature | None:
    """Return the signature of a function, checked if it states one; None if it cannot be called."""
    found, refusal = stated_signature(op, op.sym_name.data), _refusal(op)
    if refusal is not None:
        if found is not None:
            fail(op, f"expected a function that can be called where it has '{SIGNATURE_ATTR}', found that {refusal}")
        return None
    expected = _of_buffers(op, found) if is_on_buffers(op) else _of_values(op, sizes)
    if found is None:
        return expected
    # How much memory calls need is known only at the core level, and what may fail is left to `return-failures`.
    expected = replace(expected, temporaries=found.temporaries, failures=found.failures)
    expect_signature(op, expected, found)
    return found


def _of_values(op: func.FuncOp | PrimFuncOp, module_sizes: ModuleSizes) -> Signature:
    """Return the signature of a graph function or loop function."""
    inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
    if isinstance(op, PrimFuncOp):
        inputs, outputs = op.input_types, op.output_types
    names = argument_names(op)[: len(inputs)]
    sizes = module_sizes.of(op)
    entered = sizes.arguments[: len(inputs)]
    returned = sizes.results if isinstance(op, func.FuncOp) else sizes.arguments[len(inputs) :]
    replaced = replacements(op)
    fresh = [of_one for i, of_one in enumerate(zip(outputs, returned, strict=True)) if i not in replaced.values()]
    result_names = [f"result {i}" if len(fresh) > 1 else "result" for i in range(len(fresh))]
    specs = _specs(op, names, inputs, entered)
    signature = Signature(
        op.sym_name.data,
        tuple(replace(spec, is_inout=i in replaced) for i, spec in enumerate(specs)),
        _specs(op, result_names, [t for t, _ in fresh], [() if t in SCALARS else s for t, s in fresh]),
        requirements=sizes.requirements,
        temporaries=sizes.temporaries,
    )
    signature = _without_idle_sizes(signature)
    _check_outputs(op, signature)
    return signature


def _of_buffers(op: func.FuncOp | PrimFuncOp, stated: Signature | None) -> Signature:
    """Return the signature of a function on buffers: one that writes its arguments, or that takes those that `stated`
    has, and fills buffers for the results that are no scalars, which come last."""
    sizes = sizes_at_entry(op)
    arguments = _specs(op, argument_names(op), op.function_type.inputs.data, sizes.arguments)
    signature = Signature(op.sym_name.data, arguments, (), writes_inputs=True, requirements=sizes.requirements)
    if stated is None or stated.writes_inputs:
        return signature
    outputs = op.function_type.outputs.data
    if stated.failures:
        outputs = outputs[:-2]
    scalars = iter(_specs(op, map(str, outputs), outputs, [()] * len(outputs)))
    filled, late = iter(arguments[len(stated.inputs) :]), stated.late
    specs = enumerate(stated.outputs)
    results = [spec if i in late else next(scalars if spec.is_scalar else filled, None) for i, spec in specs]
    found = tuple(spec for spec in (*results, *filled, *scalars) if spec is not None)
    inputs = zip(arguments, stated.inputs, strict=False)
    return replace(
        signature,
        inputs=tuple(_called_like(*of_one) for of_one in inputs),
        outputs=(*map(_called_like, found, stated.outputs), *found[len(stated.outputs) :]),
        writes_inputs=False,
        requirements=tuple(stated_requirements(op)),
    )


def _called_like(spec: TensorSpec, stated: TensorSpec) -> TensorSpec:
    """Return an argument or result under its stated name. A scalar need not be a size, and the elements of a buffer may
    have any type that it can hold."""
    is_no_size = spec.is_scalar and stated.is_scalar and not stated.shape
    stored = stated.element_type in ELEMENTS and ELEMENTS[stated.element_type].storage == spec.element_type
    element_type = stated.element_type if stored and not spec.is_scalar else spec.element_type
    return TensorSpec(stated.name, () if is_no_size else spec.shape, element_type, spec.is_scalar, stated.is_inout)


def _without_idle_sizes(signature: Signature) -> Signature:
    """Return the signature with no sizes for the scalars that no size depends on."""

    def is_needed(spec: TensorSpec) -> bool:
        others = [size for other in signature.inputs if other is not spec for size in other.shape]
        results = [size for result in signature.outputs for size in result.shape]
        required = [size for r in signature.requirements for size in (r.lhs, r.rhs)]
        needed = {name for size in (*others, *results, *required, *signature.temporaries) for name in names_in(size)}
        return any(name in needed for size in spec.shape for name in names_in(size))

    inputs = [replace(s, shape=()) if s.is_scalar and not is_needed(s) else s for s in signature.inputs]
    return replace(signature, inputs=tuple(inputs))


def _check_outputs(function: Operation, signature: Signature) -> None:
    """Check that the sizes of a loop function's outputs follow from argument sizes: otherwise a caller could not
    allocate them."""
    if isinstance(function, func.FuncOp):
        return  # It allocates them itself.
    for i in signature.late:
        size = next(size for size in signature.outputs[i].shape if not signature.names.keys() >= set(names_in(size)))
        fail(function, f"expected '{DIMS_ATTR}' that say '{size}', a size of output {i}, by sizes of inputs")


def _specs(
    function: Operation, names: Iterable[str], types: Sequence[Attribute], sizes: Sequence[Sizes]
) -> tuple[TensorSpec, ...]:
    return tuple(_spec(function, *of_one) for of_one in zip(names, types, sizes, strict=True))


def _spec(function: Operation, name: str, t: Attribute, sizes: Sizes) -> TensorSpec:
    if t in SCALARS:
        return TensorSpec(name, sizes, str(t), is_scalar=True)
    if not (isa(t, TensorType) or isa(t, MemRefType)):
        fail(function, f"expected tensors or buffers in a public function, found {t}")
    if t.element_type not in ELEMENT_TYPES:
        allowed = " or ".join(map(str, ELEMENT_TYPES))
        fail(function, f"expected elements of {allowed} in a public function, found {t}")
    if any(isinstance(size, int) and size > MAX_SIZE for size in sizes):
        fail(function, f"expected sizes of at most {MAX_SIZE} in a public function, found {t}")
    return TensorSpec(name, sizes, str(t.element_type))


# Signatures in the text


def state_signature(function: Operation, signature: Signature) -> None:
    """Let a function state its signature. The name is the function's own."""
    parts = to_plain(signature, _refuse)
    assert isinstance(parts, dict)
    function.attributes[SIGNATURE_ATTR] = _as_attribute({k: v for k, v in parts.items() if k != "name"})


def stated_signature(function: Operation, name: str) -> Signature | None:
    """Return the signature that is stated for the function of this name, if any. Fails if it cannot be one."""
    attribute = function.attributes.get(SIGNATURE_ATTR)
    if attribute is None:
        return None
    try:
        parts = _as_plain(attribute)
        if not isinstance(parts, dict):
            raise ValueError(f"expected inputs and outputs, found {attribute}")
        signature = cast(Signature, from_plain(Signature, {**parts, "name": name}, _refuse, "signature"))
        if problem := next(signature.problems(), None):
            raise ValueError(problem)
    except ValueError as e:
        fail(function, f"cannot read '{SIGNATURE_ATTR}' of '{name}': {e}")
    return signature


def states_memory(function: Operation) -> bool:
    """Return whether a function states how much memory its calls need: it has been lowered to the core level."""
    attribute = function.attributes.get(SIGNATURE_ATTR)
    return isinstance(attribute, DictionaryAttr) and "temporaries" in attribute.data


def expect_signature(function: Operation, expected: Signature, found: Signature) -> None:
    """Fail unless a signature that a function states is the one that it has."""
    for field in fields(Signature):
        has, says = getattr(expected, field.name), getattr(found, field.name)
        if has != says:
            kind = field.name.replace("_", " ")
            where = f"'{SIGNATURE_ATTR}' of '{expected.name}' with {kind}"
            fail(function, f"expected {where} {_text(has)}, found {_text(says)}")


def _text(part: object) -> str:
    parts = cast("tuple[object, ...]", part)
    return f"({', '.join(map(str, parts))})" if isinstance(part, tuple) else str(part).lower()


def _refuse(place: Buffer | Plain) -> NoReturn:
    raise ValueError(f"expected a signature without bytes, found {place}")


def _as_attribute(plain: Plain) -> Attribute:
    match plain:
        case bool():
            return BoolAttr.from_bool(plain)
        case int():
            return IntegerAttr(plain, i64)
        case list():
            return ArrayAttr(map(_as_attribute, plain))
        case dict():
            return DictionaryAttr({name: _as_attribute(part) for name, part in plain.items()})
        case _:
            return StringAttr(str(plain))


def _as_plain(attribute: Attribute) -> Plain:
    match attribute:
        case IntegerAttr(value=value, type=kind):
            return bool(value.data) if kind == i1 else value.data
        case ArrayAttr():
            return [*map(_as_plain, attribute)]
        case DictionaryAttr(data=named):
            return {name: _as_plain(part) for name, part in named.items()}
        case StringAttr(data=text):
            return text
        case _:
            raise ValueError(f"expected numbers and texts in '{SIGNATURE_ATTR}', found {attribute}")
