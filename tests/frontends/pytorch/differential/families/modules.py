"""Modules: what they hold, how they are called, training and evaluation, hooks."""

import torch
from torch import nn

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("modules")
stateful = FAMILY.stateful


def layers(name, make, *inputs, state=True):
    """A module as a program, its parameters and buffers as state."""

    def made():
        module = make()
        return module, module if state else None

    made.__name__ = name
    stateful(*inputs)(made)


class Recurrent(nn.Module):
    """The first result of a recurrent layer, and its last state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Evaluated(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner.eval()

    def forward(self, x):
        return self.inner(x)


layers("linear", lambda: nn.Linear(4, 3), "n 4")
layers("perceptron", lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4), nn.LayerNorm(4)), "n m 4")
layers("convolution", lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)), "n 2 6 m")
layers("batch norm", lambda: nn.BatchNorm1d(4), "n 4")
layers("batch norm that averages", lambda: nn.BatchNorm1d(4, momentum=None), "n 4")
layers("batch norm without statistics", lambda: nn.BatchNorm2d(2, track_running_stats=False), "n 2 m k")
layers("batch norm in evaluation", lambda: Evaluated(nn.BatchNorm1d(4)), "n 4")
layers("instance norm", lambda: nn.InstanceNorm1d(2, affine=True), "n 2 m")
layers("group norm", lambda: nn.GroupNorm(2, 4), "n 4 m")
layers("root mean square norm", lambda: nn.RMSNorm(4), "n 4")
layers("lstm", lambda: nn.LSTM(4, 3), "n m 4")
layers("lstm of two layers both ways", lambda: nn.LSTM(4, 3, 2, bidirectional=True, batch_first=True), "n m 4")
layers("lstm with projections", lambda: nn.LSTM(4, 5, proj_size=2), "n m 4")
layers("lstm with dropout", lambda: nn.LSTM(4, 3, 2, dropout=0.5), "n m 4")
layers("gru", lambda: nn.GRU(4, 3, 2), "n m 4")
layers("gru without bias", lambda: nn.GRU(4, 3, bias=False, bidirectional=True), "n m 4")
layers("rnn", lambda: nn.RNN(4, 3, nonlinearity="relu"), "n m 4")
layers("rnn of one sequence", lambda: nn.RNN(4, 3), "n 4")
layers("gru cell", lambda: nn.GRUCell(4, 3), "n 4")
layers("lstm cell", lambda: nn.LSTMCell(4, 3), "n 4")
layers("attention", lambda: Recurrent(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)), "n m 4")
layers("encoder with dropout", lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3), "n m 4")
layers("pooled", lambda: nn.Sequential(nn.AdaptiveAvgPool1d(2), nn.Flatten()), "n 2 m")
layers("upsampled", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), "n 2 m k")
layers("transposed convolution", lambda: nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), "n 2 m")
layers("lazy linear", lambda: nn.LazyLinear(3), "n 4", state=False)

layers("pixel shuffle", lambda: nn.PixelShuffle(2), "n 4 m k")
layers("weight norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), "n 4", state=False)
layers("prelu", lambda: nn.PReLU(4), "n 4")


class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Bilinear(4, 4, 2)

    def forward(self, x):
        return self.inner(x, x.flip(0))


@stateful("n 4")
def list_of_modules():
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(3)])
            self.named = nn.ModuleDict({"act": nn.SiLU(), "norm": nn.LayerNorm(4)})

        def forward(self, x):
            for layer, scale in zip(self.layers, self.scales):
                x = x + self.named["act"](layer(x)) * scale
            return self.named["norm"](x)

    module = Stack()
    return module, module


@stateful("n 4")
def functional_call():
    module = nn.Linear(4, 4)
    parameters = {name: value * 2 for name, value in module.state_dict().items()}

    def step(x):
        return torch.func.functional_call(module, parameters, (x,))

    return step, None


layers("bilinear", Pairs, "n 4")
