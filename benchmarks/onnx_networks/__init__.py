"""Networks with random weights that are exported to ONNX: convolutions, transformers, detection, recurrence, graphs.

Each says which sizes of its inputs are symbols and at which five sizes it is run. The exporter is torch's own; the
one network that torch has no operator for is written as a graph.
"""

from __future__ import annotations

from benchmarks.onnx_networks.gathering import SUPPRESSION, Detector, Messages, Towers
from benchmarks.onnx_networks.images import (
    Depthwise,
    Mixer,
    Residual,
    Segmentation,
    SuperResolution,
    UNet,
    VisionTransformer,
    Windows,
)
from benchmarks.onnx_networks.network import Input, Network, grid
from benchmarks.onnx_networks.pictures import (
    Autoencoder,
    ConvNext,
    Dense,
    Generator,
    Inception,
    Neighbours,
    Points,
    Pyramid,
    SqueezeExcite,
    Style,
    Volume,
)
from benchmarks.onnx_networks.sequences import (
    CachedDecoder,
    Decoder,
    Encoder,
    Tagger,
    TextConvolution,
    Translation,
    Waves,
)
from benchmarks.onnx_networks.texts import (
    Causal,
    Experts,
    Forecast,
    GraphAttention,
    Gru,
    LinearAttention,
    Lstm,
    Perceiver,
    Recommender,
    Relative,
    Rotary,
    Similarity,
)

IMAGES = {"x": Input(("batch", 3, "height", "width"))}
TEXT = {"ids": Input(("batch", "tokens"), 30)}
BATCHES, TOKENS = (2, 1, 3, 5, 4), (7, 12, 5, 31, 18)
HEIGHTS, WIDTHS = (32, 17, 21, 40, 63), (32, 29, 16, 35, 50)
VECTORS = {"x": Input(("batch", "tokens", 8))}
POINTS = {"points": Input(("batch", "points", 3))}

