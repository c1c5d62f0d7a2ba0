"""C and C++ headers for object files that relex compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from relex.dialects.element_types import ELEMENTS
from relex.dialects.index.expr import Atom, Extreme, Quotient, Remainder, Symbol, constant_of, factors_of
from relex.dialects.index.text import ordered_terms
from relex.dialects.machine import Target
from relex.dialects.names import Names
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.sizes import Size, evaluate, names_in
from relex.runtime.c.names import KEYWORDS, CNames, identifier
from relex.runtime.callbacks import BufferKind, LibraryUse

_LOCAL_NAMES = ("arrays", "memory", "none", "status", "wrong")
"""Local variables of the functions in the header."""


def c_header(names: CNames, signatures: Sequence[Signature], libraries: Sequence[LibraryUse], target: Target) -> str:
    """Return the header for object code that defines `names.symbols`."""
    ranks = {len(spec.shape) for s in signatures for spec in (*s.inputs, *s.outputs)}
    ranks |= {rank for use in libraries for rank, _ in (*use.inputs, *use.outputs)}
    guard = f"{names.prefix.upper()}_H"
    parts = [
        _INTRODUCTION.format(guard=guard, triple=target.triple, cpu=target.cpu or "generic"),
        _SUPPORT.read_text(encoding="utf-8"),
        *(_array_type(rank) for rank in sorted(ranks)),
        _BEGIN,
        *(_library(names.libraries[use.symbol], use) for use in libraries),
        *(_Function(names.functions[s.name], s).text() for s in signatures),
        _END.format(guard=guard),
    ]
    return "\n".join(parts)


_INTRODUCTION = """\
/* How C and C++ call the functions of an object file that relex compiled for {triple}, cpu {cpu}.
 *
 * Arrays are row-major and have no gaps. Booleans are bytes of 0 or 1, numbers of 16 bits are given by their bits.
 * Results share memory neither with each other nor with arguments. What depends on the call are sizes; each has a name
 * and is an argument of its own, before the arrays. Threads may call the functions at the same time.
 *
 * Functions return RELEX_OK, or what is wrong; then nothing has been written.
 */
#ifndef {guard}
#define {guard}

