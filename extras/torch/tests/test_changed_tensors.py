"""Arguments of all kinds that compiled functions change: as torch changes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compiling import compiled

from relex.dialects.errors import RelexError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


class Sub(torch.Tensor):
    """A subclass."""


def added(x: Any, y: Any) -> Any:
    x.add_(y)
    return y * 2


def negated(x: Any, y: Any) -> Any:
    x.logical_and_(y)
    return ~y


def both(x: Any, y: Any) -> Any:
    x.add_(1)
    y.mul_(2)
    return x.sum()


def plain() -> Any:
    return torch.arange(12.0).view(3, 4)


def twice() -> tuple[Any, Any]:
    x = plain()
    return x, x


def halves(start: int) -> tuple[Any, Any]:
    x = torch.arange(24.0).view(6, 4)
    return x[:3], x[start : start + 3]


MAKE: dict[str, Callable[[], tuple[Any, Any]]] = {
    "plain": lambda: (plain(), plain()),
    "read negated": lambda: (plain(), torch._neg_view(plain())),
    "changed negated": lambda: (torch._neg_view(plain()), plain()),
    "changed imaginary": lambda: (torch.complex(plain(), plain()).conj().imag, plain()),
    "read strided": lambda: (plain(), torch.ones(3, 8)[:, ::2]),
    "changed strided": lambda: (torch.ones(3, 8)[:, ::2], plain()),
    "changed transposed": lambda: (torch.ones(4, 3).t(), plain()),
    "read expanded": lambda: (plain(), torch.ones(4).expand(3, 4)),
    "twice": twice,
    "apart in one storage": lambda: halves(3),
    "nothing": lambda: (torch.zeros(0, 4), torch.ones(0, 4)),
    "no columns": lambda: (torch.zeros(3, 0), torch.ones(3, 0)),
    "read with gradients": lambda: (plain(), plain().requires_grad_()),
    "changed with gradients": lambda: (plain().requires_grad_(), plain()),
    "changed parameter": lambda: (torch.nn.Parameter(plain()), plain()),
    "read subclass": lambda: (plain(), plain().as_subclass(Sub)),
    "changed subclass": lambda: (plain().as_subclass(Sub), plain()),
    "booleans": lambda: (plain() > 3, plain() > 5),
    "half": lambda: (plain().half(), plain().half()),
}


def seen(tensors: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [(type(x), x.dtype, x.stride(), x.shape, x.resolve_neg().detach().tolist()) for x in tensors]


@pytest.mark.parametrize("kind", MAKE)
def test_tensors_of_all_kinds(kind: str) -> None:
    make, function = MAKE[kind], negated if kind == "booleans" else added
    fast = compiled(function)
    for _ in range(3):
        given, own = make(), make()
        assert seen((fast(*given), *given)) == seen((function(*own), *own))


@pytest.mark.parametrize("kind", ["read negated", "changed negated", "twice", "changed strided", "read expanded"])
def test_tensors_of_other_kinds_after_plain_ones(kind: str) -> None:
    """Without the guards of torch, and by address."""
    from relex.frontend.torch.dynamo import relex

    runs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        runs.append(relex(graph, inputs))
        return runs[-1]

    torch.compile(added, backend=backend)(plain(), plain())
    for make in [MAKE["plain"]] * 2 + [MAKE[kind], MAKE["plain"], MAKE[kind]]:
        given, own = make(), make()
        if kind == "changed strided" and make is MAKE[kind]:
            with pytest.raises(RelexError, match="expected an aligned, row-major array"):
                runs[0](*given)
            continue
        assert seen((*runs[0](*given), *given)) == seen((added(*own), *own))


@pytest.mark.parametrize("function", [added, both])
def test_tensors_that_share_memory(function: Callable[..., Any]) -> None:
    fast = compiled(function)
    for start in (3, 3, 1, 3, 0, 2):
        given, own = halves(start), halves(start)
        if function is added and start in (1, 2):
            with pytest.raises(RuntimeError, match="single memory location"):
                fast(*given)
            continue
        assert seen((fast(*given), *given)) == seen((function(*own), *own))


@pytest.mark.parametrize("size", [0, 8, 44])
@pytest.mark.parametrize("place", [0, 1])
def test_storages_that_are_resized(place: int, size: int) -> None:
    """Torch itself writes outside of such a tensor."""
    fast = compiled(added)
    for _ in range(2):
        fast(plain(), plain())
        given = [plain().clone(), plain().clone()]
        given[place].untyped_storage().resize_(size)
        with pytest.raises(RelexError, match="expected memory for all elements"):
            fast(*given)


def test_tensors_of_inference_mode() -> None:
    with torch.inference_mode():
        fast = compiled(added)
        for _ in range(3):
            given, own = MAKE["plain"](), MAKE["plain"]()
            assert seen((fast(*given), *given)) == seen((added(*own), *own))


def test_calls_go_by_address(monkeypatch: pytest.MonkeyPatch) -> None:
    from relex.frontend.torch.tensor_calls import TensorCalls

    fast = compiled(added)
    fast(plain(), plain())
    monkeypatch.setattr(TensorCalls, "checked", None)
    x = plain()
    assert fast(x, plain()).tolist() == (plain() * 2).tolist()
    assert x.tolist() == (plain() * 2).tolist()


def itself(x: Any, y: Any) -> Any:
    return x.add_(y).mul_(2)


def views(x: Any, y: Any) -> Any:
    first = x[0]
    x.add_(y)
    return x[1], x.t(), y * 2, first, x.view(-1)


def apart(x: Any, y: Any) -> Any:
    old, new = x.clone(), x + y
    x.copy_(new)
    return new, new[0], old, x.sum(0)


def copied(x: Any, y: Any) -> Any:
    x.copy_(y)
    return x, y, x.view(-1), y.t()


def memories(tensors: Any, given: Any) -> list[list[bool]]:
    """Return whether tensors are in the memory of others."""
    places = [x.untyped_storage().data_ptr() for x in given]
    return [[x.untyped_storage().data_ptr() == place for place in places] for x in tensors]


@pytest.mark.usefixtures("all_by_relex")
@pytest.mark.parametrize("function", [itself, views, apart, copied])
def test_results_in_the_memory_of_what_changes(function: Callable[..., Any]) -> None:
    fast = compiled(function)
    for _ in range(3):
        given, own = MAKE["plain"](), MAKE["plain"]()
        found, wanted = fast(*given), function(*own)
        found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
        assert memories(found, given) == memories(wanted, own)
        for x, y in zip(found, wanted, strict=True):
            x.mul_(3)
            y.mul_(3)
        assert seen((*found, *given)) == seen((*wanted, *own))
