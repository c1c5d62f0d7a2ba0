"""Operators that compiled programs cannot have, with the reason."""

from __future__ import annotations

from typing import NoReturn

from relex.frontend.onnx.node import Node
from relex.frontend.onnx.table import IMPORTS, Import
from relex.frontend.onnx.values import refuse

REFUSED = {
    "random numbers": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "strings": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "images in files": "ImageDecoder",
    "results whose sizes depend on data": "NonMaxSuppression Unique",
}
"""Names of operators by the reason."""

TRAINING = "Adagrad Adam Gradient Momentum"


def _refusal(reason: str) -> Import:
    def refused(node: Node, *inputs: object) -> NoReturn:
        refuse(reason)

    return refused


for _reason, _names in REFUSED.items():
    IMPORTS.add(_refusal(_reason), *(("", name, 1) for name in _names.split()))
IMPORTS.add(_refusal("training"), *(("ai.onnx.preview.training", name, 1) for name in TRAINING.split()))
