"""PyTorch's own samples of its operators, compiled by relex and compared with PyTorch.

Each entry of PyTorch's `op_db` is drawn with some of its samples: in several element types, kept in memory in different
ways, with sizes that are fixed or dynamic. A draw is compiled once, and called with the numbers of the sample and with
others. Values, element types, shapes, strides, shared memory, and whether there is an error are compared.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle, islice
from typing import Any

from compiling import compiled_alone

from relex.dialects.errors import RelexError

torch: Any = import_module("torch")
dynamo: Any = import_module("torch._dynamo")
tree: Any = import_module("torch.utils._pytree")
opinfo: Any = import_module("torch.testing._internal.opinfo.core")

DRAWN = 7
"""How many draws there are of each entry."""

DTYPES = "float32 float64 bfloat16 float16 int8 int16 int32 int64 uint8 bool".split()

FORMS = ("as it is", "every second element", "transposed", "one element expanded", "after an offset")
"""How the tensors of a draw are kept in memory."""

SECONDS = ("int", "float", *DTYPES)
"""What a draw may have in place of the second operand of a function of two numbers: a number, or another dtype."""

LEFT_OPEN = {
    "empty": "memory that nobody has written",
    "empty_like": "memory that nobody has written",
    "empty_permuted": "memory that nobody has written",
    "empty_strided": "memory that nobody has written",
    "new_empty": "memory that nobody has written",
    "new_empty_strided": "memory that nobody has written",
}
"""Entries whose results PyTorch does not determine."""

ONLY_SAMPLES = {
    **dict.fromkeys(
        (f"fft.{name}" for name in ("hfft", "hfft2", "hfftn", "irfft", "irfft2", "irfftn")),
        "infinite terms of a sum, in another order",
    ),
    **dict.fromkeys(
        (f"nn.functional.conv_transpose{rank}d" for rank in (1, 2, 3)), "zeros around the data times infinite weights"
    ),
    **dict.fromkeys(
        (
            *(f"nn.functional.interpolate.{kind}" for kind in ("linear", "bilinear", "trilinear")),
            "nn.functional.upsample_bilinear",
        ),
        "infinite neighbors times weights of 0",
    ),
    **dict.fromkeys(
        ("nn.functional.multi_margin_loss", "nn.functional.multilabel_margin_loss"),
        "PyTorch's kernels pass over NaN, what it compiles does not",
    ),
    "nn.functional.gelu": "PyTorch gives NaN at infinity in vectors, and infinity elsewhere",
    "std_mean": "means with infinities are NaN, unlike the results of `mean`",
    "var_mean": "means with infinities are NaN, unlike the results of `mean`",
}
"""Entries whose results PyTorch does not determine for other numbers than its samples', and why."""

NOT_TRIED = {
    **dict.fromkeys(
        (("remainder", "extreme"), ("__rmod__", "extreme"), ("fmod", "extreme")),
        "PyTorch gives NaN for quotients that are too large in vectors, and the remainder elsewhere",
    ),
    ("_unsafe_masked_index", "other_integers"): (
        "PyTorch's kernel counts indices below 0 from the end, its trace takes the first element"
    ),
    **dict.fromkeys(
        (("masked_select", "uint8"), ("masked_select", "int64")),
        "PyTorch's trace asserts that a mask with more elements than the data leaves no more than these",
    ),
    ("nn.functional.soft_margin_loss", "float16"): "PyTorch's kernel overflows, its trace computes in f32",
    ("unravel_index", "int64"): "PyTorch's trace wraps dynamic sizes near 2**63 around",
    **dict.fromkeys(
        ((f"nn.functional.conv{n}d", f"special {dtype}") for n in (1, 2, 3) for dtype in ("float16", "bfloat16")),
        "zeros around the data times infinite weights are left out by some of PyTorch's kernels for floats of 16 bits",
    ),
}
"""What PyTorch does not determine of an entry: one kind of numbers, by the name of the function that makes them, one
element type, or one kind of numbers in one type."""

