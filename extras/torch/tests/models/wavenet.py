"""Dilated causal convolutions with gates."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, layers):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(layers))
        self.skips = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))

    def forward(self, x):
        total = torch.zeros_like(x)
        for i, (conv, skip) in enumerate(zip(self.convs, self.skips, strict=True)):
            y = F.glu(conv(F.pad(x, (2**i, 0))), dim=1)
            total = total + skip(y)
            x = x + y
        return F.elu(total)


batch_size = 2


def get_init_inputs():
    return [4, 3]


def get_inputs():
    return [torch.randn(batch_size, 4, 16)]
