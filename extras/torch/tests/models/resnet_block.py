"""A residual block with batch normalization and a projection."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 2 * channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2 * channels)
        self.conv2 = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential(
            nn.Conv2d(channels, 2 * channels, 1, stride=stride, bias=False), nn.BatchNorm2d(2 * channels)
        )

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.downsample(x)
        return self.relu(y)


batch_size = 2


def get_init_inputs():
    return [4, 2]


def get_inputs():
    return [torch.rand(batch_size, 4, 10, 10)]
