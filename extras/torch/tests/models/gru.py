"""Gated recurrent units with a given first state."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.gru = nn.GRU(inputs, size)

    def forward(self, x, state):
        y, last = self.gru(x, state)
        return y.mean(0), last


batch_size = 2


def get_init_inputs():
    return [3, 4]


def get_inputs():
    return [torch.randn(5, batch_size, 3), torch.randn(1, batch_size, 4)]
