"""C and C++ headers for object files that relex compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.resources import files
from itertools import accumulate
from string import ascii_letters, digits

from relex.dialects.element_types import ELEMENTS
from relex.dialects.index.atoms import Atom, Extreme, Quotient, Remainder, Symbol, factors_of
from relex.dialects.index.expr import constant_of
from relex.dialects.index.text import ordered_terms
from relex.dialects.names import Names
from relex.dialects.signature import Signature, TensorSpec
from relex.dialects.sizes import MAX_ARGUMENT_SIZE, Requirement, Size, evaluate, name_of_size, names_in
from relex.dialects.target.machine import Target
from relex.runtime.c.names import KEYWORDS, CNames, identifier
from relex.runtime.callbacks import BufferKind, LibraryUse

_USED_NAMES = (
    *("allocate", "arrays", "caller", "code", "asked", "context", "frame", "late", "memory", "none", "status", "wrong"),
    *("NULL", "memcpy", "relex_allocate", "relex_caller", "relex_late", "uintptr_t"),
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
"""The names of variables, functions and types that the functions in the header use: arguments have other names."""


def c_header(names: CNames, signatures: Sequence[Signature], libraries: Sequence[LibraryUse], target: Target) -> str:
    """Return the header for object code that defines `names.symbols`."""
    ranks = {rank for use in libraries for rank, _ in (*use.inputs, *use.outputs)}
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
 * Results share memory neither with each other nor with arguments; a result that is a number is written through a
 * pointer too. What depends on the call are sizes; each has a name and is a separate argument, before all others.
 * Threads may call the functions at the same time. Parallel loops run in the calling thread, unless the program is
 * linked with relex_threads.o.
 *
 * Where only a call finds out the size of a result, it writes the address of the result and its shape through pointers.
 * The memory comes from `allocate`, which is called with `context`, at most once for each result, and is the caller's,
 * whatever the call returns. If `allocate` is NULL, it comes from malloc, for the caller to free if the call succeeds.
 *
 * Functions return RELEX_OK, or what is wrong; then nothing has been written, unless it is an assertion of the program
 * that has failed: then the results are unspecified.
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
    """Return the struct of a descriptor, as MLIR passes arrays."""
    sizes = f", sizes[{rank}], strides[{rank}]" if rank else ""
    return f"""\
#ifndef RELEX_ARRAY{rank}
#define RELEX_ARRAY{rank}

/* An array of rank {rank}. Its elements begin `offset` elements after `data`. */
typedef struct {{
  void *allocation, *data;
  int64_t offset{sizes};
}} relex_array{rank};

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


@dataclass(frozen=True)
class _Passed:
    """An argument or result of a function in the header."""

    name: str
    """The name in C."""

    spec: TensorSpec
    is_output: bool
    is_computed: bool = False
    """Whether it is a number that the header computes from the sizes of a call."""

    @property
    def parameter(self) -> str:
        """Its declaration as a parameter."""
        kind = _c_type(self.spec)
        if self.spec.is_scalar:
            return f"{kind} {'*' if self.is_output else ''}{self.name}"
        return f"{'' if self.is_output else 'const '}{kind} *{self.name}"

    @property
    def words(self) -> int:
        """The number of words of a frame that hold it."""
        return 1 if self.spec.is_scalar else 3 + 2 * len(self.spec.shape)

    def put(self, word: int) -> str:
        """Return the statement that puts an argument, or the place of a result, into a frame."""
        if self.spec.is_scalar:
            place = f"{'arrays.' if self.is_computed else ''}{self.name}"
            return f"relex_put(frame + {word}, &{place}, sizeof {place});"
        shape = f"arrays.{self.name}.shape" if self.spec.shape else "NULL"
        data = self.name if self.is_output else f"(void *)(uintptr_t){self.name}"
        return f"relex_put_array(frame + {word}, {data}, {len(self.spec.shape)}, {shape});"


def _c_type(spec: TensorSpec) -> str:
    """Return the C type of a number, or of the elements of an array."""
    if spec.element_type == "index":
        return "int64_t"
    element = ELEMENTS[spec.element_type]
    return "bool" if spec.is_scalar and element.is_bool else element.c_type


def _shape(passed: _Passed, name: str) -> str:
    """Return the declaration of the place for the shape of a result."""
    return f"int64_t {name}[{len(passed.spec.shape)}]"


