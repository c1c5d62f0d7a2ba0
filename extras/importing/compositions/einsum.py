"""Sums of products in Einstein's notation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relex.dialects.sizes import count
from relex.frontend import op
from relex.frontend.graph_expressions import Operand
from relex.frontend.importing.import_node import ImportedNode
from relex.frontend.importing.values import Known, Tensor, refuse


def einsum(site: ImportedNode, equation: str, tensors: Sequence[Tensor]) -> Operand:
    """The sum of products in Einstein's notation: one factor after another, each by one matrix product."""
    terms, result = _parse(site, equation.replace(" ", ""), tensors)
    parts = [_without_repeats(site, x, term) for x, term in zip(tensors, terms, strict=True)]
    x, labels = parts[0]
    for i, (y, others) in enumerate(parts[1:], 2):
        later = set(result).union(*(term for _, term in parts[i:]))
        x, labels = _product(site, x, labels, y, others, later)
    summed = [i for i, label in enumerate(labels) if label not in result]
    if summed:
        x, labels = op.sum(x, summed), [label for label in labels if label in result]
    return op.permute_dims(x, [labels.index(label) for label in result]) if labels else x


def _parse(site: ImportedNode, equation: str, tensors: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    """Return the labels of each factor and of the result. An ellipsis stands for labels that are numbers."""
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(tensors):
        refuse(f"expected {len(texts)} inputs, found {len(tensors)}", "equation")
    hidden = [site.rank(x) - len(text.replace("...", "")) for x, text in zip(tensors, texts, strict=True)]
    most = max((n for n, text in zip(hidden, texts, strict=True) if "..." in text), default=0)

    def labels(text: str, ellipsis: int) -> list[str]:
        before, dots, after = text.partition("...")
        return [*before, *(str(i) for i in range(most - ellipsis, most) if dots), *after]

    terms = [labels(text, n) for text, n in zip(texts, hidden, strict=True)]
    if any(len(term) != site.rank(x) for term, x in zip(terms, tensors, strict=True)):
        refuse("expected a label for each dimension", "equation")
    if arrow:
        return terms, labels(right, most)
    letters = [label for term in terms for label in term]
    once = sorted(label for label in set(letters) if letters.count(label) == 1 and not label.isdigit())
    return terms, [*map(str, range(most)), *once]


def _without_repeats(site: ImportedNode, x: Operand, labels: list[str]) -> tuple[Operand, list[str]]:
    """Return the diagonal of dimensions with the same label."""
    while len(set(labels)) < len(labels):
        first = next(i for i, label in enumerate(labels) if labels.count(label) > 1)
        second = labels.index(labels[first], first + 1)
        others = [i for i in range(len(labels)) if i not in (first, second)]
        x = op.permute_dims(x, [*others, first, second])
        *sizes, n, m = site.static_shape(x)
        if n != m:
            refuse(f"expected equal sizes on a diagonal, found {n} and {m}", "equation")
        flat = site.reshape(x, [*sizes, n * n])
        x = op.take(flat, Known(np.arange(n) * (n + 1)), len(sizes))
        labels = [*(labels[i] for i in others), labels[first]]
    return x, labels


def _product(
    site: ImportedNode, x: Operand, left: list[str], y: Operand, right: list[str], kept: set[str]
) -> tuple[Operand, list[str]]:
    """Multiply two factors: sum over the labels that nothing later needs, by a product of matrices."""
    shared = [label for label in left if label in right]
    batch = [label for label in shared if label in kept]
    inner = [label for label in shared if label not in kept]
    rows, columns = ([label for label in labels if label not in shared] for labels in (left, right))
    a = op.permute_dims(x, [left.index(label) for label in (*batch, *rows, *inner)])
    b = op.permute_dims(y, [right.index(label) for label in (*batch, *inner, *columns)])
    shape_a, shape_b = site.shape(a), site.shape(b)
    n, m = len(batch), len(rows)
    sizes_batch = [s if s != 1 else t for s, t in zip(shape_a[:n], shape_b[:n], strict=True)]
    sizes_rows, sizes_columns = shape_a[n : n + m], shape_b[n + len(inner) :]
    summed = count(shape_a[n + m :])
    if count(shape_b[n : n + len(inner)]) != summed:
        refuse("expected equal sizes where labels are equal, found others", "equation")
    lhs = site.reshape(a, [*shape_a[:n], count(sizes_rows), summed])
    rhs = site.reshape(b, [*shape_b[:n], summed, count(sizes_columns)])
    result = site.reshape(op.matmul(lhs, rhs), [*sizes_batch, *sizes_rows, *sizes_columns])
    return result, [*batch, *rows, *columns]
