"""Ensembles of decision trees, `ai.onnx.ml`, as gradient boosting and random forests are written.

All trees are walked at once, a level at a time: each row of the data has a node of each tree, and the next ones follow
from tables of features, thresholds and children. A leaf is its own child.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32

from relex.dialects.arrays import Array
from relex.dialects.errors import CompileWarning, Diagnostic
from relex.dialects.sizes import IndexExpr
from relex.frontend import op
from relex.frontend.onnx import Known, OnnxNode, Operand, Tensor, imports, refuse
from relex.frontend.onnx.operators.learning import ML, both_scores, classes, classified, transformed
from relex.frontend.onnx.operators.shapes import MOST

LEAF, MEMBER = "LEAF", "BRANCH_MEMBER"

COMPARISONS: dict[str, Callable[..., Operand]] = {
    "BRANCH_LEQ": op.less_equal,
    "BRANCH_LT": op.less,
    "BRANCH_GTE": op.greater_equal,
    "BRANCH_GT": op.greater,
    "BRANCH_EQ": op.equal,
    "BRANCH_NEQ": op.not_equal,
}
"""The comparisons of a feature with a threshold; the standard numbers them in this order, and then membership."""

AGGREGATIONS = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Forest:
    """The nodes of all trees, and what each leaf votes for each target; 0, or nothing, for other nodes."""

    modes: Array
    feature: Array
    threshold: Array
    yes: Array
    no: Array
    missing: Array
    """Whether NaN takes the branch of a true comparison."""
    roots: Array
    votes: Array

    def depth(self) -> int:
        """Return the number of comparisons at most from a root to a leaf."""
        level, depth = self.roots, 0
        while len(level := level[self.modes[level] != LEAF]):
            level = np.unique(np.concatenate([self.yes[level], self.no[level]]))
            depth += 1
            if depth > len(self.modes):
                refuse("expected trees, found a node that is below itself")
        return depth

    def leaves(self, node: OnnxNode, x: Operand) -> Operand:
        """Return the node that each row of the data ends in, for each tree."""
        place: Operand = Known(self.roots)
        for level in range(self.depth()):
            feature = self._at(self.feature, place)
            number = op.gather_elements(x, feature, 1) if level else op.take(x, feature, 1)
            place = op.where(self._holds(node, number, place), self._at(self.yes, place), self._at(self.no, place))
        return place

    def _holds(self, node: OnnxNode, number: Operand, place: Operand) -> Operand:
        threshold = self._at(node.like(self.threshold, number).array, place)
        kinds = [kind for kind in COMPARISONS if (self.modes == kind).any()]
        holds = COMPARISONS[kinds[0]](number, threshold)
        for kind in kinds[1:]:
            holds = op.where(self._at(self.modes == kind, place), COMPARISONS[kind](number, threshold), holds)
        if self.missing.any():
            holds = op.logical_or(holds, op.logical_and(op.isnan(number), self._at(self.missing, place)))
        return holds

    @staticmethod
    def _at(table: Array, place: Operand) -> Operand:
        return op.take(Known(table), place, 0)


def _scores(node: OnnxNode, x: Tensor, forest: Forest, aggregation: str) -> Operand:
    """Return the votes of all trees for each target, of each row of the data."""
    rows, features = node.shape(x)
    if not isinstance(features, IndexExpr) and forest.feature.max(initial=0) >= features:
        refuse(f"expected {forest.feature.max() + 1} features, found {features}")
    data = x if node.is_float(x) else op.astype(x, f32)
    leaves = forest.leaves(node, data)
    votes = op.take(node.like(forest.votes, data), leaves, 0)
    axis = node.rank(votes) - 2
    reduce: Callable[..., Operand] = {"MIN": op.min, "MAX": op.max}.get(aggregation, op.sum)
    total = reduce(votes, axis)
    if aggregation == "AVERAGE":
        total = op.multiply(total, node.like(1 / len(forest.roots), data))
    return total if axis else node.broadcast_to(total, [rows, forest.votes.shape[1]])


def _votes(aggregation: str, shape: tuple[int, int], places: Any, targets: Any, weights: Array) -> Array:
    """Return a table of the votes of each node for each target."""
    if shape[0] * shape[1] > MOST:
        refuse(f"{shape[0]} nodes with votes for {shape[1]} targets")
    limits = np.finfo(weights.dtype)
    table = np.full(shape, {"MIN": limits.max, "MAX": limits.min}.get(aggregation, 0), weights.dtype)
    join: Any = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregation, np.add)
    join.at(table, (places, targets), weights)
    return table


def _numbers(node: OnnxNode, name: str) -> Array:
    """Return an attribute that is a list of floats, or a tensor of doubles under another name."""
    tensor = node.array(f"{name}_as_tensor")
    return np.array(node.numbers(name) or [], np.float32) if tensor is None else tensor


def _read(node: OnnxNode, kind: str, targets: int, aggregation: str, *, counts: bool = False) -> Forest:
    """Return the forest of a node whose trees have numbered nodes, with votes in attributes that begin with `kind`. The
    forest that `counts` votes has a vote of 1 in place of each."""
    trees, ids = (_integers(node, name) for name in ("nodes_treeids", "nodes_nodeids"))
    modes = np.array(node.texts("nodes_modes"))
    if unknown := set(np.unique(modes).tolist()) - {LEAF, *COMPARISONS}:
        refuse(f"expected comparisons among {', '.join(COMPARISONS)}, found {', '.join(unknown)}", "nodes_modes")
    places = _Places(trees, ids)
    leaves = modes == LEAF

    def children(name: str) -> Array:
        return places.of(trees, np.where(leaves, ids, _integers(node, name)), name)

    of_voter, weights = f"{kind}_nodeids", _numbers(node, f"{kind}_weights")
    return Forest(
        modes,
        _integers(node, "nodes_featureids"),
        _numbers(node, "nodes_values"),
        children("nodes_truenodeids"),
        children("nodes_falsenodeids"),
        np.array(node.integers("nodes_missing_value_tracks_true") or [0] * len(modes), bool),
        np.sort(np.unique(trees, return_index=True)[1]),
        _votes(
            aggregation,
            (len(modes), targets),
            places.of(_integers(node, f"{kind}_treeids"), _integers(node, of_voter), of_voter),
            _integers(node, f"{kind}_ids"),
            np.ones_like(weights) if counts else weights,
        ),
    )


def _integers(node: OnnxNode, name: str) -> Array:
    return np.array(node.attribute(name) or [], np.int64)


class _Places:
    """The places in a table of nodes that are known by the numbers of their trees, and their own: there may be
    millions."""

    def __init__(self, trees: Array, ids: Array):
        self._width = int(ids.max(initial=0)) + 1
        keys = trees * self._width + ids
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def of(self, trees: Array, ids: Array, name: str) -> Array:
        """Return the places of nodes, which an attribute names."""
        keys = trees * self._width + ids
        found = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        wrong = (self._sorted[found] != keys) | (ids < 0) | (ids >= self._width)
        if wrong.any():
            refuse(f"expected nodes of the trees, found {ids[wrong][0]}", name)
        return self._order[found]


@imports("ZipMap", domain=ML)
def zip_map(node: OnnxNode, x: Tensor) -> Operand:
    """The tensor itself, in place of a sequence that maps the names of classes to the numbers of each row."""
    message = f"{node.title}: the result is the tensor of numbers for all classes, not a sequence of maps"
    warnings.warn(CompileWarning(Diagnostic(message, node.builder.file)), stacklevel=2)
    return x


@imports("TreeEnsembleRegressor", domain=ML)
def regressor(node: OnnxNode, x: Tensor) -> Operand:
    """The votes of trees for each target."""
    aggregation, targets = node.text("aggregate_function", "SUM"), node.integer("n_targets", 1)
    forest, base = _read(node, "target", targets, aggregation), _numbers(node, "base_values")
    if len(base) not in (0, targets):
        refuse(f"expected a number for each of {targets} targets, found {len(base)}", "base_values")
    scores = _scores(node, x, forest, aggregation)
    return transformed(node, op.add(scores, node.like(base, scores)) if len(base) else scores)


@imports("TreeEnsembleClassifier", domain=ML)
def classifier(node: OnnxNode, x: Tensor) -> list[Operand]:
    """The class with the most votes, and the votes for all classes."""
    labels = classes(node, "classlabels_int64s")
    chosen, base = sorted(set(node.integers("class_ids") or [])), _numbers(node, "base_values")
    if len(labels) < 2:
        refuse(f"expected 2 classes or more, found {len(labels)}", "classlabels_int64s")
    if len(base) not in ((0, 1, 2) if len(labels) == 2 else (0, len(labels))):
        refuse(f"expected a number for each of {len(labels)} classes, found {len(base)}", "base_values")
    forest = _read(node, "class", len(labels), "SUM")
    scores = _scores(node, x, forest, "SUM")
    if len(labels) == 2 and len(chosen) == 1:
        return _of_two(node, scores, chosen[0], base, labels, is_probability=bool((forest.votes >= 0).all()))
    if len(base):
        return classified(node, op.add(scores, node.like(base, scores)), labels)
    label, results = classified(node, scores, labels)
    has_votes = _has_votes(node, x, forest) if len(labels) > 2 else None
    if has_votes is not None:
        (label, _) = classified(node, op.where(has_votes, scores, node.like(-np.inf, scores)), labels)
    return [label, results]


def _has_votes(node: OnnxNode, x: Tensor, forest: Forest) -> Operand | None:
    """Return for which classes each row of the data has votes, if only of 0: no other class is chosen. None if each
    class has votes in all leaves of some tree."""
    counts = _read(node, "class", forest.votes.shape[1], "SUM", counts=True)
    (leaves,) = np.nonzero(forest.modes == LEAF)
    trees = np.unique(_integers(node, "nodes_treeids")[leaves], return_inverse=True)[1]
    silent = np.zeros((len(forest.roots), forest.votes.shape[1]), np.int64)
    np.add.at(silent, trees, counts.votes[leaves] == 0)
    return None if (silent == 0).any(0).all() else op.greater(_scores(node, x, counts, "SUM"), 0.0)


def _of_two(
    node: OnnxNode, scores: Operand, chosen: int, base: Array, labels: Sequence[int], *, is_probability: bool
) -> list[Operand]:
    """
    Return the class, and the scores of both classes, if there are votes for one of them: a probability, or a number
    that is positive for the second class. As ONNX Runtime has it:

    * Votes for the first class, with one number to add to them or none, are for the second class; the first one has
      what is left of 1, or the negative score.
    * Otherwise the other class has the score 0. Numbers for both classes take the place of votes for the second one.
    """
    score = op.strided_slice(scores, [1], [chosen], [chosen + 1])
    if chosen and len(base) == 2:
        score = op.add(op.multiply(score, 0.0), node.like(base[1:], score))
    elif not chosen and len(base):
        score = op.add(score, node.like(base[:1], score))
    second = op.squeeze(op.greater(score, node.like(0.5 if is_probability else 0, score)), 1)
    label = op.where(second, *(Known(np.array(label)) for label in reversed(labels)))
    if not chosen and len(base) < 2:
        name = node.text("post_transform", "NONE")
        return [label, both_scores(score, name, has_sign=name == "LOGISTIC" or not is_probability)]
    zero = op.multiply(score, 0.0)
    return [label, transformed(node, op.concat(*((zero, score) if chosen else (score, zero)), axis=1))]


@imports("TreeEnsemble", domain=ML, since=5)
def ensemble(node: OnnxNode, x: Tensor) -> Operand:
    """The votes of trees for each target. Leaves are listed apart."""
    aggregation = AGGREGATIONS[node.integer("aggregate_function", 1)]
    weights = _array(node, "leaf_weights")
    table = _with_leaves(node, len(weights))
    nodes = {name: np.array(column) for name, column in table.items()}
    first = len(node.integers("nodes_featureids") or [])
    targets = node.integers("leaf_targetids") or []
    shape = len(table["modes"]), node.integer("n_targets", max(targets, default=0) + 1)
    votes = _votes(aggregation, shape, np.arange(first, first + len(weights)), targets, weights)
    forest = Forest(**nodes, roots=np.array(node.integers("tree_roots"), np.int64), votes=votes)
    transforms = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
    return transformed(node, _scores(node, x, forest, aggregation), transforms[node.integer("post_transform")])


def _array(node: OnnxNode, name: str) -> Array:
    found = node.array(name)
    return refuse("expected a tensor, found none", name) if found is None else found


def _with_leaves(node: OnnxNode, leaves: int) -> dict[str, list[Any]]:
    """Return the columns of a table of nodes, in which leaves come after the others."""
    features = node.integers("nodes_featureids") or []
    inner, names = len(features), [*COMPARISONS, MEMBER]

    def children(which: str) -> list[int]:
        ids, are_leaves = (node.integers(f"nodes_{which}{of}") or [] for of in ("nodeids", "leafs"))
        return [child + inner * bool(is_leaf) for child, is_leaf in zip(ids, are_leaves, strict=True)]

    table: dict[str, list[Any]] = {
        "modes": [*(names[kind] for kind in _array(node, "nodes_modes")), *[LEAF] * leaves],
        "feature": [*features, *[0] * leaves],
        "threshold": [*_array(node, "nodes_splits").tolist(), *[0.0] * leaves],
        "yes": [*children("true"), *range(inner, inner + leaves)],
        "no": [*children("false"), *range(inner, inner + leaves)],
        "missing": [*map(bool, node.integers("nodes_missing_value_tracks_true") or [0] * inner), *[False] * leaves],
    }
    _expand_members(table, node.array("membership_values"))
    return table


def _expand_members(table: dict[str, list[Any]], members: Array | None) -> None:
    """Replace each node that asks for one of several numbers by nodes that compare with one each."""
    numbers = iter([] if members is None else members.tolist())
    for i in [i for i, mode in enumerate(table["modes"]) if mode == MEMBER]:
        chosen: list[float] = []
        while (number := next(numbers, nan)) == number:
            chosen.append(number)
        # Of no numbers, it is none: NaN equals nothing.
        table["modes"][i], table["threshold"][i] = "BRANCH_EQ", chosen[0] if chosen else nan
        last = i
        for number in chosen[1:]:
            new = len(table["modes"])
            for name, entry in {"modes": "BRANCH_EQ", "threshold": number, "missing": False}.items():
                table[name].append(entry)
            for name in ("feature", "yes"):
                table[name].append(table[name][i])
            table["no"].append(table["no"][last])
            table["no"][last] = last = new
