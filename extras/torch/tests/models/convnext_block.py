"""A block with a large depthwise convolution and channels last."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.expand, self.reduce = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.act = nn.GELU()
        self.gamma = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        y = self.depthwise(x).permute(0, 2, 3, 1)
        y = self.gamma * self.reduce(self.act(self.expand(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


batch_size = 2


def get_init_inputs():
    return [4]


def get_inputs():
    return [torch.rand(batch_size, 4, 8, 8)]
