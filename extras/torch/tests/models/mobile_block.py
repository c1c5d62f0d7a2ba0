"""An inverted residual block: depthwise convolutions, squeeze and excitation, hard activations."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, expansion):
        super().__init__()
        inner = channels * expansion
        self.expand = nn.Sequential(nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish())
        self.depthwise = nn.Sequential(
            nn.Conv2d(inner, inner, 5, padding=2, groups=inner, bias=False), nn.BatchNorm2d(inner), nn.ReLU6()
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, 4, 1), nn.ReLU(), nn.Conv2d(4, inner, 1), nn.Hardsigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(inner, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        return x + self.project(y * self.squeeze(y))


batch_size = 2


def get_init_inputs():
    return [4, 3]


def get_inputs():
    return [torch.rand(batch_size, 4, 9, 9)]
