"""Attention to another sequence, written out."""

import math

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def split(self, x):
        batch, length, width = x.shape
        return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x, memory):
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
        mixed = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)
        return self.norm(x + self.out(mixed.transpose(1, 2).reshape(x.shape)))


batch_size = 2


def get_init_inputs():
    return [8, 4]


def get_inputs():
    return [torch.randn(batch_size, 5, 8), torch.randn(batch_size, 7, 8)]
