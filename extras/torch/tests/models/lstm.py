"""Two layers of long short-term memory, in both directions."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.lstm = nn.LSTM(inputs, size, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * size, 3)

    def forward(self, x):
        y, (state, cell) = self.lstm(x)
        return self.head(y[:, -1]), state, cell


batch_size = 2


def get_init_inputs():
    return [3, 4]


def get_inputs():
    return [torch.randn(batch_size, 4, 3)]
