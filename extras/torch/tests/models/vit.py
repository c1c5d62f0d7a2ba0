"""A vision transformer: patches, a class token that is expanded to the batch, attention."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, patch, width, heads, classes):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 10, width))
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.head(x[:, 0])


batch_size = 2


def get_init_inputs():
    return [4, 8, 2, 5]


def get_inputs():
    return [torch.rand(batch_size, 3, 12, 12)]