class _Function:
    """One function in the header: the shapes of its arrays, their check, and the call."""

    def __init__(self, name: str, signature: Signature):
        self.name = name
        self.signature = signature
        self._names = Names((*KEYWORDS, *_USED_NAMES))
        sources = {size: signature.inputs[i] for size, (i, _) in signature.names.items()}
        self.sizes = {
            size: self._names.fresh(identifier(spec.name if spec.is_scalar else size)) for size, spec in sources.items()
        }
        inputs = [self._passed(spec, is_output=spec.is_inout or signature.writes_inputs) for spec in signature.inputs]
        outputs = [self._passed(spec, is_output=True) for spec in signature.outputs]
        self.late = [(i, outputs[i], self._names.fresh(f"{outputs[i].name}_shape")) for i in signature.late]
        """Results whose sizes the call finds out: their numbers, and the name for the shape of each."""
        self.outputs = [p.name for p in (*inputs, *outputs) if p.is_output]
        late = [p for _, p, _ in self.late]
        self.passed = [p for p in (*inputs, *outputs) if p not in late]
        self.fields = [p for p in self.passed if p.is_computed or not p.spec.is_scalar]

    def _passed(self, spec: TensorSpec, *, is_output: bool) -> _Passed:
        is_size = spec.is_scalar and bool(spec.shape)
        name = self.sizes.get(name_of_size(spec.shape[0]) or "") if is_size else None
        return _Passed(name or self._names.fresh(identifier(spec.name)), spec, is_output, is_size and name is None)

    def text(self) -> str:
        """Return the definitions of the function."""
        messages = [self._messages()] if self.signature.failures else []
        return "\n".join([self._shapes(), self._check(), *messages, self._call()])

    def _shapes(self) -> str:
        body = "\n".join(map(self._field, self.fields)) or "  int none;"
        return f"""\
/* {_comment(str(self.signature))} */

/* The shapes of the arrays of a call, and how large each is. */
typedef struct {{
{body}
}} {self.name}_arrays;
"""

    def _field(self, passed: _Passed) -> str:
        if passed.is_computed:
            return f"  int64_t {passed.name};"
        shape = f"shape[{len(passed.spec.shape)}], " if passed.spec.shape else ""
        return f"  struct {{\n    int64_t {shape}bytes;\n  }} {passed.name};"

    def _check(self) -> str:
        signature = self.signature
        lines = [f"if ({n} < 0 || {n} > RELEX_MAX_SIZE) return RELEX_WRONG_SIZES;" for n in self.sizes.values()]
        for r in signature.requirements:
            lines += [f"/* {r} */", f"if (!({self._condition(r)})) return wrong ? wrong : RELEX_WRONG_SIZES;"]
        for passed in self.fields:
            lines += self._fill(passed.name, passed.spec)
        lines += [] if self.fields else ["(void)arrays;"]
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

    def _condition(self, requirement: Requirement) -> str:
        """Return a requirement as a C condition. Terms added to the largest number move to the other side: the sum
        would not fit in 64 bits."""
        lhs, rhs = requirement.lhs, requirement.rhs
        if names_in(rhs) and constant_of(rhs) > MAX_ARGUMENT_SIZE:
            lhs, rhs = lhs - rhs + constant_of(rhs), constant_of(rhs)
        return f"{self._size(lhs)} {requirement.relation} {self._size(rhs)}"

    def _fill(self, name: str, spec: TensorSpec) -> list[str]:
        if spec.is_scalar:
            number = f"arrays->{name}"
            return [f"{number} = {self._size(spec.shape[0])};", f"relex_bytes(&wrong, 0, 1, &{number});"]
        places = [f"arrays->{name}.shape[{i}] = {self._size(size)};" for i, size in enumerate(spec.shape)]
        shape = f"{len(spec.shape)}, {f'arrays->{name}.shape' if spec.shape else 'NULL'}"
        bytes_of = f"arrays->{name}.bytes = relex_bytes(&wrong, {ELEMENTS[spec.element_type].size}, {shape});"
        return [*places, bytes_of]

    def _messages(self) -> str:
        cases = "".join(
            f"    case RELEX_FAILED + {i}: return {_string(failure.message)};\n"
            for i, failure in enumerate(self.signature.failures)
        )
        return f"""\
/* The message for a status from RELEX_FAILED on: of an assertion that has failed. */
static inline const char *{self.name}_message(int status) {{
  switch (status) {{
{cases}\
    default: return "";
  }}
}}
"""

    def _call(self) -> str:
        name, sizes = self.name, set(self.sizes.values())
        parameters = [p.parameter for p in self.passed if not p.is_computed and p.name not in sizes]
        parameters += [
            text for _, p, shape in self.late for text in (f"{_c_type(p.spec)} **{p.name}", _shape(p, shape))
        ]
        parameters += ["relex_allocate allocate", "void *context"] if self.late else []
        order = [self.passed[i] for i in self.signature.frame_order]
        *words, count = accumulate((p.words for p in order), initial=0)
        places = list(zip(order, words, strict=True))
        put = [p.put(word) for p, word in places if not (p.is_output and p.spec.is_scalar)]
        got = [
            f"memcpy({p.name}, frame + {word}, sizeof *{p.name});"
            for p, word in places
            if p.is_output and p.spec.is_scalar
        ]
        may_fail = bool(self.signature.failures)
        words = count + 2 * may_fail
        release = ["  relex_free_results(&caller);"] if self.late else []
        failed = [f"if (frame[{count}] != 0) {{", *release, f"  return RELEX_FAILED - 1 + (int)frame[{count}];", "}"]
        lines = [*put, *self._ask(words), f"{name}_code(frame);", *failed * may_fail, *got]
        lines += [f"*{p.name} = ({_c_type(p.spec)} *)late[{i}].data;" for i, (_, p, _) in enumerate(self.late)]
        body = "".join(f"    {line}\n" for line in lines)
        return f"""\
void {name}_code(int64_t *frame);

/* {"Writes " + " and ".join(self.outputs) if self.outputs else "Has no results"}. */
static inline int {name}({", ".join([*self._size_parameters(), *parameters]) or "void"}) {{
  {name}_arrays arrays;
  int status = {name}_check({", ".join([*self.sizes.values(), "&arrays"])});
  if (status != RELEX_OK) return status;
  {{
{self._declared()}\
    int64_t frame[{max(words + 2 * bool(self.late), 1)}];
{body}\
  }}
  return RELEX_OK;
}}
"""

    def _declared(self) -> str:
        """Return the variables through which code asks for the memory of results."""
        if not self.late:
            return ""
        lines = [
            f"{{{i}, {len(p.spec.shape)}, {ELEMENTS[p.spec.element_type].size}, {shape}, NULL}}"
            for i, p, shape in self.late
        ]
        return f"""\
    relex_late late[] = {{{", ".join(lines)}}};
    relex_caller caller = {{allocate, context, {len(lines)}, late}}, *asked = &caller;
    void *(*code)(void *, int64_t, const int64_t *) = relex_new_result;
"""

    def _ask(self, word: int) -> list[str]:
        pointers = ("code", "asked") if self.late else ()
        return [f"relex_put(frame + {word + i}, &{name}, sizeof {name});" for i, name in enumerate(pointers)]

    def _size_parameters(self) -> list[str]:
        return [f"int64_t {name}" for name in self.sizes.values()]

    def _size(self, size: Size) -> str:
        """Return a size as a C expression."""
        if not names_in(size):
            return _number(evaluate(size, {}))
        terms = [self._product(factors_of(atom), factor) for atom, factor in ordered_terms(size)]
        if constant_of(size):
            terms.append(_number(constant_of(size)))
        return _nested("relex_add", terms)

    def _product(self, atoms: Iterable[Atom], factor: int) -> str:
        number = [_number(factor)] if factor != 1 else []
        return _nested("relex_multiply", [*number, *map(self._atom, atoms)])

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


def _nested(function: str, terms: Iterable[str]) -> str:
    """Return the calls that combine terms from the left."""
    return reduce(lambda text, term: f"{function}(&wrong, {text}, {term})", terms)


def _string(text: str) -> str:
    """Return a C string literal. Octal escapes have at most three digits, whatever follows."""
    characters = [chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}" for byte in text.encode()]
    return f'"{"".join(characters)}"'


_PLAIN = frozenset(f"{ascii_letters}{digits} !#%&'()*+,-./:;<=>[]^_{{|}}~")
"""Characters that stand for themselves in a string: not characters of trigraphs, either."""


def _number(value: int) -> str:
    if abs(value) < 2**31:
        return str(value)
    # C has no negative literals, and the smallest number has no positive counterpart.
    return "INT64_MIN" if value == -(2**63) else f"{'-' if value < 0 else ''}INT64_C({abs(value)})"
