"""Checks that PyTorch makes while a model runs: of indices, and assertions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from compiling import compiled

import relex
from relex.dialects.errors import AssertionFailedError, IndexRangeError, RelexError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
asserting: Any = import_module("asserting")
nn: Any = torch.nn
F: Any = nn.functional
pytestmark = [
    pytest.mark.usefixtures("fresh", "all_by_relex"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def exported(function: Callable[..., Any], *arguments: Any, sizes: Any = None) -> Any:
    class Model(nn.Module):
        def forward(self, *given: Any) -> Any:
            return function(*given)

    program = torch.export.export(Model().eval(), arguments, dynamic_shapes=sizes)
    return relex.build(from_exported(program))["main"]


ONE = torch.ones(1, 2)
INDEXED: dict[str, Callable[[Any, Any], Any]] = {
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding_bag": lambda x, i: F.embedding_bag(i, x, torch.tensor([0])),
    "gather": lambda x, i: x.gather(0, i[None]),
    "index": lambda x, i: x[i],
    "index of two": lambda x, i: x[i, i],
    "index of the last": lambda x, i: x[:, i],
    "index_add": lambda x, i: x.index_add(0, i, ONE),
    "index_copy": lambda x, i: x.index_copy(0, i, ONE),
    "index_fill": lambda x, i: x.index_fill(0, i, 9.0),
    "index_put": lambda x, i: x.index_put((i,), ONE[0, 0]),
    "index_select": lambda x, i: x.index_select(0, i),
    "nll_loss": lambda x, i: F.nll_loss(x[:1], i),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "put": lambda x, i: x.put(i, ONE[0, :1]),
    "scatter": lambda x, i: x.scatter(0, i[None], 1.0),
    "scatter_add": lambda x, i: x.scatter_add(0, i[None], ONE),
    "scatter_reduce": lambda x, i: x.scatter_reduce(0, i[None], ONE, "amax"),
    "take": lambda x, i: x.take(i),
    "take_along_dim": lambda x, i: x.take_along_dim(i[None], 0),
}
VALUES = [0, 1, 2, -1, -2, 3, -3, -4, 5, 6, -6, -7, 2**31, 2**32 + 1, 2**63 - 1, -(2**63)]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call, or the kind of its error."""
    try:
        return torch.as_tensor(function(*arguments)).tolist()
    except (IndexError, RuntimeError):
        return "an error"


@pytest.mark.sampled(diagonals=2)
@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("front", ["fixed", "dynamic", "exported"])
def test_indices_are_refused_where_torch_refuses_them(name: str, front: str) -> None:
    function = INDEXED[name]
    x = torch.arange(6.0).reshape(3, 2)
    exports = front == "exported"
    model = exported(function, x, torch.tensor([0])) if exports else compiled(function, dynamic=front == "dynamic")
    for value in VALUES:
        i = torch.tensor([value])
        expected = outcome(function, x, i)
        assert outcome(model, x, i) == expected, value


def test_an_error_names_the_operator_and_the_index() -> None:
    x = torch.arange(6.0).reshape(3, 2)
    with pytest.raises(IndexRangeError, match=r"^'aten.embedding': expected indices from 0 to 2, found 7$"):
        compiled(INDEXED["embedding"])(x, torch.tensor([[0, 1], [7, 2]]))
    model = nn.Sequential(nn.Embedding(5, 3)).eval()
    run = relex.build(from_exported(torch.export.export(model, (torch.tensor([0, 1]),))))["main"]
    with pytest.raises(IndexError, match=r"^0: 'aten.embedding': expected indices from 0 to 4, found -1$"):
        run(torch.tensor([0, -1]))


def test_sizes_that_are_open() -> None:
    length, rows = torch.export.Dim("length", min=0), torch.export.Dim("rows")
    run = exported(INDEXED["index"], torch.ones(4, 2), torch.tensor([0, 1, 1]), sizes=(({0: rows}, {0: length}),))
    x = torch.arange(10.0).reshape(5, 2)
    assert run(x, torch.tensor([4, -5])).tolist() == [[8, 9], [0, 1]]
    assert run(x, torch.zeros(0, dtype=torch.int64)).shape == (0, 2)
    assert run(x[:1], torch.tensor([0, -1])).tolist() == [[0, 1], [0, 1]]
    for rows, wrong in ((5, 5), (5, -6), (1, 1)):
        with pytest.raises(IndexRangeError, match=rf"expected indices from -rows to rows - 1, found {wrong}$"):
            run(x[:rows], torch.tensor([0, wrong]))


def test_an_index_is_checked_once() -> None:
    class Model(nn.Module):
        def forward(self, x: Any, y: Any, i: Any) -> Any:
            return F.embedding(i, x) + F.embedding(i, y)

    program = torch.export.export(Model(), (torch.ones(3, 2), torch.ones(3, 2), torch.tensor([0])))
    assert str(from_exported(program)).count("relex.assert") == 1


def test_unchecked_indices_are_clipped() -> None:
    unchecked = compiled(INDEXED["embedding"], options={"check_indices": False})
    assert unchecked(torch.arange(6.0).reshape(3, 2), torch.tensor([7, 0])).tolist() == [[4, 5], [0, 1]]


def test_an_unknown_option() -> None:
    from relex.frontend.torch.dynamo import relex

    with pytest.raises(RelexError, match="expected the options 'freeze' and 'check_indices', found check"):
        relex(None, [], options={"check": False})


RIGHT, NEGATIVE, NAN = torch.tensor([1.0, 2.0]), torch.tensor([2.0, -2.0]), torch.tensor([1.0, float("nan")])


@pytest.mark.parametrize(
    ("function", "wrong", "message"),
    [
        (asserting.positive, NEGATIVE, "expected positive numbers"),
        (asserting.finite, NAN, "assertion error"),
        (asserting.asynchronous, NEGATIVE, "expected a number other than zero"),
        (asserting.of_a_number, NEGATIVE, "expected a sum other than zero"),
    ],
)
def test_assertions(function: Callable[[Any], Any], wrong: Any, message: str) -> None:
    model = compiled(function)
    assert model(RIGHT).tolist() == function(RIGHT).tolist()
    with pytest.raises(AssertionFailedError, match=f"'aten._assert_async': {message}"):
        model(wrong)
    assert model(RIGHT).tolist() == function(RIGHT).tolist()


def test_an_assertion_of_an_exported_program() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return asserting.positive(x)

    program = torch.export.export(Model(), (RIGHT,), strict=True)
    run = relex.build(from_exported(program))["main"]
    assert run(RIGHT).tolist() == asserting.positive(RIGHT).tolist()
    with pytest.raises(AssertionFailedError, match="expected positive numbers"):
        run(NEGATIVE)
