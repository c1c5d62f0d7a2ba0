"""Calls of compiled graphs on tensors, by address: nothing is read or written outside of a tensor."""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from relex.dialects.errors import RelexError

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

Call = Callable[..., Any]
One = Callable[[Any], Any]
Two = Callable[[Any, Any], Any]


def both(function: One | Two, *arguments: Any, **settings: Any) -> tuple[Call, Call]:
    """Return a function compiled for these arguments, and its only graph without the guards of torch: it takes the
    inputs of the graph, and returns its first result."""
    from relex.frontend.torch.dynamo import relex

    runs: list[Any] = []

    def backend(graph: Any, inputs: Any, **options: Any) -> Any:
        runs.append(relex(graph, inputs, **options))
        return runs[-1]

    compiled = torch.compile(function, backend=backend, **settings)
    compiled(*arguments)
    (run,) = runs
    return compiled, lambda *inputs: run(*inputs)[0]


def layer() -> Any:
    return nn.Linear(4, 3, bias=False).eval()


def is_right(call: Call, model: Any, x: Any) -> bool:
    """Return whether a call is right, and again when it goes by address."""
    return all(torch.allclose(call(x), model(x), atol=1e-6) for _ in range(3))


def test_weights_that_move_or_change() -> None:
    model, x = layer(), torch.rand(2, 4)
    call, _ = both(model, x)
    assert is_right(call, model, x)
    model.weight += 1
    assert is_right(call, model, x)
    model.weight.data = torch.rand(3, 4)
    assert is_right(call, model, x)
    model.weight.data = torch.rand(4, 3).t()
    assert is_right(call, model, x)
    model.weight.data = torch.rand(5, 4)
    assert is_right(call, model, x)
    model.weight = nn.Parameter(torch.rand(3, 4))
    assert is_right(call, model, x)
    model.double()
    assert is_right(call, model, x.double())


def test_the_memory_of_a_weight_is_not_used_by_another_one() -> None:
    """After a weight is gone, the next one may be at its address, unless something keeps the memory."""
    model, x = layer(), torch.rand(2, 4)
    _, run = both(model, x)
    run(model.weight, x)
    address = model.weight.data_ptr()
    model.weight.data = torch.empty(0)
    assert address not in {tensor.data_ptr() for tensor in [torch.empty(3, 4) for _ in range(50)]}
    with pytest.raises(RelexError, match="shape"):
        run(model.weight, x)


def test_the_memory_of_weights_is_freed_with_the_model() -> None:
    model = layer()
    compiled, run = both(model, torch.rand(2, 4))
    run(model.weight, torch.rand(2, 4))
    kept = torch.multiprocessing.reductions.StorageWeakRef(model.weight.untyped_storage())
    assert not kept.expired()
    del model, compiled
    gc.collect()
    assert kept.expired()


@pytest.mark.parametrize("sizes", [(0,), (4,), (0, 4), (0, 48)])
def test_storages_that_are_resized(sizes: tuple[int, ...]) -> None:
    """Torch itself reads outside of such a tensor."""
    for place in (0, 1):
        model, x = layer(), torch.rand(3, 4)
        _, run = both(model, x)
        inputs = [model.weight, x]
        run(*inputs)
        for size in sizes:
            inputs[place].untyped_storage().resize_(size)
        if sizes[-1] == 48:
            assert run(*inputs).shape == (3, 3)
            continue
        with pytest.raises(RelexError, match="expected memory for all elements"):
            run(*inputs)


@pytest.fixture(params=["by torch", "one by one"])
def compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare tensors by torch's guards in C++, and as versions of torch do that have none."""
    from relex.frontend.torch import tensor_calls

    if request.param == "one by one":
        monkeypatch.setattr(tensor_calls, "GUARDS", None)
    else:
        assert hasattr(tensor_calls.GUARDS, "TensorGuards")


@pytest.mark.usefixtures("compared")
def test_inputs_that_do_not_fit() -> None:
    """Without the guards of torch, the call is refused."""
    x = torch.rand(3, 4)
    _, run = both(lambda x: x * 2, x)
    for _ in range(3):
        assert torch.equal(run(x), x * 2)
    for other in (x.double(), x.half(), x.int(), x[:2], x[:, :3], torch.rand(12), torch.rand(()), torch.empty(0, 4)):
        with pytest.raises(RelexError, match="argument"):
            run(other)
    with pytest.raises((RelexError, RuntimeError)):
        run(x.to("meta"))
    with pytest.raises((RelexError, RuntimeError)):
        run(x.to_sparse())
    assert torch.equal(run(x), x * 2)