OTHER_STRIDES = {
    **dict.fromkeys(
        ("heaviside", "logical_and", "logical_or", "logical_xor"),
        "PyTorch's kernels keep the order of dimensions where operands are broadcast, its trace does not",
    ),
    "unique_consecutive": "PyTorch's kernel collects parts along a dimension in another order than its trace says",
    "nn.functional.max_unpool2d": "PyTorch's kernel keeps the order of dimensions, its trace does not",
    "nn.functional.max_unpool2d.grad": "PyTorch's kernel keeps the order of dimensions, its trace does not",
}
"""Entries whose results have other strides than PyTorch's trace says."""

OTHER_POSITIONS = {"topk": "which of several equal elements are taken"}
"""Entries whose second result PyTorch does not determine, and why."""

NUMBERS = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 3.0]

INTEGERS = [0, 1, -1, 120, 100, -7, 2]


@dataclass(frozen=True)
class Draw:
    """What to try: a sample of an entry."""

    entry: str
    dtype: str
    number: int
    form: str = FORMS[0]
    dynamic: bool = False
    second: str = ""


@dataclass(frozen=True)
class Finding:
    """How a draw ended: `right`, `wrong`, `refused` by relex, or `skipped` as it says nothing about relex; and why."""

    draw: Draw
    verdict: str
    reason: str = ""


class Refused(Exception):
    """Relex does not compile a graph."""


class Skipped(Exception):
    """A draw says nothing about relex."""


def entries() -> dict[str, Any]:
    """Return the entries of `op_db` by name."""
    database: Any = import_module("torch.testing._internal.common_methods_invocations")
    return {f"{e.name}{f'.{e.variant_test_name}' if e.variant_test_name else ''}": e for e in database.op_db}


def draws(entry: str, info: Any, count: int, seed: int) -> list[Draw]:
    """Return some draws of an entry: each type and each form about as often."""
    source = random.Random(f"{seed} {entry}")
    dtypes = [name for name in DTYPES if getattr(torch, name) in info.dtypes]
    of_two = isinstance(info, opinfo.BinaryUfuncInfo)
    found: list[Draw] = []
    for i in range(count if dtypes else 0):
        dtype = "float32" if i == 0 and "float32" in dtypes else source.choice(dtypes)
        form = FORMS[0] if i < 2 else source.choice(FORMS)
        second = source.choice(SECONDS) if of_two and i % 2 else ""
        found.append(Draw(entry, dtype, source.randrange(10**6), form, i % 3 == 1, second))
    return list(dict.fromkeys(found))


def tried(info: Any, draw: Draw) -> Finding:
    """Try a draw."""
    try:
        problem = _problem(info, draw)
    except Refused as e:
        return Finding(draw, "refused", str(e))
    except Skipped as e:
        return Finding(draw, "skipped", str(e))
    return Finding(draw, "wrong" if problem else "right", problem)


def _problem(info: Any, draw: Draw) -> str:
    if draw.entry in LEFT_OPEN:
        raise Skipped(LEFT_OPEN[draw.entry])
    if (draw.entry, draw.dtype) in NOT_TRIED:
        raise Skipped(NOT_TRIED[draw.entry, draw.dtype])
    torch.manual_seed(draw.number)
    dynamo.reset()
    samples = list(info.sample_inputs("cpu", getattr(torch, draw.dtype), requires_grad=False))
    if not samples:
        raise Skipped("it has no samples of this type")
    sample = with_second(samples[draw.number % len(samples)], draw.second)
    call = Call.of(info, sample, draw.entry not in OTHER_STRIDES)
    call.has_positions = draw.entry not in OTHER_POSITIONS
    if any(t.layout != torch.strided or t.dtype.is_complex for t in call.tensors):
        raise Skipped("sparse or complex")
    before = torch.get_rng_state()
    first = outcome(call.function, [t.clone() for t in call.tensors])
    if not torch.equal(torch.get_rng_state(), before):
        raise Skipped("it draws random numbers")
    if isinstance(first, BaseException):
        raise Skipped(f"torch: {first_line(first)}")
    run = compiled(call.function, dynamic=draw.dynamic)
    changes: list[Callable[[Any, int], Any]] = [own]
    if draw.entry not in ONLY_SAMPLES:
        changes += [special, other_integers, *([extreme] if is_elementwise(info) else [])]
        changes = [change for change in changes if not _is_open(draw, change.__name__)]
    for change in changes:
        if problem := difference(
            call, run, lambda c=change: [kept(c(t, i), draw.form) for i, t in enumerate(call.tensors)]
        ):
            return problem if change is own else f"numbers of another kind ({change.__name__}): {problem}"
    return ""


