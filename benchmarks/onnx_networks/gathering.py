"""Networks of sets and graphs, and detection, which select by data."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Towers(nn.Module):
    """Every pair of two sets, and the best partners."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(8, 8), nn.Linear(6, 8)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        a, b = F.normalize(self.one(x), dim=-1), F.normalize(self.other(y), dim=-1)
        distance = (a[:, :, None] - b[:, None]).pow(2).sum(-1)
        return distance.softmax(-1), distance.topk(2, -1, largest=False).indices


class Messages(nn.Module):
    """Messages along the edges of a graph, summed at their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        start, end = edges[0], edges[1]
        sent = F.relu(self.message(torch.cat([nodes[start], nodes[end]], -1)))
        total = torch.zeros_like(nodes).scatter_add(0, end[:, None].expand(-1, 8), sent)
        return self.update(torch.cat([nodes, total], -1)).max(0).values


class Detector(nn.Module):
    """A score and a box for each place of an image: the best ones, and those above a threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.scores, self.boxes = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.body(x)
        h, w = y.shape[-2:]
        scores = self.scores(y).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        places = torch.stack([rows, columns, rows + 1, columns + 1], -1).reshape(-1, 4).float()
        boxes = self.boxes(y).flatten(2).transpose(1, 2) + places
        best, which = scores.amax(-1).topk(8, dim=1)
        kept = boxes.gather(1, which[..., None].expand(-1, -1, 4))
        above = (scores[..., 0] > 0.5).nonzero()
        sure = boxes[above[:, 0], above[:, 1]]
        return best, kept, above, sure, boxes[scores[..., 1] > 0.5]


SUPPRESSION = """
<ir_version: 8, opset_import: ["" : 17]>
suppression (float[batch, anchors, 4] boxes, float[batch, anchors, classes] logits)
    => (float[k, 4] kept, float[k] values, int64[k] labels)
<int64[1] most = {5}, float[1] overlap = {0.5}, float[1] threshold = {0.5}, int64[2] place = {0, 2}, int64[1] one = {1},
 int64[1] zero = {0}, int64[1] two = {2}, int64[1] three = {3}> {
    corner = Slice (boxes, zero, two, two)
    size = Slice (boxes, two, twotwo, two)
    extent = Abs (size)
    far = Add (corner, extent)
    corners = Concat <axis = 2> (corner, far)
    scores = Sigmoid (logits)
    turned = Transpose <perm = [0, 2, 1]> (scores)
    found = NonMaxSuppression (corners, turned, most, overlap, threshold)
    where = Gather <axis = 1> (found, place)
    kept = GatherND (corners, where)
    values = GatherND (turned, found)
    column = Slice (found, one, two, one)
    labels = Squeeze (column, one)
}
""".replace("twotwo", "four").replace("int64[1] three = {3}", "int64[1] four = {4}")
