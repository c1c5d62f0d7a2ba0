"""Calls of compiled functions on tensors of torch, by the addresses of their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, chain
from operator import add, gt, itemgetter
from typing import Any, cast
from weakref import ref

from relex.dialects.errors import OverlapError, RelexError
from relex.dialects.signature import TensorSpec
from relex.frontend.torch.library import torch
from relex.frontend.torch.tensors import tensor_of

KEPT = 8
"""The number of combinations of shapes whose calls are kept."""

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""The classes of tensors whose elements are at their address. Subclasses may have others in their place."""

_address: Callable[[Any], int] = torch.Tensor.data_ptr
_storage: Callable[[Any], Any] = torch.Tensor.untyped_storage
_start: Callable[[Any], int] = torch.UntypedStorage.data_ptr
_size: Callable[[Any], int] = torch.UntypedStorage.nbytes

_both: Callable[[int, int], int] = int.__and__

GUARDS: Any = import_module("torch._C._dynamo.guards")
"""Torch's functions in C++ for code that it has compiled. Other versions may have other ones."""


class TensorCalls:
    """Calls a compiled function on inputs of a graph; `places` are the inputs that it takes, of which a call changes
    those in `changed`.

    The first call with tensors of some shapes is checked. Later ones pass addresses. `weights`, some of the places,
    are inputs that seldom change: torch's guards have compared all that they are but for their addresses, which are
    compared here. Nothing else can be at the address of a weight: its memory is kept until a call finds another one or
    the weight is gone, and has the size that it had. Of other tensors, all that matters is looked at in each call.
    Those that change are never copied, and share memory with no other one: torch runs calls in which they do.
    """

    def __init__(self, main: Any, places: Sequence[int], weights: Sequence[int], changed: Sequence[int] = ()):
        self._main = main
        self._all = _getter(places)
        self._changed = [i for i, place in enumerate(places) if place in changed]
        self._fixed = [i for i, place in enumerate(places) if place in weights and place not in changed]
        self._weights = _getter([places[i] for i in self._fixed])
        self._others = _getter([place for i, place in enumerate(places) if i not in self._fixed])
        self._changing = _getter(changed)
        self._known = _NOTHING

    def __call__(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        """Return the results, which are new tensors; None for a call that torch has to run."""
        if not self._changed:
            return self._call(inputs)
        try:
            return self._call(inputs)
        finally:
            for x in self._changing(inputs):
                torch.autograd.graph.increment_version(x)

    def _call(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        known = self._known
        if (
            tuple(map(_address, self._weights(inputs))) == known.addresses
            and tuple(map(_size, known.storages)) == known.sizes
        ):
            others = self._others(inputs)
            for call in known.calls:
                if (results := call(others)) is not None:
                    return results
        return self.checked(inputs)

    def checked(self, inputs: Sequence[Any]) -> Sequence[Any] | None:
        """Return the results of a call that is checked; None for a call that torch has to run."""
        given = self._all(inputs)
        if not all(type(x) in PLAIN for x in given) or any(given[i].is_neg() for i in self._changed):
            return None
        # By DLPack, torch forgets that elements are to be negated.
        tensors = [x.detach().resolve_neg() for x in given]
        for x in tensors:
            _expect_memory(x)
        try:
            found: Any = self._main(*tensors)
        except OverlapError:
            return None
        if not self._main.signature.late and not any(x.is_neg() for x in given):
            self._keep(tensors, self._others(inputs), self._weights(inputs))
        arrays = cast("tuple[Any, ...]", found) if isinstance(found, tuple) else () if found is None else (found,)
        return [*map(tensor_of, arrays)]

    def _keep(self, tensors: Sequence[Any], others: Sequence[Any], owners: Sequence[Any]) -> None:
        """Keep a call for tensors like these, which the function has taken, and for `others` in place of those that are
        no weights. `owners` are the weights of the model."""
        weights = [tensors[i] for i in self._fixed]
        if any(_argument(x).convert or x.data_ptr() % x.element_size() for x in weights):
            return
        addresses = tuple(map(_address, weights))
        shapes = [tuple(x.shape) for x in tensors]
        results, enter = self._main.by_address(shapes, dict(zip(self._fixed, addresses, strict=True)))
        open_places = [i for i in range(len(tensors)) if i not in self._fixed]
        arguments = [_argument(tensors[i]) for i in open_places]
        changed = [open_places.index(i) for i in self._changed]
        if any(arguments[i].convert for i in changed):
            return  # Booleans are changed as the bytes 0 and 1.
        fixed = [_memory(x) for x in weights] if changed else []
        made = [*map(_result, self._main.signature.outputs, results)]
        call = _Call(enter, _comparison(others), arguments, made, changed, fixed)
        # Calls for other weights are of no use, and would keep the memory of these.
        earlier = self._known.calls if self._known.addresses == addresses else ()
        storages = [x.untyped_storage() for x in weights]
        forget = partial(_forget, ref(self))
        watched = [ref(owner, forget) for owner in owners]
        self._known = _Known(addresses, storages, tuple(map(_size, storages)), (call, *earlier[: KEPT - 1]), watched)

    def forget(self) -> None:
        """Forget all calls, and so the memory of weights."""
        self._known = _NOTHING


def _forget(calls: Callable[[], TensorCalls | None], _: object) -> None:
    found = calls()
    if found is not None:
        found.forget()


@dataclass(frozen=True)
class _Known:
    """Calls for weights at these addresses. Their storages keep the memory, of these sizes."""

    addresses: tuple[int, ...]
    storages: Sequence[Any]
    sizes: tuple[int, ...]
    calls: tuple[_Call, ...]
    watched: Sequence[Any]
    """What notices that a weight is gone."""


_NOTHING = _Known((), (), (), (), ())


@dataclass(frozen=True)
class _Argument:
    """What is known about a tensor that a function takes: the size of its memory, the bits of its address that are 0,
    and how it is made row-major."""

    size: int
    low_bits: int
    convert: Callable[[Any], Any] | None


Memory = tuple[int, int, bool]
"""The addresses at which memory starts and ends, and whether a call changes it."""

Result = tuple[tuple[int, ...], tuple[int, ...], Any]
"""The shape, the strides and the dtype of a result."""


class _Call:
    """A call with tensors of certain shapes."""

    def __init__(
        self,
        enter: Callable[[Iterable[int]], None],
        are_alike: Callable[..., bool],
        arguments: Sequence[_Argument],
        results: Sequence[Result],
        changed: Sequence[int],
        fixed: Sequence[Memory],
    ):
        self._enter = enter
        self._are_alike = are_alike
        self._sizes = [argument.size for argument in arguments]
        self._low_bits = [argument.low_bits for argument in arguments]
        self._converted = [(i, argument.convert) for i, argument in enumerate(arguments) if argument.convert]
        self._results = results
        self._changed = frozenset(changed)
        self._fixed = fixed
        """The memory of weights, if the call changes something."""

    def __call__(self, tensors: Sequence[Any]) -> Sequence[Any] | None:
        """Return the results for tensors, or None if they are of other kinds."""
        if not self._are_alike(*tensors):
            return None
        if self._converted:
            tensors = [*tensors]
            for i, convert in self._converted:
                _expect_memory(tensors[i])
                tensors[i] = convert(tensors[i])
        addresses = [*map(_address, tensors)]
        storages = [*map(_storage, tensors)]
        ends = map(add, map(_start, storages), map(_size, storages))
        if any(map(gt, map(add, addresses, self._sizes), ends)) or any(map(_both, addresses, self._low_bits)):
            return None
        if self._changed and not self._are_apart(addresses):
            return None
        results = [_empty(*result) for result in self._results]
        self._enter(chain(addresses, map(_address, results)))
        return results

    def _are_apart(self, addresses: Iterable[int]) -> bool:
        """Return whether arguments that change share no memory with other ones."""
        known = enumerate(zip(addresses, self._sizes, strict=True))
        spans = [(start, start + size, i in self._changed) for i, (start, size) in known if size]
        end_of_all = end_of_changed = 0
        for start, end, changes in sorted([*spans, *self._fixed]):
            if start < (end_of_all if changes else end_of_changed):
                return False
            end_of_all = max(end, end_of_all)
            if changes:
                end_of_changed = max(end, end_of_changed)
        return True


def _memory(x: Any) -> Memory:
    """Return the memory of a tensor that does not change."""
    return x.data_ptr(), x.data_ptr() + x.nbytes, False


def _comparison(tensors: Sequence[Any]) -> Callable[..., bool]:
    """Return a function that says whether as many tensors are of the same classes, dtypes, sizes, strides and so on."""
    compare = getattr(GUARDS, "TensorGuards", None)
    if compare is not None and tensors:
        return compare(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
    kinds = [*map(_kind, tensors)]
    return lambda *others: [*map(_kind, others)] == kinds


def _kind(x: Any) -> Any:
    return _is_plain(x) and (type(x), x.dtype, x.shape, x.stride())


def _is_plain(x: Any) -> bool:
    """Return whether a tensor's elements are in memory, as they are."""
    return type(x) in PLAIN and x.is_cpu and x.layout is torch.strided and not x.is_neg()


def _argument(x: Any) -> _Argument:
    convert = _zeros_and_ones if x.dtype == torch.bool else None if x.is_contiguous() else torch.Tensor.contiguous
    return _Argument(x.nbytes, x.element_size() - 1, convert)


def _result(spec: TensorSpec, shape: Sequence[int]) -> Result:
    strides = [*accumulate(shape[:0:-1], lambda x, y: x * max(y, 1), initial=1)][::-1] if shape else []
    return tuple(shape), tuple(strides), getattr(torch, spec.dtype.name)


def _zeros_and_ones(x: Any) -> Any:
    """Return booleans as bytes of 0 and 1. A view of other memory may hold any byte."""
    return x.contiguous().view(torch.uint8) != 0


def _expect_memory(x: Any) -> None:
    """Raise `RelexError` for a tensor whose storage was made too small for it, which ends the process in torch."""
    if _is_plain(x) and x.numel():
        last = x.storage_offset() + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
        if (last + 1) * x.element_size() > x.untyped_storage().nbytes():
            raise RelexError(f"expected memory for all elements of a tensor of shape {tuple(x.shape)}")


def _getter(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that returns the elements at these places."""
    return itemgetter(*places) if len(places) > 1 else lambda values: [values[place] for place in places]


def _find_empty() -> Callable[[Sequence[int], Sequence[int], Any], Any]:
    """Return what makes tensors: where torch has it, its function for compiled code, in a third of the time."""

    def plain(shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Any:
        return torch.empty_strided(shape, strides, dtype=dtype, device="cpu")

    return getattr(GUARDS, "_empty_strided_cpu", plain)


_empty = _find_empty()