def _is_open(draw: Draw, numbers: str) -> bool:
    """Return whether PyTorch does not determine the results for some numbers."""
    return not NOT_TRIED.keys().isdisjoint({(draw.entry, numbers), (draw.entry, f"{numbers} {draw.dtype}")})


def is_elementwise(info: Any) -> bool:
    """Return whether each element of a result depends on one of each operand."""
    return isinstance(info, opinfo.UnaryUfuncInfo | opinfo.BinaryUfuncInfo)


def with_second(sample: Any, second: str) -> Any:
    """Return a sample with another second operand, one of `SECONDS`, or the sample itself."""
    if not second or not sample.args or not isinstance(sample.args[0], torch.Tensor):
        return sample
    numbers = {"int": 3, "float": 2.5}
    other = numbers[second] if second in numbers else sample.args[0].to(getattr(torch, second))
    sample.args = (other, *sample.args[1:])
    return sample


@dataclass
class Call:
    """A call of an operator: its tensors apart from everything else."""

    function: Callable[..., Any]
    tensors: list[Any]
    has_strides: bool
    """Whether the strides of results are compared."""
    has_positions: bool = True
    """Whether the numbers of the second result are compared."""

    @classmethod
    def of(cls, info: Any, sample: Any, has_strides: bool) -> Call:
        """Return the call of a sample."""
        leaves, spec = tree.tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def function(*tensors: Any) -> Any:
            given = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                given[place] = tensor
            first, args, kwargs = tree.tree_unflatten(given, spec)
            return info.op(first, *args, **kwargs)

        return cls(function, [leaves[i] for i in places], has_strides)


def kept(tensor: Any, form: str) -> Any:
    """Return a tensor of the same elements that is kept in another form; of one element only, if it is expanded."""
    if tensor.layout != torch.strided or tensor.dim() == 0:
        return tensor
    match form:
        case "every second element":
            wide = tensor.new_zeros([*tensor.shape[:-1], 2 * tensor.shape[-1]])
            wide[..., ::2] = tensor
            return wide[..., ::2]
        case "transposed":
            return tensor.transpose(0, -1).contiguous().transpose(0, -1)
        case "one element expanded":
            return tensor[:1].expand_as(tensor) if len(tensor) else tensor
        case "after an offset":
            return torch.cat([tensor[:1], tensor])[1:] if len(tensor) else tensor
        case _:
            return tensor


def own(tensor: Any, place: int) -> Any:
    """Return the numbers of the sample."""
    return tensor.clone()


def special(tensor: Any, place: int) -> Any:
    """Return a tensor of NaN, infinities, zeros and other numbers in place of floats."""
    return _filled(tensor, NUMBERS, place) if tensor.dtype.is_floating_point else tensor.clone()


def extreme(tensor: Any, place: int) -> Any:
    """Return a tensor of the largest and smallest numbers in place of floats."""
    if not tensor.dtype.is_floating_point:
        return tensor.clone()
    limits = torch.finfo(tensor.dtype)
    return _filled(tensor, [limits.max, limits.min, limits.tiny, -limits.smallest_normal / 2, limits.eps], place)


def other_integers(tensor: Any, place: int) -> Any:
    """Return a tensor of other numbers in place of integers, which may be no indices, or divisors."""
    if tensor.dtype.is_floating_point or tensor.dtype == torch.bool:
        return tensor.clone()
    numbers = [abs(n) for n in INTEGERS] if tensor.dtype == torch.uint8 else INTEGERS
    return _filled(tensor, numbers, place)


def _filled(tensor: Any, numbers: Sequence[Any], place: int) -> Any:
    """Fill a tensor with numbers, from the second operand of a call, and others, in another order."""
    flat = torch.tensor([*islice(cycle(numbers), 3 * place, 3 * place + tensor.numel())])
    return flat.to(tensor.dtype).reshape(tensor.shape)


def compiled(function: Callable[..., Any], *, dynamic: bool) -> Any:
    """Compile a function by relex, and by nothing else."""
    return compiled_alone(function, fullgraph=True, dynamic=dynamic)


