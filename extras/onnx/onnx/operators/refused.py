"""Operators that compiled programs cannot have, with the reason."""

from __future__ import annotations

from relex.frontend.importing.values import refusal
from relex.frontend.onnx.import_table import row

REFUSED = {
    "random numbers": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "strings": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "images in files": "ImageDecoder",
}
"""Names of operators by the reason."""


for _reason, _names in REFUSED.items():
    row(_names, refusal(_reason))
row("Gradient", refusal("gradients; export the graph that computes them"), domain="ai.onnx.preview.training")
