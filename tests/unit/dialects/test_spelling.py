"""Names that are misspelled, and what is suggested."""

import pytest

from relex.dialects import CompileError, parse_module
from relex.dialects.spelling import similar_name


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("canonicalise", ["canonicalize", "cse"], "canonicalize"),
        ("fro", ["for", "if"], "for"),
        ("inline", ["inline-snrt", "infer-sizes"], "inline-snrt"),
        ("loop-invariant-code-motion", ["print-completion", "licm"], None),
        ("show-dialects", ["shapes", "values"], None),
        ("conv2d", ["cond_if", "concat"], None),
        ("int-range-optimizations", ["interchange-loops"], None),
        ("mlir-foo", ["mlir-opt"], None),
        ("use-color", ["fuse-tir"], None),
        ("tail-predication", ["test-deprecation"], None),
        ("function-prefix", ["func-to-pdl-rewrite"], None),
        ("fold-constant", ["fold-constants"], "fold-constants"),
        ("normalize-memrefs", ["finalize-memref-to-llvm"], "finalize-memref-to-llvm"),
        ("print-value-users", ["print-between-passes"], None),
        ("lower-tensor", ["lower-hls"], None),
        ("test-foo-pass", ["time-passes"], None),
        ("x", [], None),
        ("", ["a"], None),
    ],
)
def test_similar_names(name: str, known: list[str], expected: str | None):
    assert similar_name(name, known) == expected


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("relex.rellu", "; did you mean 'relex.relu'?"),
        ("relx.relu", "; did you mean 'relex.relu'?"),
        ("tir.blok", "; did you mean 'tir.block'?"),
        ("scf.fro", "; did you mean 'scf.for'?"),
        ("arith.adf", "; did you mean 'arith.addf'?"),
        ("relex.xyzzy", ""),
        ("foo.bar", ""),
        ("rellu", ""),
    ],
)
def test_unknown_ops(name: str, hint: str):
    with pytest.raises(CompileError) as caught:
        parse_module(f'"{name}"() : () -> ()')
    assert caught.value.diagnostics[0].message == f"operation {name} is not registered{hint}"
