"""The base class of graph operators: type inference and reference semantics."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import cache, wraps
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptPropertyDef, ParsePropInAttrDict, VarOperandDef, result_def, traits_def
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from relex.dialects.arrays import Array, np
from relex.dialects.dtypes import SUB_BYTE, TensorConstr, is_emulated, numpy_dtype
from relex.dialects.errors import ArityError, InferenceError, expect_kind
from relex.dialects.relex.properties import FlagConstr, as_integer, as_property, check_given
from relex.dialects.relex.types import SizedType, long_sizes, normalize_axis, shape_of, shape_str, without_names
from relex.dialects.relex.types import tensor_type as tensor_type
from relex.dialects.sizes import MAX_SIZE, Size
from relex.dialects.tir.op_pattern import OpPattern

if TYPE_CHECKING:
    from xdsl.parser import Parser
    from xdsl.printer import Printer


class Exactness(Enum):
    """The degree to which NumPy and compiled code agree about the result of an operator."""

    ROUNDED = auto()
    """Up to rounding: the order of a sum is not fixed, and libraries differ in functions like `exp`."""
    NUMBERS = auto()
    """In every number and in the sign of every zero; a NaN may differ in sign and payload."""
    BITS = auto()
    """In every bit, including the bits of NaN: elements are moved or compared, or only change their sign."""


Evaluated = TypeVar("Evaluated", Array, tuple[Array, ...])

Operand = SSAValue | Operation
"""An operand of a constructor: a value, or an op with one result."""


class Operator(HasCanonicalizationPatternsInterface, IRDLOperation, ABC):
    """
    A pure graph operator with one result; one with several derives from `SeveralResults`.

    Its operands and properties are declared, and its syntax follows: operands, then each property by its name, in the
    order of the declarations. The constructor takes any operands; for type checkers, classes state theirs below
    `if TYPE_CHECKING`. The type rule `infer` serves the builder and the verifier alike; `evaluate` defines in NumPy
    what the operator computes. Operators of other packages derive from this class, too; nothing else in relex needs to
    know them before lowering.
    """

    result = result_def(TensorConstr)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    EXACTNESS: ClassVar[Exactness] = Exactness.ROUNDED
    """The exactness of the result: constants are folded only where that changes no result."""
    MOVES: ClassVar[bool] = False
    """True if the elements of the result are elements of the operands, or their bits: nothing is computed. Other
    operators compute with f32 in place of floats that processors have no arithmetic for, and round the result once."""
    CONVERTS: ClassVar[bool] = False
    """True if the operator takes elements of every type. Those that are only stored, integers of fewer than 8 bits, are
    refused by all others, except those that move elements."""
    COUNTS: ClassVar[bool] = False
    """True if sizes of the results depend on elements: `infer` says `data_size` for them. Then compiled code counts
    before it allocates the results."""
    PATTERN: ClassVar[OpPattern | None] = None
    """The `pattern` of operators where it does not depend on types and properties."""
    SCRIPT_NAMESPACE: ClassVar[str] = ""
    """The namespace in which scripts print an operator of relex: "nn" for `R.nn.relu`."""

    def __init_subclass__(cls, **constants: Any) -> None:
        """Set constants of the class: `exactness=Exactness.BITS` in its head is its `EXACTNESS`."""
        super().__init_subclass__()
        for name in map(str.upper, constants):
            if not hasattr(cls, name):
                raise TypeError(f"expected constants of {cls.__name__}, found {name}")
            setattr(cls, name, constants[name.lower()])
            cls.__annotations__[name] = ClassVar  # Without it, xDSL refuses what is no operand or property.
        if "name" in vars(cls):
            cls.set_name(cls.name)
        if "evaluate" in vars(cls):
            cls.evaluate = _as_defined(cls.evaluate)
        if "evaluate_results" in vars(cls):
            cls.evaluate_results = _as_defined(cls.evaluate_results)

    @classmethod
    def set_name(cls, name: str) -> None:
        """Give the class the name of its op, and its syntax."""
        cls.name = name
        if cls.assembly_format is None and cls.print is Operation.print:
            # Not an `assembly_format`: xDSL parses the formats of all operators at once, half of the time to import
            # them.
            cls.parse, cls.print = _parse, _print

    @classmethod
    def documentation(cls) -> str:
        """Return the docstring of a class that `declared` defines."""
        return inspect.getdoc(cls) or ""

    def __init__(self, *operands: Operand, properties: Mapping[str, object] | None = None, **named: Operand):
        """Create the op. Properties are attributes, or values in Python, as `as_property` takes them; None stands for
        one that is not given. Raises `ArityError` for missing operands and unknown names, `DTypeError` for values of
        another kind."""
        values = self._values(operands, named)
        declared = self.get_irdl_definition().properties
        if unknown := (properties or {}).keys() - declared.keys():
            raise ArityError(f"{self.name}: expected properties {_listed(declared)}, found {_listed(sorted(unknown))}")
        like = values[0].type if values else NoneAttr()
        given = {name: as_property(name, v, declared[name].constr, like) for name, v in (properties or {}).items()}
        complete = self.with_defaults(given)
        check_given(declared, complete)
        results = self.types_of_results([value.type for value in values], complete)
        # A variadic operand, the only one or the last, takes values as one list.
        fixed = self._fixed() if self._takes_more() else len(values)
        grouped = [*values[:fixed], values[fixed:]] if self._takes_more() else values
        super().__init__(operands=grouped, result_types=results, properties=complete)

    @classmethod
    def _values(cls, operands: Sequence[Operand], named: Mapping[str, Operand]) -> list[SSAValue]:
        """Return the operands, in the order of their declarations."""
        names = cls.operand_names()
        if cls._takes_more():
            more, _ = cls.get_irdl_definition().operands[-1]
            names = [*names[: cls._fixed()], *(f"{more}[{i}]" for i in range(len(operands) - cls._fixed()))]
        given = {**dict(zip(names, operands, strict=False)), **named}
        wrong = [f"{len(operands)} operands"] if len(operands) > len(names) else []
        wrong += [repr(name) for name in named if name not in names[len(operands) :]]
        wrong += [f"no {name}" for name in names if name not in given]
        if wrong:
            raise ArityError(f"{cls.name}: expected operands {_listed(names)}, found {' and '.join(wrong)}")
        for name in names:
            expect_kind(given[name], SSAValue | Operation, f"a value or an op as {name}", f"{cls.name}:")
        return [SSAValue.get(given[name]) for name in names]

    @classmethod
    def with_defaults(cls, properties: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
        """Return the properties, with defaults for those that are not given. None stands for one that is not given."""
        declared = cls.get_irdl_definition().properties
        defaults = {name: d.default_value for name, d in declared.items() if d.default_value is not None}
        return defaults | {name: value for name, value in properties.items() if value is not None}

    @classmethod
    def operand_names(cls) -> list[str]:
        """Return the names of the operands, without those after the first that take any number of values."""
        operands = cls.get_irdl_definition().operands
        return [name for i, (name, kind) in enumerate(operands) if i == 0 or not isinstance(kind, VarOperandDef)]

    @classmethod
    def is_variadic(cls) -> bool:
        """Return whether the first operand takes any number of values."""
        return any(isinstance(kind, VarOperandDef) for _, kind in cls.get_irdl_definition().operands[:1])

    @classmethod
    def syntax(cls) -> str:
        """Return the assembly format that follows from the declarations: `$x, $y (axis = $axis)? attr-dict :
        functional-type(...)`."""
        definition = cls.get_irdl_definition()
        # Classes declare more than the classes that they derive from, in this order.
        fields = list(dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base)))
        operands = sorted((name for name, _ in definition.operands), key=fields.index)
        kinds = dict(definition.operands)
        more = operands[-1] if len(operands) > 1 and isinstance(kinds[operands[-1]], VarOperandDef) else None
        parts = [" `,` ".join(f"${name}" for name in operands if name != more)]
        parts += [f"(`like` `(` ${more}^ `)`)?"] if more else []
        for name in sorted(definition.properties, key=fields.index):
            declared = definition.properties[name]
            if declared.constr == FlagConstr:
                parts.append(f"(`{name}` ${name}^)?")
            elif isinstance(declared, OptPropertyDef) or declared.default_value is not None:
                parts.append(f"(`{name}` `=` ${name}^)?")
            else:
                parts.append(f"`{name}` `=` ${name}")
        return " ".join([*parts, "attr-dict `:` functional-type(operands, results)"])

    @classmethod
    def _fixed(cls) -> int:
        """Return how many operands take one value each."""
        return len(cls.operand_names()) - cls.is_variadic()

    @classmethod
    def _takes_more(cls) -> bool:
        return any(isinstance(kind, VarOperandDef) for _, kind in cls.get_irdl_definition().operands)

    @classmethod
    def options(cls) -> Mapping[str, inspect.Parameter]:
        """Return the parameters of the constructor other than the operands, by name."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        others = ("self", "properties", *(name for name, _ in cls.get_irdl_definition().operands))
        parameters = inspect.signature(cls.__init__).parameters
        return {name: p for name, p in parameters.items() if p.kind in kinds and name not in others}

    @classmethod
    @abstractmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        """Infer the type of the result from complete `properties`. Raises `InferenceError` for operands and properties
        that the operator does not accept. Dynamic sizes are expressions: conditions on them are stated with `equal` and
        `at_most` of `relex.dialects.sizes`."""

    @abstractmethod
    def evaluate(self, *operands: Any, **_: Any) -> Array:
        """Compute the result for arrays, one for each operand: the reference semantics that every lowering is tested
        against. Floats that processors have no arithmetic for are passed as f32, unless the operator `MOVES` them.
        NumPy's warnings are silenced: overflow, NaN and division by zero are results like others."""

    @classmethod
    def infer_results(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> tuple[SizedType, ...]:
        """Infer the types of all results, as `infer`."""
        return (cls.infer(operands, properties),)

    def evaluate_results(self, *operands: Any, **_: Any) -> tuple[Array, ...]:
        """Compute all results, as `evaluate`."""
        return (self.evaluate(*operands),)

    @property
    def pattern(self) -> OpPattern | None:
        """How elements of the results depend on elements of the operands: the pattern of the loops that the operator
        becomes, by which `fuse-ops` groups operators. None if it is to be inferred from these loops."""
        return self.PATTERN

    @property
    def is_view(self) -> bool:
        """Whether the result is the memory of an operand. Such an operator does not become loops: it has a rule of
        `lower-call-tir`."""
        return False

    @property
    def terms(self) -> int:
        """The number of steps per element of the result, such as the terms of a matrix product, not counting that the
        operands are read once. Operand sizes must be static."""
        return 1

    @property
    def work(self) -> int:
        """The approximate number of elements that `evaluate` reads and writes. All sizes must be static."""
        sizes = [prod(tensor_type(value.type).get_shape()) for value in (*self.operands, *self.results)]
        return sum(sizes[:-1]) + sizes[-1] * self.terms

    @classmethod
    def types_of_results(
        cls, operands: Sequence[Attribute], properties: Mapping[str, Attribute]
    ) -> tuple[TensorType, ...]:
        """Return the types of the results for operands whose dynamic sizes are not known to be equal."""
        types = [SizedType.of(tensor_type(t), f"operand{i}") for i, t in enumerate(operands)]
        stored = next((t.element_type for t in types if t.element_type in SUB_BYTE), None)
        if stored is not None and not (cls.MOVES or cls.CONVERTS):
            raise InferenceError(
                f"expected operands of a type to compute with, found {stored}; 'relex.astype' converts"
            )
        results = cls.infer_results(types, properties)
        for size in (size for result in results for size in result.get_shape()):
            if isinstance(size, int) and size > MAX_SIZE:
                raise InferenceError(f"expected sizes of the result of at most {MAX_SIZE}, found {size}")
        return tuple(TensorType(result.element_type, without_names(result.get_shape())) for result in results)

    def sized_operands(self) -> list[SizedType]:
        """Return the types of the operands, in which all dynamic sizes have different names."""
        return [SizedType.of(tensor_type(t), f"operand{i}") for i, t in enumerate(self.operand_types)]

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns that were registered with `simplifies` for the operator, and for its base classes."""
        from relex.passes.graph.canonicalization import SIMPLIFICATIONS

        return tuple(pattern for kind in cls.__mro__ for pattern in SIMPLIFICATIONS.get(kind, ()))

    def verify_(self) -> None:
        inferred = self.types_of_results(self.operand_types, self.properties)
        for expected, found in zip(inferred, self.result_types, strict=True):
            if expected != found:
                raise VerifyException(f"expected result type {expected}, found {found}")


def _as_defined(evaluate: Callable[..., Evaluated]) -> Callable[..., Evaluated]:
    """Return a method that computes in IEEE arithmetic, with f32 in place of floats without arithmetic, and rounds the
    result, or each of several."""

    @wraps(evaluate)
    def evaluated(op: Operator, *operands: Array) -> Any:
        narrow = [is_emulated(tensor_type(value.type).element_type) for value in op.operands]
        with np.errstate(all="ignore"):
            if op.MOVES or not any(narrow):
                return evaluate(op, *operands)
            wide = [array.astype(np.float32) if n else array for array, n in zip(operands, narrow, strict=True)]
            found = evaluate(op, *wide)
            return (
                tuple(map(_rounded, found, op.results)) if isinstance(found, tuple) else _rounded(found, op.results[0])
            )

    return evaluated


def _rounded(array: Any, result: SSAValue) -> Array:
    """Return the elements of a result as floats without arithmetic, if it has such."""
    element_type = tensor_type(result.type).element_type
    array = array if hasattr(array, "astype") else np.asarray(array)
    return array.astype(numpy_dtype(element_type)) if is_emulated(element_type) else array


class SeveralResults(Operator, ABC):
    """An operator with several results: `result` and those that its class declares after it, in the same order. It has
    rules for all of them at once, `infer_results` and `evaluate_results`."""

    @classmethod
    @abstractmethod
    def infer_results(
        cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]
    ) -> tuple[SizedType, ...]: ...

    @abstractmethod
    def evaluate_results(self, *operands: Any, **_: Any) -> tuple[Array, ...]: ...

    @classmethod
    def infer(cls, operands: Sequence[SizedType], properties: Mapping[str, Attribute]) -> SizedType:
        return cls.infer_results(operands, properties)[0]

    def evaluate(self, *operands: Any, **_: Any) -> Array:
        return self.evaluate_results(*operands)[0]


class Movement(Operator, ABC, exactness=Exactness.BITS, moves=True):
    """An operator that only moves elements, and so is exact in every bit of them."""


class AlongAxis(Operator, ABC):
    """An operator along one dimension of its first operand, the property `axis`; without it, the operand has only
    one."""

    @property
    def normal_axis(self) -> int:
        """The dimension, counted from the front."""
        return axis_of(self.properties, shape_of(self.operands[0]))


def axis_of(properties: Mapping[str, Attribute], shape: Sequence[Size]) -> int:
    """Return the dimension in the property `axis`, counted from the front; without it, there must be only one."""
    if (axis := properties.get("axis")) is not None:
        return normalize_axis(as_integer(axis), len(shape))
    if len(shape) != 1:
        raise InferenceError(f"expected an axis, or a tensor of rank 1, found {shape_str(shape)}")
    return 0


def repeating(operands: Sequence[SSAValue], result: SSAValue) -> OpPattern:
    """Return the pattern of an operator whose operands broadcast: elementwise, unless all of them are repeated."""
    counts = [len(long_sizes(shape_of(value))) for value in operands]
    is_whole = not counts or len(long_sizes(shape_of(result))) in counts
    return OpPattern.ELEMENTWISE if is_whole else OpPattern.BROADCAST


def moving(*, in_order: bool) -> OpPattern:
    """Return the pattern of an operator that moves elements: elementwise, if only dimensions of size 1 change."""
    return OpPattern.ELEMENTWISE if in_order else OpPattern.INJECTIVE


def _listed(names: Iterable[str]) -> str:
    return f"({', '.join(names)})"


@cache
def _format(cls: type[Operator]) -> FormatProgram:
    return FormatProgram.from_str(cls.syntax(), cls.get_irdl_definition())


@classmethod
def _parse(cls: type[Operator], parser: Parser) -> Operator:
    return _format(cls).parse(parser, cls)


def _print(self: Operator, printer: Printer) -> None:
    _format(type(self)).print(printer, self)