def outcome(function: Callable[..., Any], tensors: Sequence[Any]) -> Any:
    """Return the results of a call, or the error that ends it. Raises `Refused` and `Skipped`."""
    try:
        return function(*tensors)
    except dynamo.exc.BackendCompilerFailed as e:
        raise Refused(first_line(e.inner_exception)) from None
    except dynamo.exc.TorchDynamoException as e:
        raise Skipped(f"torch cannot record it: {first_line(e)}") from None
    except Exception as e:
        return e


def first_line(error: Any) -> str:
    """Return the beginning of a message, without places and names of sizes."""
    text = (str(error).splitlines() or [""])[0]
    text = re.sub(r"^\S+:\d+:\d+: |^model: ", "", text).removeprefix("error: ")
    return re.sub(r"\b[su]\d+\b", "s", text)[:160] or type(error).__name__


def difference(call: Call, run: Any, make: Callable[[], list[Any]]) -> str:
    """Return how a call compiled by relex differs from one by torch, or an empty text."""
    given, arguments = make(), make()
    wanted, found = outcome(call.function, given), outcome(run, arguments)
    if isinstance(wanted, Exception) and "contiguous" in str(wanted):
        return ""
    if isinstance(wanted, Exception) and isinstance(found, Exception):
        return ""
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        return f"torch: {_shown(wanted)}; relex: {_shown(found)}"
    old, new = tree.tree_leaves(wanted), tree.tree_leaves(found)
    if len(old) != len(new):
        return f"{len(old)} results; relex: {len(new)}"
    for what, olds, news in (("result", old, new), ("argument", given, arguments)):
        for i, (a, b) in enumerate(zip(olds, news, strict=True)):
            if i == 1 and what == "result" and not call.has_positions:
                a, b = (torch.empty_like(t).fill_(0) for t in (a, b))
            if problem := unequal(a, b, call.has_strides):
                return f"{what} {i}: {problem}"
    if sharing(given, old) != sharing(arguments, new):
        return f"memory: {sharing(given, old)}; relex: {sharing(arguments, new)}"
    return ""


def _shown(result: Any) -> str:
    kind = "RelexError" if isinstance(result, RelexError) else type(result).__name__
    return f"{kind}: {first_line(result)}" if isinstance(result, Exception) else "a result"


TOLERANCES = {"float64": (1e-7, 1e-9), "float32": (2e-5, 1e-5), "float16": (2e-3, 1e-3), "bfloat16": (2e-2, 1e-2)}
"""Relative and absolute, as in PyTorch's own comparisons, and for sums in another order."""


def unequal(a: Any, b: Any, has_strides: bool) -> str:
    """Return how two results differ, or an empty text."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return "" if type(a) is type(b) and (a == b or (a != a and b != b)) else f"{a!r}; relex: {b!r}"
    for name in ("dtype", "shape", "layout", "requires_grad"):
        if getattr(a, name) != getattr(b, name):
            return f"{name} {getattr(a, name)}; relex: {getattr(b, name)}"
    strides = [(x, y) for size, x, y in zip(a.shape, a.stride(), b.stride(), strict=True) if size > 1]
    if has_strides and a.numel() and any(x != y for x, y in strides):
        return f"strides {a.stride()}; relex: {b.stride()}"
    return _unequal_values(*(torch.view_as_real(t.resolve_conj()) if t.dtype.is_complex else t for t in (a, b)))


def _unequal_values(a: Any, b: Any) -> str:
    name = str(a.dtype).removeprefix("torch.")
    relative, absolute = TOLERANCES.get(name, (0, 0))
    finite = a[a.isfinite()].double().abs()
    absolute *= max(1.0, finite.mean().item() if len(finite) else 0.0)
    wrong = ~torch.isclose(a.double(), b.double(), relative, absolute, equal_nan=True) if relative else a != b
    if not wrong.any():
        return ""
    place = tuple(wrong.nonzero()[0].tolist())
    return f"at {list(place)} of {list(a.shape)}: {a[place].item()!r}; relex: {b[place].item()!r}"


def sharing(arguments: Sequence[Any], results: Sequence[Any]) -> list[int]:
    """Return for each tensor, arguments first, the first one with the same memory."""
    keys = [
        t.untyped_storage().data_ptr() if isinstance(t, torch.Tensor) and t.numel() else id(t)
        for t in (*arguments, *results)
    ]
    return [keys.index(key) for key in keys]