NETWORKS: dict[str, Network] = {
    "residual": Network(Residual, IMAGES, grid(batch=BATCHES, height=(64, 33, 40, 57, 96), width=(64, 47, 65, 32, 50))),
    "depthwise": Network(
        Depthwise, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))
    ),
    "unet, transposed": Network(
        lambda: UNet(True),
        {"x": Input(("batch", 1, "height", "width"))},
        grid(batch=BATCHES, height=(32, 16, 20, 4, 64), width=(32, 40, 24, 8, 12)),
    ),
    "unet, resized": Network(
        lambda: UNet(False),
        {"x": Input(("batch", 1, "height", "width"))},
        grid(batch=BATCHES, height=(32, 17, 21, 5, 63), width=(32, 41, 26, 9, 13)),
    ),
    "super-resolution": Network(
        SuperResolution, IMAGES, grid(batch=BATCHES, height=(16, 7, 9, 12, 1), width=(16, 11, 3, 8, 20))
    ),
    "segmentation": Network(
        Segmentation, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))
    ),
    "shifted windows": Network(
        Windows,
        {"x": Input(("batch", "height", "width", 16))},
        grid(batch=BATCHES, height=(8, 4, 12, 16, 20), width=(8, 12, 4, 24, 8)),
    ),
    "vision transformer": Network(
        VisionTransformer, IMAGES, grid(batch=BATCHES, height=(32, 24, 40, 17, 64), width=(32, 47, 16, 33, 8))
    ),
    "mixer": Network(Mixer, {"x": Input(("batch", 3, 16, 16))}, grid(batch=(2, 1, 3, 7, 16))),
    "encoder": Network(Encoder, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "decoder": Network(Decoder, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "cached decoder": Network(
        CachedDecoder,
        {
            "ids": Input(("batch", "new"), 50),
            "keys": Input(("batch", 2, "past", 8)),
            "values": Input(("batch", 2, "past", 8)),
        },
        grid(batch=BATCHES, new=(3, 1, 2, 1, 6), past=(4, 9, 1, 30, 12)),
    ),
    "translation": Network(
        Translation,
        {"source": Input(("batch", "words"), 50), "target": Input(("batch", "made"), 50)},
        grid(batch=BATCHES, words=TOKENS, made=(4, 3, 9, 1, 20)),
    ),
    "text convolution": Network(TextConvolution, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "waves": Network(Waves, {"x": Input(("batch", "samples"))}, grid(batch=BATCHES, samples=(64, 50, 33, 101, 80))),
    "tagger": Network(Tagger, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "towers": Network(
        Towers,
        {"x": Input(("batch", "ours", 8)), "y": Input(("batch", "theirs", 6))},
        grid(batch=BATCHES, ours=(3, 5, 2, 8, 1), theirs=(4, 2, 9, 3, 6)),
    ),
    "messages": Network(
        Messages,
        {"nodes": Input(("nodes", 8)), "edges": Input((2, "edges"), 5)},
        grid(nodes=(5, 8, 6, 20, 11), edges=(7, 1, 30, 12, 5)),
    ),
    "detector": Network(Detector, IMAGES, grid(batch=BATCHES, height=(32, 17, 21, 40, 63), width=(32, 29, 16, 35, 50))),
    "suppression": Network(
        lambda: SUPPRESSION,
        {"boxes": Input(("batch", "anchors", 4)), "logits": Input(("batch", "anchors", "classes"))},
        grid(batch=BATCHES, anchors=(20, 7, 40, 3, 15), classes=(2, 3, 1, 4, 5)),
    ),
    "dense": Network(Dense, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "inception": Network(Inception, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "squeeze and excite": Network(SqueezeExcite, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "autoencoder": Network(Autoencoder, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "convnext": Network(ConvNext, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "pyramid": Network(Pyramid, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "generator": Network(Generator, {"noise": Input(("batch", 12))}, grid(batch=BATCHES)),
    "volume": Network(
        Volume,
        {"x": Input(("batch", 3, "frames", "height", "width"))},
        grid(batch=BATCHES, frames=(4, 2, 7, 5, 3), height=(8, 5, 9, 12, 3), width=(8, 11, 4, 6, 7)),
    ),
    "style": Network(Style, IMAGES, grid(batch=BATCHES, height=HEIGHTS, width=WIDTHS)),
    "points": Network(Points, POINTS, grid(batch=BATCHES, points=TOKENS)),
    "neighbours": Network(Neighbours, POINTS, grid(batch=BATCHES, points=TOKENS)),
    "recurrence": Network(Gru, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "memory": Network(Lstm, {"x": Input(("batch", "steps", 5))}, grid(batch=BATCHES, steps=TOKENS)),
    "latents": Network(Perceiver, {"x": Input(("batch", "tokens", 5))}, grid(batch=BATCHES, tokens=TOKENS)),
    "rotations": Network(Rotary, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "linear attention": Network(LinearAttention, VECTORS, grid(batch=BATCHES, tokens=TOKENS)),
    "experts": Network(Experts, VECTORS, grid(batch=BATCHES, tokens=TOKENS)),
    "distances": Network(Relative, TEXT, grid(batch=BATCHES, tokens=TOKENS)),
    "similarity": Network(
        Similarity,
        {"ours": Input(("batch", "tokens"), 30), "theirs": Input(("others", "words"), 30)},
        grid(batch=BATCHES, tokens=TOKENS, others=(3, 2, 6, 1, 8), words=(4, 9, 3, 2, 16)),
    ),
    "causal": Network(Causal, {"x": Input(("batch", 4, "samples"))}, grid(batch=BATCHES, samples=TOKENS)),
    "recommender": Network(
        Recommender, {"numbers": Input(("batch", 5)), "categories": Input(("batch", 3), 30)}, grid(batch=BATCHES)
    ),
    "graph attention": Network(
        GraphAttention, {"nodes": Input(("nodes", 6)), "edges": Input(("nodes", "nodes"))}, grid(nodes=TOKENS)
    ),
    "forecast": Network(
        Forecast, {"series": Input(("batch", "steps"))}, grid(batch=BATCHES, steps=(8, 16, 4, 40, 12))
    ),
}

__all__ = ["NETWORKS", "Network"]
