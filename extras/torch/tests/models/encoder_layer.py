"""A layer of a transformer's encoder, with a mask of padding."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, heads, 2 * width, batch_first=True, activation="gelu")

    def forward(self, x, mask):
        return self.layer(x, src_key_padding_mask=mask)


batch_size = 2
length = 6


def get_init_inputs():
    return [8, 2]


def get_inputs():
    return [torch.randn(batch_size, length, 8), torch.zeros(batch_size, length, dtype=torch.bool)]
