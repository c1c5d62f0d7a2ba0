"""Integer index expressions: their normal form, their bounds, and integer constraints on them."""
