"""Operators that compiled programs cannot have, with the reason."""

from __future__ import annotations

from relex.frontend.importing.values import refusal
from relex.frontend.torch.import_table import row

REFUSED = {
    "random numbers; pass them as an argument": "rand randn randint randperm rand_like randn_like randint_like "
    "bernoulli exponential multinomial native_dropout normal normal_functional uniform poisson binomial",
    "an in-place update of an argument": "copy_",
}
"""Names of operators by the reason."""

for _reason, _names in REFUSED.items():
    row(_names, refusal(_reason))
