"""Recording above autograd: composite operators such as `linear` and `layer_norm` stay whole.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> layer = torch.nn.Linear(8, 4)
    >>> variant = trace(layer, (torch.randn(2, 8),), pre_autograd=True)
    >>> [str(node.target) for node in variant.graph.graph.nodes if node.op == "call_function"]
    ['aten.linear.default']

Torch dispatches three kinds of modes before autograd. We inherit from the one that records proxies only for that; the
trace's recorder does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder


class BeforeAutograd(ProxyTorchDispatchMode):
    """A mode that passes operators to a recorder before autograd decomposes them."""

    def __init__(self, recorder: Recorder) -> None:
        TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
        self._mode_key = torch._C._TorchDispatchModeKey.PROXY
        self.pre_dispatch = True
        self.recorder = recorder

    __enter__ = TorchDispatchMode.__enter__
    __exit__ = TorchDispatchMode.__exit__

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return self.recorder.seen(func, types, args, kwargs)
