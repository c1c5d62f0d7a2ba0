"""Operators that compiled programs cannot have, or that no file of a processor has, with the reason."""

from __future__ import annotations

from relex.frontend.importing.values import refusal
from relex.frontend.onnx.import_table import row
from relex.frontend.onnx.operators.learning import ML
from relex.frontend.onnx.operators.quantized_layers import MICROSOFT

SEARCHES = "a search that calls models in its attributes; import these, and call them from a loop"
FOR_DEVICES = "a layer for graphics processors; export the model for a CPU"
TRAINING = "a layer of training; export the model for inference"
REFUSED: dict[tuple[str, str], str] = {
    ("", "random numbers"): "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    ("", "strings"): "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    ("", "images in files"): "ImageDecoder",
    (ML, "strings"): "CategoryMapper",
    (ML, "maps from names to numbers; give tensors"): "CastMap DictVectorizer",
    (MICROSOFT, "strings"): "Tokenizer MurmurHash3",
    (MICROSOFT, SEARCHES): "BeamSearch GreedySearch Sampling WhisperBeamSearch",
    (MICROSOFT, FOR_DEVICES): (
        "DecoderAttention DecoderMaskedSelfAttention GatedRelativePositionBias GemmFloat8 LongformerAttention "
        "PackedAttention PackedMultiHeadAttention PagedAttention QOrderedAttention QOrderedGelu "
        "QOrderedLayerNormalization QOrderedLongformerAttention QOrderedMatMul RemovePadding RestorePadding"
    ),
    (MICROSOFT, TRAINING): "BiasDropout BitmaskBiasDropout BitmaskDropout",
    ("ai.onnx.preview.training", "gradients; export the graph that computes them"): "Gradient",
}
"""Names of operators by their domain and the reason."""


for (_domain, _reason), _names in REFUSED.items():
    row(_names, refusal(_reason), domain=_domain)
