"""Complex numbers inside of models, and Fourier transforms, by `torch.export` and by `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from compiling import compiled, compiled_alone, messages

import relex
from relex.dialects.errors import CompileError
from relex.frontend.torch import from_exported

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
nn: Any = torch.nn
fft: Any = torch.fft
tree: Any = torch.utils._pytree
pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


def forward(x: Any) -> Any:
    whole = fft.fft(x)
    return fft.rfft(x).abs(), whole.real * 1, whole.imag * 1, fft.fft(x, dim=0).abs(), fft.rfft(x.double(), n=7).abs()


def several(x: Any) -> Any:
    return torch.view_as_real(fft.rfft2(x)), fft.fftshift(fft.fft2(x, norm="ortho")).abs()


def inverse(x: Any) -> Any:
    half = fft.rfft(x, n=20, norm="ortho")
    return fft.irfft(half, n=15), fft.ifft(fft.fft(x, norm="forward")).real + 0, fft.irfft2(fft.rfft2(x), s=x.shape)


def hermitian(x: Any) -> Any:
    return fft.hfft(fft.ihfft(x)), fft.ifftn(fft.fftn(x), norm="forward").real + 1


def spectrogram(x: Any) -> Any:
    window = torch.hann_window(8)
    frames = torch.stft(x, 8, 4, window=window, return_complex=True)
    return frames.abs().pow(2), torch.istft(frames * 2, 8, 4, window=window)


def products(x: Any) -> Any:
    a, b = fft.rfft(x), fft.rfft(x.flip(-1))
    return fft.irfft(a * b), fft.irfft(a * b.conj() / 3), (a * 1j + 2).real + 1, (a - x[:, :9]).abs()


def arranged(x: Any) -> Any:
    a = fft.rfft(x)
    joined = torch.cat([a, a[:, :3].transpose(0, 1).reshape(2, 3)], 1)
    return joined.abs(), a.sum(1).abs(), torch.where(x[:, :9] > 0, a, 0.5).abs()


def turned(x: Any) -> Any:
    pairs = torch.view_as_complex(x.view(2, 8, 2))
    turns = torch.polar(torch.ones(8), torch.arange(8.0))
    return torch.view_as_real(pairs * turns).flatten(1), torch.complex(x, x + 1).abs()


FUNCTIONS = [forward, several, inverse, hermitian, spectrogram, products, arranged, turned]


class Model(nn.Module):
    def __init__(self, function: Callable[[Any], Any]):
        nn.Module.__init__(self)
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.sampled
@pytest.mark.parametrize("of", ["export", "compile"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_transforms_and_arithmetic(function: Callable[[Any], Any], of: str) -> None:
    inputs = [torch.randn(2, 16), torch.full((2, 16), 1e25), torch.zeros(2, 16)]
    if of == "export":
        fast = relex.build(from_exported(torch.export.export(Model(function), (inputs[0],))))["main"]
    else:
        fast = compiled_alone(function, fullgraph=True)
    for x in inputs if function in (forward, turned) else inputs[::2]:
        for found, wanted in zip(tree.tree_leaves(fast(x)), tree.tree_leaves(function(x)), strict=True):
            error = 2e-6 * max(float(x.abs().max()), 1)
            torch.testing.assert_close(torch.as_tensor(found), wanted, rtol=1e-5, atol=error)


def test_long_transforms_and_dynamic_rows() -> None:
    def long(x: Any) -> Any:
        return fft.rfft(x, n=480).abs()

    program = torch.export.export(Model(long), (torch.randn(3, 480),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    main = relex.build(from_exported(program))["main"]
    for rows in (2, 5):
        x = torch.randn(rows, 480)
        torch.testing.assert_close(torch.as_tensor(main(x)), long(x), rtol=1e-4, atol=1e-4)


def test_dynamic_lengths() -> None:
    def transforms(x: Any) -> Any:
        halves = [fft.rfft(x, norm=norm) for norm in ("backward", "ortho", "forward")]
        whole = fft.irfft(halves[0], n=x.shape[-1])
        return [*(half.abs() for half in halves), fft.rfft(x, dim=1).imag, whole, halves[1].real]

    fast = compiled_alone(transforms, dynamic=True, fullgraph=True)
    for shape in ((2, 3, 50), (1, 4, 64), (2, 7, 9)):
        x = torch.randn(shape)
        for found, wanted in zip(fast(x), transforms(x), strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [8, 9, 12])
def test_angles_of_what_is_real_are_those_of_its_sign(count: int) -> None:
    def angles(x: Any) -> Any:
        return fft.rfft(x).angle(), fft.rfft(x).imag * 1

    x = torch.randn(50, count)
    found, wanted = compiled_alone(angles)(x), angles(x)
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-5, atol=1e-3)
    assert (found[1][:, 0] == 0).all()
    assert count % 2 or (found[1][:, -1] == 0).all()


def test_weights_that_are_complex() -> None:
    class Filter(nn.Module):
        def __init__(self) -> None:
            nn.Module.__init__(self)
            self.weight = nn.Parameter(torch.randn(9, dtype=torch.complex64))

        def forward(self, x: Any) -> Any:
            return fft.irfft(fft.rfft(x) * self.weight)

    model, x = Filter(), torch.randn(2, 16)
    main = relex.build(from_exported(torch.export.export(model, (x,))))["main"]
    torch.testing.assert_close(torch.as_tensor(main(x)), model(x).detach(), rtol=1e-5, atol=1e-5)


def test_complex_arguments_and_results_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    x = torch.randn(2, 16)
    with pytest.raises(CompileError, match=r"complex numbers as a result; torch\.view_as_real makes"):
        from_exported(torch.export.export(Model(fft.rfft), (x,)))
    with pytest.raises(CompileError, match="elements of type complex64"):
        from_exported(torch.export.export(Model(torch.abs), (x.to(torch.complex64),)))
    with pytest.raises(CompileError, match="an operator of complex numbers"):
        from_exported(torch.export.export(Model(lambda x: fft.rfft(x).exp().abs()), (x,)))
    assert torch.equal(compiled(fft.rfft)(x), fft.rfft(x))
    assert "complex numbers as a result" in messages(caplog)[0]
