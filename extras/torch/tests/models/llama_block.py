"""A block with rotary positions, grouped queries, root mean square normalization and a gated perceptron."""

import torch
import torch.nn.functional as F
from torch import nn


def rotated(x, angles):
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Model(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.register_buffer("frequencies", 10.0 ** -torch.arange(0, 1, 2 / self.size))

    def forward(self, x):
        batch, length, width = x.shape
        y = self.norm1(x)
        angles = torch.arange(length).unsqueeze(1) * self.frequencies
        q = rotated(self.query(y).view(batch, length, self.heads, self.size).transpose(1, 2), angles)
        k = rotated(self.key(y).view(batch, length, self.groups, self.size).transpose(1, 2), angles)
        v = self.value(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        k, v = (part.repeat_interleave(self.heads // self.groups, dim=1) for part in (k, v))
        mask = torch.full((length, length), float("-inf")).triu(1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


batch_size = 2


def get_init_inputs():
    return [16, 4, 2]


def get_inputs():
    return [torch.randn(batch_size, 5, 16)]
