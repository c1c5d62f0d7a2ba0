"""`from_exported`: names, weights, sizes, places, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from relex.dialects.errors import CompileError, RelexError, locate
from relex.frontend import op
from relex.frontend.torch import from_exported, imports
from relex.frontend.torch.import_table import IMPORTS
from relex.frontend.torch.reading import read_exported
from relex.reference import interpret
from relex.runtime import build

if TYPE_CHECKING:
    from relex.frontend.torch import TorchNode

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


def model_of(forward: Callable[..., Any], **parts: Any) -> Any:
    """Return a model in eval mode of a function and modules, parameters or tensors."""

    class Model(nn.Module):
        def forward(self, *args: Any) -> Any:
            return forward(self, *args)

    model: Any = Model()
    for name, part in parts.items():
        if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
            model.register_buffer(name, part)
        else:
            setattr(model, name, part)
    return model.eval()


def exported(forward: Callable[..., Any], *inputs: Any, dynamic: Any = None, **parts: Any) -> Any:
    return torch.export.export(model_of(forward, **parts), inputs, dynamic_shapes=dynamic)


def linear(self: Any, x: Any) -> Any:
    return self.layer(x)


def test_weights_are_constants_or_arguments() -> None:
    layer = nn.Linear(3, 2)
    program = exported(linear, torch.ones(4, 3), layer=layer)
    x = np.ones((4, 3), np.float32)
    wanted = layer(torch.ones(4, 3)).detach().numpy()
    assert np.allclose(interpret(from_exported(program))["main"](x), wanted)
    weights = {name: tensor.detach().numpy() for name, tensor in program.state_dict.items()}
    open_weights = interpret(from_exported(program, weights_as_arguments=True))["main"]
    assert np.allclose(open_weights(x, **{name: np.zeros_like(w) for name, w in weights.items()}), 0)
    assert np.allclose(open_weights(x, **weights), wanted)


def test_arguments_have_the_names_of_the_model() -> None:
    class Named(nn.Module):
        def forward(self, image: Any, mask: Any) -> Any:
            return image * mask

    module = from_exported(torch.export.export(Named().eval(), (torch.ones(2), torch.ones(2))))
    assert "@main(%image: tensor<2xf32>, %mask: tensor<2xf32>)" in str(module)


def twice(self: Any, x: Any) -> Any:
    return x @ self.a @ self.b


def test_shared_weights_are_one_constant() -> None:
    weight = nn.Parameter(torch.ones(3, 3))
    program = exported(twice, torch.ones(2, 3), a=weight, b=weight)
    assert str(from_exported(program)).count("relex.constant") == 1


def fills(self: Any, x: Any) -> Any:
    rows = torch.full((x.shape[0], 2), 3.0)
    return torch.cat([rows, self.token.expand(x.shape[0], -1), x], 1), torch.arange(x.shape[0] * 2)


def test_open_sizes_have_the_names_of_dimensions() -> None:
    batch = torch.export.Dim("batch")
    program = exported(fills, torch.ones(4, 3), dynamic=(({0: batch},),), token=torch.arange(2.0)[None])
    module = from_exported(program)
    assert 'relex.dims = ["batch", ""]}' in str(module)
    main = build(module)["main"]
    for size in (1, 6):
        x = torch.rand(size, 3)
        for found, wanted in zip(main(x), fills(model_of(fills, token=torch.arange(2.0)[None]), x), strict=True):
            assert np.array_equal(found, wanted.numpy())


def test_shapes_close_sizes() -> None:
    program = exported(fills, torch.ones(4, 3), dynamic=(({0: torch.export.Dim("n")},),), token=torch.ones(1, 1))
    assert "tensor<5x3xf32>" in str(from_exported(program, shapes={"n": 5}))
    with pytest.raises(RelexError, match="'shapes' expected names among n, found m"):
        from_exported(program, shapes={"m": 5})


class Inner(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.linalg.eigvalsh(x[:2]) + torch.bernoulli(x[:2])


def noisy(self: Any, x: Any) -> Any:
    return self.stage(x), torch.randn(2)


def test_all_that_is_missing_is_reported_at_once() -> None:
    with pytest.raises(CompileError) as caught:
        from_exported(exported(noisy, torch.ones(4, 2), stage=nn.Sequential(nn.ReLU(), Inner())))
    lines = str(caught.value).splitlines()
    source = Path(__file__).read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "torch.linalg.eigvalsh(x[:2])" in text)
    place = f"{__file__}:{line}:1: error: stage.1: "
    assert any(text.startswith(f"{place}'aten._linalg_eigh.default': ") for text in lines)
    assert f"{place}'aten.bernoulli.default': random numbers; pass them as an argument" in lines
    assert lines[-1].endswith("'aten.randn.default': random numbers; pass them as an argument")


def test_locations_have_the_line_and_the_module() -> None:
    module = from_exported(exported(linear, torch.ones(1, 3), layer=nn.Sequential(nn.ReLU(), nn.ReLU())))
    relu = [found for found in module.walk() if found.name == "relex.relu"][1]
    place = locate(relu.location)
    assert place is not None
    assert place.filename.data == __file__
    assert str(relu.location).startswith('loc("layer.1"(')


def test_training_mode_is_refused_in_one_line() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout())
    with pytest.raises(CompileError, match=r"in training mode .*; expected model.eval\(\)") as caught:
        from_exported(torch.export.export(model, (torch.ones(2, 3),)))
    assert len(str(caught.value).splitlines()) == 1


def standardized(self: Any, x: Any) -> Any:
    rows = self.weight.reshape(1, 4, -1)
    weight = nn.functional.batch_norm(rows, None, None, training=True, momentum=0.0).reshape_as(self.weight)
    return nn.functional.conv2d(self.norm(x), weight)


def test_statistics_of_what_is_given_are_no_training() -> None:
    norm = nn.BatchNorm2d(3, track_running_stats=False)
    run = exported(standardized, torch.randn(2, 3, 5, 5), weight=torch.randn(4, 3, 2, 2), norm=norm)
    x = torch.randn(2, 3, 5, 5)
    np.testing.assert_allclose(build(from_exported(run))["main"](x), run.module()(x).detach().numpy(), 1e-5, 1e-5)


def counts(self: Any, x: Any) -> Any:
    self.calls.add_(1)
    return x + self.calls


def test_a_buffer_that_changes_is_an_argument() -> None:
    main = build(from_exported(exported(counts, torch.ones(2), calls=torch.zeros(1))))["main"]
    assert str(main.signature) == "main(args_0: 2 of f32, inout calls: 1 of f32) -> (result: 2 of f32)"


def test_models_and_other_things_are_refused() -> None:
    with pytest.raises(RelexError, match=r"expected a program, found a model; torch\.export\.export"):
        from_exported(nn.Linear(2, 2))
    with pytest.raises(RelexError, match=r"expected what torch\.export\.export returns"):
        from_exported(cast(Any, 3))


def test_integers_become_floats_as_in_torch() -> None:
    def mixed(self: Any, x: Any) -> Any:
        return x / 2, x + 0.5, (x > 1.5) & (x != 2), torch.sqrt(x), -x // 2, x % 3, x.float().mean().round()

    x = torch.arange(6)
    found = interpret(from_exported(exported(mixed, x)))["main"](x)
    for result, wanted in zip(found, mixed(None, x), strict=True):
        assert result.dtype == wanted.numpy().dtype
        assert np.allclose(result, wanted.numpy())


def test_negative_indices_and_slices() -> None:
    def indexed(self: Any, x: Any) -> Any:
        y = x.clone()
        y[:, 1] = 7
        y[0, 2:] += 1
        return x[-1], x[:, -2:], x[[0, -1]], x[[0, 1], [-1, 0]], y, x.flip(0), x.roll(1, 1), x[..., None, ::2]

    x = torch.rand(2, 5)
    for result, wanted in zip(interpret(from_exported(exported(indexed, x)))["main"](x), indexed(None, x), strict=True):
        assert np.allclose(result, wanted.numpy())


@pytest.mark.sampled
@pytest.mark.parametrize("places", ["nij", "nni", "inj", "ij", "nin"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_elements_put_at_indices(places: str, accumulate: bool) -> None:
    """`n` stands for a dimension without an index: `inj` is `x[i, :, j]`."""

    def put(self: Any, x: Any, i: Any, j: Any, values: Any) -> Any:
        return torch.ops.aten.index_put(x, [{"i": i, "j": j, "n": None}[place] for place in places], values, accumulate)

    x, i, j = torch.randn(4, 5, 6, 7), torch.tensor([[1], [-1]]), torch.tensor([[0, 2, 3]])
    chosen = x[tuple({"i": i, "j": j, "n": slice(None)}[place] for place in places)]
    for values in (torch.randn(chosen.shape), torch.randn(chosen.shape[-1:]), torch.tensor(2.0)):
        program = exported(put, x, i, j, values)
        found = interpret(from_exported(program))["main"](x, i, j, values)
        np.testing.assert_allclose(found, program.module()(x, i, j, values).numpy(), 1e-6)


def test_reflections_of_what_is_cut_off() -> None:
    def padded(self: Any, x: Any) -> Any:
        widths = [(-4, 4), (-1, 2), (2, -3), (-1, -1), (1, 2)]
        return tuple(torch.nn.functional.pad(x, pair, mode="reflect") for pair in widths)

    x = torch.rand(2, 5)
    for result, wanted in zip(interpret(from_exported(exported(padded, x)))["main"](x), padded(None, x), strict=True):
        assert np.allclose(result, wanted.numpy())


def test_half_precision() -> None:
    program = exported(linear, torch.ones(2, 3, dtype=torch.bfloat16), layer=nn.Linear(3, 2).to(torch.bfloat16))
    assert "tensor<2x3xbf16>" in str(from_exported(program))


def test_places_of_maxima_where_the_last_elements_are_in_no_window() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)

    def pool(self: Any, x: Any) -> Any:
        return nn.functional.max_pool2d(x, 1, 2, ceil_mode=True, return_indices=True)

    found = interpret(from_exported(exported(pool, x)))["main"](x.numpy())
    assert [result.tolist() for result in found] == [[[[[0, 2], [8, 10]]]]] * 2


def test_files(tmp_path: Path) -> None:
    layer = nn.Linear(3, 2)
    program = exported(linear, torch.ones(4, 3), dynamic=(({0: torch.export.Dim("n")},),), layer=layer)
    file = tmp_path / "model.pt2"
    torch.export.save(program, file)
    x = np.ones((2, 3), np.float32)
    wanted = layer(torch.ones(2, 3)).detach().numpy()
    assert np.allclose(build(file)["main"](x), wanted)
    assert str(from_exported(file)) == str(from_exported(str(file)))
    np.save(tmp_path / "x.npy", x)
    tools = Path(sys.executable).parent
    run = [str(tools / "relex-run"), "model.pt2", "--input", "x.npy", "--output", "y.npy"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    assert np.allclose(np.load(tmp_path / "y.npy"), wanted)
    (size,) = set(re.findall(r"s\d+", str(from_exported(file))))
    assert "tensor<?x3xf32>" not in str(read_exported(file.read_bytes(), shapes={size: 2}))
    with pytest.raises(RelexError, match=rf"expected a number for the size '{size}', found \(2, 3\)"):
        read_exported(file.read_bytes(), shapes={size: (2, 3)})
    (tmp_path / "wrong.pt2").write_bytes(b"no archive")
    with pytest.raises(CompileError, match=r"expected a program that torch\.export\.save has written"):
        build(tmp_path / "wrong.pt2")
    with pytest.raises(RelexError, match="cannot be read"):
        from_exported(tmp_path / "none.pt2")


def erfinv(self: Any, x: Any) -> Any:
    return torch.erfinv(x)


def test_the_table_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    maps: list[Any] = [{}, *IMPORTS.maps]
    monkeypatch.setattr(IMPORTS, "maps", maps)

    @imports("aten.erfinv")
    def doubled(node: TorchNode, x: Any) -> Any:
        assert node.rank(x) == 1
        return op.multiply(x, 2.0)

    assert doubled is IMPORTS["aten.erfinv"]
    module = from_exported(exported(erfinv, torch.ones(3)))
    assert interpret(module)["main"](np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_causal_mask_over_earlier_keys() -> None:
    """The diagonal of a mask is a dynamic size, the number of keys of earlier calls."""

    def masked(self: Any, queries: Any, keys: Any) -> Any:
        new, all_ = queries.size(0), keys.size(0)
        mask = torch.ones(new, all_, dtype=torch.bool).tril(all_ - new)
        return (queries @ keys.T).masked_fill(~mask, 0.0)

    queries, keys = torch.randn(2, 4), torch.randn(5, 4)
    program = exported(masked, queries, keys, dynamic=(({}, {0: torch.export.Dim("total", min=3)}),))
    found = interpret(from_exported(program))["main"](queries.numpy(), keys.numpy())
    assert np.allclose(found, masked(None, queries, keys).numpy(), atol=1e-6)


def test_resize_of_open_sizes() -> None:
    def larger(self: Any, x: Any) -> Any:
        y = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
        return nn.functional.interpolate(y, size=(2 * y.size(2), 2 * y.size(3)))

    x = torch.randn(2, 3, 3, 5)
    dims = {i: torch.export.Dim(name) for i, name in ((0, "batch"), (2, "height"), (3, "width"))}
    found = interpret(from_exported(exported(larger, x, dynamic=((dims,),))))["main"](x.numpy())
    assert np.allclose(found, larger(None, x).numpy(), atol=1e-6)


def test_quotients_of_floats_rounded() -> None:
    def rounded(self: Any, x: Any, y: Any) -> Any:
        return [torch.div(x, y, rounding_mode="floor"), torch.div(x, y, rounding_mode="trunc"), x // y, x // 2]

    x = torch.tensor([1.0, -1.0, 7.5, -7.5, 1.0, 0.0, -6.0])
    y = torch.tensor([0.1, 0.1, 2.0, 2.0, 0.0, 3.0, 3.0])
    found = interpret(from_exported(exported(rounded, x, y)))["main"](x.numpy(), y.numpy())
    for one, wanted in zip(found, rounded(None, x, y), strict=True):
        assert (one == wanted.numpy()).all()


def test_pools_and_views_beside_an_open_batch() -> None:
    """Only the sizes that an operator computes with must be known."""

    def pooled(self: Any, x: Any) -> Any:
        y = nn.functional.max_pool2d(x, 3, 2, ceil_mode=True)
        y = nn.functional.adaptive_avg_pool2d(y, 2)
        y[..., 0] = 1.0
        return y.reshape(x.size(0) * 3, 2, 2).reshape(x.size(0), -1)

    x = torch.randn(2, 3, 8, 8)
    found = interpret(from_exported(exported(pooled, x, dynamic=(({0: torch.export.Dim("batch")},),))))["main"](
        x.numpy()
    )
    assert np.allclose(found, pooled(None, x).numpy(), atol=1e-6)


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf"), 0.0, 3.0])
def test_distances_between_rows(order: float) -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        return torch.cdist(x, y, order)

    x, y = torch.randn(2, 1, 3, 4), torch.randn(5, 6, 4)
    main = interpret(from_exported(exported(forward, x, y)))["main"]
    assert np.allclose(main(x, y), torch.cdist(x, y, order), atol=1e-5)


def test_distances_between_open_numbers_of_rows() -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        return torch.cdist(x, y)

    n, m = torch.export.Dim("n", min=2, max=25), torch.export.Dim("m", min=2, max=25)
    x, y = torch.randn(3, 4), torch.randn(6, 4)
    program = exported(forward, x, y, dynamic={"args": ({0: n}, {0: m})})
    for e in (program, program.run_decompositions()):
        main = interpret(from_exported(e))["main"]
        for a, b in ((x, y), (y, x), (x[:1], x[:2])):
            assert np.allclose(main(a, b), torch.cdist(a, b), atol=1e-5)