@pytest.mark.usefixtures("compared")
def test_inputs_of_other_kinds() -> None:
    x = torch.rand(3, 4)
    _, run = both(lambda x: x * 2, x)
    wide = torch.rand(6, 8)
    bytes_of_x = torch.zeros(49, dtype=torch.uint8)
    bytes_of_x[1:] = x.view(torch.uint8).flatten()
    unaligned = torch.frombuffer(bytes_of_x.numpy(), dtype=torch.float32, offset=1, count=12).view(3, 4)
    others = [
        x.clone().requires_grad_(),
        nn.Parameter(x.clone()),
        torch.rand(4, 3).t(),
        wide[::2, 1::2],
        wide[2:5, :4],
        wide.flatten()[5:17].view(3, 4),
        torch.rand(4).expand(3, 4),
        unaligned,
    ]
    for _ in range(2):
        for other in others:
            assert torch.equal(run(other), other.detach() * 2)


@pytest.mark.usefixtures("compared")
def test_strides_and_negated_views() -> None:
    x = torch.rand(4, 3).t()
    call, run = both(lambda x: x + 1, x)
    for other in (x, x.contiguous(), torch.rand(4, 3).t(), torch.rand(8, 3)[::2].t()):
        assert torch.equal(call(other), other + 1)
        assert torch.equal(run(other), other + 1)
    negated = torch.randn(3, 4, dtype=torch.complex64).conj().imag
    assert negated.is_neg()
    for _ in range(2):
        assert torch.equal(run(negated), negated + 1)


def test_booleans_of_other_bytes() -> None:
    x = torch.tensor([True, False, True])
    _, run = both(lambda x: torch.where(x, 1, 2) + x, x)
    for _ in range(3):
        assert run(x).tolist() == [2, 2, 2]
        assert run(torch.tensor([2, 0, 255], dtype=torch.uint8).view(torch.bool)).tolist() == [2, 2, 2]


def test_no_elements_and_no_dimensions() -> None:
    for shape in ((), (0,), (3, 0), (1, 1)):
        x = torch.rand(shape)
        call, run = both(lambda x: (x + 1).relu(), x, dynamic=False)
        for _ in range(3):
            for y in (call(x), run(x)):
                assert y.shape == x.shape
                assert torch.equal(y, x + 1)


def test_results_are_apart() -> None:
    """Results share memory with nothing, and can be resized like others."""
    x = torch.rand(3, 4)
    call, _ = both(lambda x: (x + 1, x + 2), x)
    found = [y for _ in range(4) for y in call(x)]
    assert len({y.data_ptr() for y in (*found, x)}) == len(found) + 1
    found[-1].fill_(0)
    assert torch.equal(found[-3], x + 2)
    found[-1].resize_(100)
    # A result as the next input, and the same tensor twice.
    twice, _ = both(lambda x, y: x * y + x, x, x)
    for _ in range(3):
        y = twice(x, x)
        assert torch.equal(twice(y, x), y * x + y)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16", "float64", "int8", "int64", "bool"])
def test_types_of_results(dtype: str) -> None:
    kind = getattr(torch, dtype)
    x = torch.tensor([0.0, 1.0, 3.0])
    call, _ = both(lambda x: x.to(kind), x)
    for _ in range(3):
        y = call(x)
        assert y.dtype is kind
        assert torch.equal(y.float(), x.to(kind).float())


def test_many_shapes() -> None:
    call, _ = both(lambda x: (x + 1).sum(0), torch.rand(2, 4), dynamic=True)
    for n in [*range(2, 14), *range(13, 1, -1), 2, 3, 2, 3]:
        x = torch.rand(n, 4)
        assert torch.allclose(call(x), (x + 1).sum(0))


def test_checks_of_indices_stay() -> None:
    call, _ = both(lambda x, i: x[i], torch.rand(5), torch.tensor([1, 2]))
    for _ in range(3):
        assert call(torch.arange(5.0), torch.tensor([4, 0])).tolist() == [4, 0]
        with pytest.raises(IndexError):
            call(torch.rand(5), torch.tensor([1, 5]))


def test_threads_share_nothing() -> None:
    model = layer()
    _, run = both(model, torch.rand(2, 4))
    wrong: list[Any] = []

    def work(seed: int) -> None:
        with torch.no_grad():
            for i in range(200):
                x = torch.full((2, 4), float(seed + i))
                if not torch.allclose(run(model.weight, x), model(x), rtol=1e-4):
                    wrong.append(seed)

    threads = [Thread(target=work, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_no_call_is_checked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unchanged weights and tensors of known shapes go by address; other weights are checked once."""
    from relex.frontend.torch.tensor_calls import TensorCalls

    checked: list[int] = []
    plain = TensorCalls.checked

    def counted(calls: Any, inputs: Any) -> Any:
        checked.append(1)
        return plain(calls, inputs)

    monkeypatch.setattr(TensorCalls, "checked", counted)
    model = layer()
    call, _ = both(model, torch.rand(2, 4))
    for _ in range(3):
        call(torch.rand(2, 4))
    assert len(checked) == 1
    model.weight.data = torch.rand(3, 4)
    for _ in range(3):
        call(torch.rand(2, 4))
    assert len(checked) == 2
