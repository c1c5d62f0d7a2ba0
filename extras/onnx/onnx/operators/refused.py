"""Operators that compiled programs cannot have, with the reason."""

from __future__ import annotations

from relex.frontend.importing.values import refusal
from relex.frontend.onnx.table import IMPORTS

REFUSED = {
    "random numbers": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "strings": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "images in files": "ImageDecoder",
    "results whose sizes depend on data": "NonMaxSuppression Unique",
}
"""Names of operators by the reason."""

TRAINING = "Adagrad Adam Gradient Momentum"


for _reason, _names in REFUSED.items():
    IMPORTS.add(refusal(_reason), *(("", name, 1) for name in _names.split()))
IMPORTS.add(refusal("training"), *(("ai.onnx.preview.training", name, 1) for name in TRAINING.split()))