#include <stdint.h>
#include <stdlib.h>
"""

_SUPPORT = files("relex.runtime.c").joinpath("support.h")
"""The part that all headers have in common."""

_BEGIN = """\
#ifdef __cplusplus
extern "C" {
#endif
"""

_END = """\
#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""


def _array_type(rank: int) -> str:
    """Return the struct of a descriptor, as MLIR passes arrays, and the function that makes one."""
    sizes = f", sizes[{rank}], strides[{rank}]" if rank else ""
    loop = f"""\
  int64_t stride = 1;
  int i;
  for (i = {rank - 1}; i >= 0; --i) {{
    array.sizes[i] = shape[i];
    array.strides[i] = stride;
    stride *= shape[i];
  }}
"""
    return f"""\
#ifndef RELEX_ARRAY{rank}
#define RELEX_ARRAY{rank}

/* An array of rank {rank}. Its elements begin `offset` elements after `data`. */
typedef struct {{
  void *allocation, *data;
  int64_t offset{sizes};
}} relex_array{rank};

static inline relex_array{rank} relex_make_array{rank}(void *data{", const int64_t *shape" if rank else ""}) {{
  relex_array{rank} array;
{loop if rank else ""}\
  array.allocation = array.data = data;
  array.offset = 0;
  return array;
}}

#endif
"""


def _library(name: str, use: LibraryUse) -> str:
    inputs = [f"const {_array(kind)} *argument{i}" for i, kind in enumerate(use.inputs)]
    outputs = [f"const {_array(kind)} *result{i}" for i, kind in enumerate(use.outputs)]
    kinds = ", ".join(ELEMENTS[element_type].c_type for _, element_type in (*use.inputs, *use.outputs))
    return f"""\
/* Library function "{_comment(use.name)}", which you define. It fills the results, and writes nothing else.
 * Elements: {kinds or "none"}. */
void {name}({", ".join([*inputs, *outputs]) or "void"});
"""


def _array(kind: BufferKind) -> str:
    return f"relex_array{kind[0]}"


def _comment(text: str) -> str:
    """Return a text that is safe inside a comment."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("*/", "* /").replace("/*", "/ *")


class _Function:
    """One function in the header: the shapes of its arrays, their check, and the call."""

    def __init__(self, name: str, signature: Signature):
        self.name = name
        self.signature = signature
        names = Names((*KEYWORDS, *_LOCAL_NAMES))
        self.sizes = {size: names.fresh(identifier(size)) for size in signature.names}
        self.specs = {names.fresh(identifier(spec.name)): spec for spec in (*signature.inputs, *signature.outputs)}
        self.descriptors = [names.fresh(f"{name}_array") for name in self.specs]

    def text(self) -> str:
        """Return the definitions of the function."""
        return "\n".join([self._shapes(), self._check(), self._call()])

    def _shapes(self) -> str:
        fields = [
            f"    int64_t {f'shape[{len(spec.shape)}], ' if spec.shape else ''}bytes;\n  }} {name};"
            for name, spec in self.specs.items()
        ]
        body = "\n".join(f"  struct {{\n{field}" for field in fields) or "  int none;"
        return f"""\
/* {_comment(str(self.signature))} */

/* The shapes of the arrays of a call, and how large each is. */
typedef struct {{
{body}
}} {self.name}_arrays;
"""

    def _check(self) -> str:
        signature = self.signature
        lines = [f"if ({n} < 0 || {n} > RELEX_MAX_SIZE) return RELEX_WRONG_SIZES;" for n in self.sizes.values()]
        for r in signature.requirements:
            condition = f"{self._size(r.lhs)} {r.relation} {self._size(r.rhs)}"
            lines += [f"/* {r} */", f"if (!({condition})) return wrong ? wrong : RELEX_WRONG_SIZES;"]
        for name, spec in self.specs.items():
            lines += self._fill(name, spec)
        lines += [] if self.specs else ["(void)arrays;"]
        lines += [f"memory = relex_max(memory, {self._size(size)});" for size in signature.temporaries]
        body = "".join(f"  {line}\n" for line in lines)
        return f"""\
/* The arrays of a call with these sizes, if there are such calls: what to allocate for the results. */
static inline int {self.name}_check({", ".join([*self._size_parameters(), f"{self.name}_arrays *arrays"])}) {{
  int wrong = RELEX_OK;
  int64_t memory = 0;
{body}\
  if (wrong) return wrong;
  return relex_has_memory(memory) ? RELEX_OK : RELEX_OUT_OF_MEMORY;
}}
"""

    def _fill(self, name: str, spec: TensorSpec) -> list[str]:
        places = [f"arrays->{name}.shape[{i}] = {self._size(size)};" for i, size in enumerate(spec.shape)]
        shape = f"{len(spec.shape)}, {f'arrays->{name}.shape' if spec.shape else 'NULL'}"
        bytes_of = f"arrays->{name}.bytes = relex_bytes(&wrong, {ELEMENTS[spec.element_type].size}, {shape});"
        return [*places, bytes_of]

    def _call(self) -> str:
        signature, name = self.signature, self.name
        outputs = list(self.specs)[0 if signature.writes_inputs else len(signature.inputs) :]
        parameters = self._size_parameters()
        descriptors: list[str] = []
        for descriptor, (array, spec) in zip(self.descriptors, self.specs.items(), strict=True):
            is_output, rank = array in outputs, len(spec.shape)
            parameters.append(f"{'' if is_output else 'const '}{ELEMENTS[spec.element_type].c_type} *{array}")
            data = array if is_output else f"(void *)(uintptr_t){array}"
            shape = f", arrays.{array}.shape" if rank else ""
            descriptors.append(f"    relex_array{rank} {descriptor} = relex_make_array{rank}({data}{shape});\n")
        arrays = ", ".join(f"&{descriptor}" for descriptor in self.descriptors)
        kinds = ", ".join(f"relex_array{len(spec.shape)} *" for spec in self.specs.values()) or "void"
        checked = ", ".join([*self.sizes.values(), "&arrays"])
        return f"""\
void {name}_code({kinds});

/* {"Writes " + " and ".join(outputs) if outputs else "Has no results"}. */
static inline int {name}({", ".join(parameters) or "void"}) {{
  {name}_arrays arrays;
  int status = {name}_check({checked});
  if (status != RELEX_OK) return status;
  {{
{"".join(descriptors)}\
    {name}_code({arrays});
  }}
  return RELEX_OK;
}}
"""

    def _size_parameters(self) -> list[str]:
        return [f"int64_t {name}" for name in self.sizes.values()]

    def _size(self, size: Size) -> str:
        """Return a size as a C expression."""
        if not names_in(size):
            return _number(evaluate(size, {}))
        terms = [self._product(factors_of(atom), factor) for atom, factor in ordered_terms(size)]
        if constant_of(size):
            terms.append(_number(constant_of(size)))
        text = terms[0]
        for term in terms[1:]:
            text = f"relex_add(&wrong, {text}, {term})"
        return text

    def _product(self, atoms: Iterable[Atom], factor: int) -> str:
        parts = [self._atom(atom) for atom in atoms]
        parts = [*([_number(factor)] if factor != 1 else []), *parts]
        text = parts[0]
        for part in parts[1:]:
            text = f"relex_multiply(&wrong, {text}, {part})"
        return text

    def _atom(self, atom: Atom) -> str:
        match atom:
            case Symbol(name=name):
                return self.sizes[name]
            case Quotient(dividend=dividend, divisor=divisor):
                return f"relex_divide({self._size(dividend)}, {_number(divisor)})"
            case Remainder(dividend=dividend, divisor=divisor):
                return f"relex_remainder({self._size(dividend)}, {_number(divisor)})"
            case Extreme(which=which, operands=(lhs, rhs)):
                return f"relex_{which}({self._size(lhs)}, {self._size(rhs)})"
            case _:
                raise ValueError(f"expected an expression of names, found {atom}")


def _number(value: int) -> str:
    if abs(value) < 2**31:
        return str(value)
    # C has no negative literals, and the smallest number has no positive counterpart.
    return "INT64_MIN" if value == -(2**63) else f"{'-' if value < 0 else ''}INT64_C({abs(value)})"
