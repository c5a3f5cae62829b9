"""Programs whose sizes come from data: what the files of this folder that have these names were recorded from.

    python recording.py programs [NAME ...]
"""

import torch
import torch.nn.functional as F

check = torch._check


def ceildiv(a, b):
    return (a + b - 1) // b


def bags_of_unique(ids, table):
    seen, counts = torch.unique(ids, return_counts=True)
    n = seen.shape[0]
    offsets = counts.cumsum(0) - counts
    rows = table[ids.reshape(-1)]
    bags = torch.zeros(n, table.shape[1]).index_add(0, torch.repeat_interleave(counts)[: ids.numel()], rows)
    return bags / counts.unsqueeze(1), offsets, F.pad(bags, (0, 0, 0, n % 2)).shape[0]


def bags_of_unique_args(i):
    return torch.randint(0, 9, (3 + i, 7)), torch.randn(9, 4)


def histogram(values, width):
    counts = torch.bincount(values)
    n = counts.shape[0]
    check(n >= 1)
    w = width.item()
    check(w >= 1)
    check(w <= 8)
    padded = F.pad(counts, (0, (w - n % w) % w))
    return padded.view(-1, w).sum(1), counts.cumsum(0)[n - 1], padded.reshape(padded.shape[0] // w, w).flip(0)


def histogram_args(i):
    return torch.randint(0, 13 + i, (30,)), torch.tensor(4)


def coalesce(rows, cols, values, size):
    n = size.item()
    check(n >= 1)
    check(n <= 64)
    keys, inverse = torch.unique(rows * n + cols, return_inverse=True)
    m = keys.shape[0]
    summed = torch.zeros(m).index_add(0, inverse, values)
    dense = torch.zeros(n * n).index_put((keys,), summed)
    matrix = dense.view(n, n)
    return matrix @ matrix.t(), torch.stack([keys // n, keys % n]), summed.view(1, -1).expand(2, m)


def coalesce_args(i):
    n = 20 + i
    return torch.randint(0, 8, (n,)), torch.randint(0, 8, (n,)), torch.randn(n), torch.tensor(8)


def segment_maximum(x, lengths):
    ids = torch.repeat_interleave(lengths)
    n = ids.shape[0]
    check(n == x.shape[0])
    out = torch.full((lengths.shape[0], x.shape[1]), -1e9).scatter_reduce(
        0, ids.unsqueeze(1).expand(n, x.shape[1]), x, "amax"
    )
    e = (x - out[ids]).exp()
    total = torch.zeros_like(out).index_add(0, ids, e)
    return e / total[ids], torch.cat([out, x]).shape[0]


def segment_maximum_args(i):
    lengths = torch.tensor([[3, 1, 5], [4, 4, 2]][i])
    return torch.randn(int(lengths.sum()), 6), lengths


def collapse_repeats(ids, blank):
    change = torch.cat([ids.new_ones(1, dtype=torch.bool), ids[1:] != ids[:-1]])
    kept = ids[change]
    n = kept.shape[0]
    check(n >= 1)
    check(n <= ids.shape[0])
    letters = kept[kept != blank]
    m = letters.shape[0]
    check(m <= n)
    padded = F.pad(letters, (0, ids.shape[0] - m))
    return padded, F.pad(kept, (0, n - m)).shape[0], torch.cat([letters, kept])


def collapse_repeats_args(i):
    return torch.randint(0, 3, (15 + i,)), 0


def run_lengths(x):
    starts = torch.cat([x.new_zeros(1), (x[1:] != x[:-1]).nonzero().squeeze(1) + 1])
    n = starts.shape[0]
    ends = torch.cat([starts[1:], torch.full((1,), x.shape[0])])
    decoded = torch.repeat_interleave(x[starts], ends - starts)
    m = decoded.shape[0]
    check(m == x.shape[0])
    return decoded - x, ends.view(n, 1) - starts.view(1, n), decoded.view(-1, 1)


def run_lengths_args(i):
    return (torch.randint(0, 2, (16 + i,)),)


def strided_convolutions(x, length, w):
    n = length.item()
    check(n >= 32)
    check(n <= x.shape[-1])
    y = x[..., :n]
    for _ in range(3):
        y = F.relu(F.conv1d(y, w, stride=2, padding=1))
    return y.transpose(1, 2).reshape(-1, y.shape[1]), y.flatten(1).shape[1]


def strided_convolutions_args(i):
    return torch.randn(2 + i, 4, 60 + i), torch.tensor(50), torch.randn(4, 4, 3)


def masked_patches(x, ratio):
    n = x.shape[1]
    r = ratio.item()
    check(r >= 1)
    check(r <= 4)
    keep = n - n * r // 8
    order = torch.rand(x.shape[0], n).argsort(1)
    kept = x.gather(1, order[:, :keep].unsqueeze(-1).expand(-1, -1, x.shape[2]))
    filled = torch.cat([kept, x.new_zeros(x.shape[0], n - keep, x.shape[2])], 1)
    return filled.gather(1, order.argsort(1).unsqueeze(-1).expand(-1, -1, x.shape[2])), kept.mean(1), order[:, keep:]


def masked_patches_args(i):
    return torch.randn(2 + i, 16 + i, 4), torch.tensor(3)


def packed_images(patches, sizes):
    (h1, w1), (h2, w2) = sizes.tolist()
    for size in (h1, w1, h2, w2):
        check(size >= 1)
        check(size <= 64)
    n, m = h1 * w1, h2 * w2
    check(n + m <= patches.shape[0])
    first, second = patches[:n], patches[n : n + m]
    packed = torch.cat([first, second])
    padded = F.pad(packed, (0, 0, 0, (8 - (n + m) % 8) % 8))
    grouped = padded.view(-1, 8, patches.shape[1])
    return first.view(h1, w1, -1).mean(0), second.view(h2, w2, -1).mean(1), grouped.sum(1)


def packed_images_args(i):
    return torch.randn(60 + i, 4), torch.tensor([[3, 5], [4, 6]])


def upsampled_skip(x, length, down, up):
    n = length.item()
    check(n >= 8)
    check(n <= x.shape[-1])
    a = x[..., :n]
    b = F.conv1d(a, down, stride=2, padding=1)
    c = F.conv_transpose1d(b, up, stride=2)
    d = c[..., :n] if c.shape[-1] >= n else F.pad(c, (0, n - c.shape[-1]))
    return d + a, torch.cat([a, d], 1).flatten(1)


def upsampled_skip_args(i):
    return torch.randn(2, 4, 40 + i), torch.tensor(21), torch.randn(4, 4, 3), torch.randn(4, 4, 2)


def rolled(x, shift):
    k = shift.item()
    check(k >= 0)
    check(k < x.shape[0])
    y = torch.cat([x[k:], x[:k]])
    z = torch.cat([y[x.shape[0] - k :], y[: x.shape[0] - k]])
    return z - x, y.view(x.shape[0], -1), x[k:].flatten() @ y[: x.shape[0] - k].flatten()


def rolled_args(i):
    return torch.randn(12 + i, 3), torch.tensor(5)


def between_bounds(values, lo, hi):
    order = values.sort()[0]
    a = torch.searchsorted(order, lo).item()
    b = torch.searchsorted(order, hi).item()
    check(a >= 0)
    check(a <= b)
    check(b <= values.shape[0])
    middle = order[a:b]
    half = (b - a) // 2
    return torch.cat([order[:a], order[b:]]), middle[:half], middle[half:], F.pad(middle, (a, values.shape[0] - b))


def between_bounds_args(i):
    return torch.rand(20 + i), torch.tensor(0.2), torch.tensor(0.8)


def tree_reduction(x, mask):
    y = x[mask]
    n = y.shape[0]
    check(n >= 4)
    for _ in range(3):
        if y.shape[0] % 2 == 1 and False:
            break
        y = F.pad(y, (0, 0, 0, y.shape[0] % 2))
        y = y.view(y.shape[0] // 2, 2, -1).sum(1)
    return y, y.shape[0]


def tree_reduction_args(i):
    return torch.randn(16 + i, 3), torch.arange(16 + i) % 3 != 0


def block_diagonal(x, sizes):
    a, b, c = sizes.tolist()
    for size in (a, b, c):
        check(size >= 0)
        check(size <= x.shape[0])
    n = a + b + c
    check(n <= x.shape[0])
    blocks = [x[:a], x[a : a + b], x[a + b : n]]
    starts = [0, a, a + b]
    rows = [F.pad(block @ block.t(), (start, n - start - block.shape[0])) for block, start in zip(blocks, starts)]
    matrix = torch.cat(rows)
    return matrix @ x[:n], matrix.view(n, n).diagonal()


def block_diagonal_args(i):
    return torch.randn(20 + i, 4), torch.tensor([3, 6, 5])


def clusters(x, assigned):
    parts = [x[assigned == k] for k in range(3)]
    means = torch.stack([p.sum(0) / max(p.shape[0], 1) for p in parts])
    joined = torch.cat(parts)
    check(joined.shape[0] == x.shape[0])
    spread = torch.cat([(p - m).norm(dim=1) for p, m in zip(parts, means)])
    return joined - x, spread.view(-1, 1) * x, torch.cat([joined, means]).shape[0]


def clusters_args(i):
    return torch.randn(21 + i, 4), torch.randint(0, 3, (21 + i,))


def voxels(points, k_t):
    cells, inverse = torch.unique((points * 4).long(), dim=0, return_inverse=True)
    v = cells.shape[0]
    k = k_t.item()
    check(k >= 1)
    check(k <= points.shape[0])
    means = torch.zeros(v, 3).index_add(0, inverse, points)
    distance = torch.cdist(means, points)
    near = distance.topk(k, largest=False)[1]
    grouped = points[near.reshape(-1)].view(v, k, 3)
    return (grouped - means.unsqueeze(1)).reshape(v * k, 3), grouped.flatten(1), near.view(-1)


def voxels_args(i):
    return torch.rand(24 + i, 3), torch.tensor(4)


def accumulated(x, size):
    b = size.item()
    n = x.shape[0]
    check(b >= 1)
    check(b <= n)
    steps = ceildiv(n, b)
    padded = F.pad(x, (0, 0, 0, steps * b - n))
    batches = padded.view(steps, b, x.shape[1])
    last = x[(steps - 1) * b :]
    return batches.mean(1), last.sum(0), padded[:n] - x, last.shape[0] <= b


def accumulated_args(i):
    return torch.randn(17 + i, 3), torch.tensor(4)


def prefix_cache(tokens, cache, match):
    p = match.item()
    s = tokens.shape[1]
    check(p >= 0)
    check(p < s)
    aligned = p // 16 * 16
    new = tokens[:, aligned:]
    kept = cache[:, :aligned]
    full = torch.cat([kept, new.unsqueeze(-1).expand(-1, -1, cache.shape[2]).float()], 1)
    blocks = ceildiv(s, 16)
    padded = F.pad(full, (0, 0, 0, blocks * 16 - s))
    return (
        padded.view(tokens.shape[0], blocks, 16, -1).mean(2),
        kept.reshape(tokens.shape[0], aligned // 16, 16, -1),
        full[:, :s],
    )


def prefix_cache_args(i):
    return torch.randint(0, 9, (2, 50 + i)), torch.randn(2, 64, 4), torch.tensor(35)


def resized_pyramid(image, size):
    h, w = size.tolist()
    check(h >= 8)
    check(h <= 512)
    check(w >= 8)
    check(w <= 512)
    x = F.interpolate(image, size=(h, w), mode="nearest")
    x = F.pad(x, (0, (8 - w % 8) % 8, 0, (8 - h % 8) % 8))
    y = F.avg_pool2d(x, 8)
    z = y.flatten(2).transpose(1, 2)
    return (
        z,
        F.pad(y, (1, 1, 1, 1)).unfold(2, 3, 1).sum(-1),
        x.view(x.shape[0], x.shape[1], y.shape[2], 8, y.shape[3], 8).mean((3, 5)),
    )


def resized_pyramid_args(i):
    return torch.randn(2, 3, 30 + i, 20), torch.tensor([43, 29])


def pairs_of_selections(x, a, b, k_t):
    rows, columns = a.nonzero().squeeze(1), b.nonzero().squeeze(1)
    n, m = rows.shape[0], columns.shape[0]
    k = k_t.item()
    check(n >= 1)
    check(m >= 1)
    check(k >= 1)
    check(k <= n * m)
    scores = x[rows][:, columns]
    best, index = scores.reshape(-1).topk(k)
    return best, rows[index // m], columns[index % m], scores.view(m * n), scores.t().reshape(n * m)


def pairs_of_selections_args(i):
    return torch.randn(10, 12 + i), torch.arange(10) % 2 == 0, torch.arange(12 + i) % 3 == 0, torch.tensor(5)


def overlap_add(frames, hop_t, mask):
    kept = frames[mask]
    n, w = kept.shape
    h = hop_t.item()
    check(n >= 1)
    check(h >= 1)
    check(h <= w)
    length = (n - 1) * h + w
    index = (torch.arange(n).unsqueeze(1) * h + torch.arange(w).unsqueeze(0)).reshape(-1)
    out = torch.zeros(length).index_add(0, index, kept.reshape(n * w))
    back = out.unfold(0, w, h)
    return back - kept, out[w - h :], out.view(1, length)


def overlap_add_args(i):
    return torch.randn(8 + i, 10), torch.tensor(5), torch.arange(8 + i) % 4 != 0


def without_seen(candidates, seen, scores, k_t):
    fresh = (~torch.isin(candidates, seen)).nonzero().squeeze(1)
    n = fresh.shape[0]
    k = k_t.item()
    check(k >= 0)
    check(k <= candidates.shape[0])
    count = torch.sym_min(n, k)
    top = scores[fresh].sort(descending=True)[1][:count]
    rest = fresh[top]
    return F.pad(rest, (0, k - count)), candidates[rest], torch.cat([rest, fresh]).shape[0] >= n


def without_seen_args(i):
    return torch.arange(20 + i), torch.tensor([3, 5, 7]), torch.rand(20 + i), torch.tensor(6)


def triangle_of_pairs(x, mask):
    y = x[mask]
    n = y.shape[0]
    check(n >= 2)
    i, j = torch.triu(torch.ones(n, n), 1).nonzero(as_tuple=True)
    check(i.shape[0] == n * (n - 1) // 2)
    pairs = torch.cat([y[i], y[j]], 1)
    distance = (y[i] - y[j]).norm(dim=1)
    square = torch.zeros(n, n).index_put((i, j), distance)
    return square + square.t(), pairs.view(-1, 2, x.shape[1]).sum(1), distance.view(1, -1)


def triangle_of_pairs_args(i):
    return torch.randn(9 + i, 3), torch.arange(9 + i) % 2 == 0


def split_for_training(x, valid, size):
    y = x[valid]
    n = y.shape[0]
    b = size.item()
    check(b >= 1)
    check(n >= 5)
    k = n * 4 // 5
    train, test = y[:k], y[k:]
    full = k // b
    batches = train[: full * b].view(full, b, -1)
    return (
        batches.mean(1),
        test.mean(0),
        torch.cat([train, test]) - y,
        torch.cat([batches.reshape(full * b, -1), train[full * b :]]) - train,
    )


def split_for_training_args(i):
    return torch.randn(30 + i, 3), torch.arange(30 + i) % 3 != 1, torch.tensor(4)


def two_experts_capped(x, gate, cap_t):
    cap = cap_t.item()
    check(cap >= 1)
    check(cap <= x.shape[0])
    first = (gate > 0).nonzero().squeeze(1)
    second = (gate <= 0).nonzero().squeeze(1)
    n, m = torch.sym_min(first.shape[0], cap), torch.sym_min(second.shape[0], cap)
    a, b = x[first[:n]], x[second[:m]]
    buffers = torch.stack([F.pad(a, (0, 0, 0, cap - n)), F.pad(b, (0, 0, 0, cap - m))])
    out = buffers.tanh()
    joined = torch.cat([out[0, :n], out[1, :m]])
    dropped = torch.cat([first[n:], second[m:]])
    return (
        torch.zeros_like(x).index_add(0, torch.cat([first[:n], second[:m]]), joined),
        dropped,
        buffers.view(2 * cap, -1),
    )


def two_experts_capped_args(i):
    return torch.randn(14 + i, 4), torch.randn(14 + i), torch.tensor(5)


def ngrams(ids, k_t, mask):
    kept = ids[mask]
    n = kept.shape[0]
    k = k_t.item()
    check(k >= 1)
    check(k <= n)
    index = torch.arange(n - k + 1).unsqueeze(1) + torch.arange(k).unsqueeze(0)
    grams = kept[index.reshape(-1)].view(n - k + 1, k)
    keys = (grams * 31 ** torch.arange(k).unsqueeze(0)).sum(1)
    unique, counts = torch.unique(keys, return_counts=True)
    u = unique.shape[0]
    check(u <= n - k + 1)
    return counts / (n - k + 1), F.pad(unique, (0, n - k + 1 - u)), grams.t().reshape(-1)


def ngrams_args(i):
    return torch.randint(0, 4, (18 + i,)), torch.tensor(3), torch.arange(18 + i) % 5 != 0


def dilated(x, dilation, w):
    d = dilation.item()
    length = x.shape[-1]
    check(d >= 1)
    check(2 * d < length)
    left, right = x[..., : length - 2 * d], x[..., 2 * d :]
    middle = x[..., d : length - d]
    y = left * w[0] + middle * w[1] + right * w[2]
    same = F.pad(y, (d, d))
    pooled = same[..., : length // d * d].reshape(x.shape[0], length // d, d)
    return same + x, pooled.amax(-1), torch.stack([left, middle, right]).flatten(1)


def dilated_args(i):
    return torch.randn(2, 33 + i), torch.tensor(4), torch.randn(3)


def time_masks(x, spans):
    a, n, b, m = spans.tolist()
    total = x.shape[1]
    check(a >= 0)
    check(n >= 0)
    check(b >= 0)
    check(m >= 0)
    check(a + n <= total)
    check(b + m <= total)
    once = torch.cat([x[:, :a], x.new_zeros(x.shape[0], n), x[:, a + n :]], 1)
    twice = torch.cat([once[:, :b], x.new_zeros(x.shape[0], m), once[:, b + m :]], 1)
    return twice + x, once[:, a : a + n].sum(), twice.view(x.shape[0], total)


def time_masks_args(i):
    return torch.randn(3, 40 + i), torch.tensor([4, 6, 20, 7])


def evicted_cache(cache, used, window):
    n, w = used.item(), window.item()
    check(w >= 1)
    check(w <= 32)
    check(n >= w + 4)
    check(n <= cache.shape[1])
    kept = torch.cat([cache[:, :4], cache[:, n - w : n]], 1)
    moved = F.pad(kept, (0, 0, 0, cache.shape[1] - kept.shape[1]))
    position = torch.cat([torch.arange(4), torch.arange(n - w, n)])
    return moved + cache, kept * position.view(1, w + 4, 1), moved[:, 4 + w :]


def evicted_cache_args(i):
    return torch.randn(2, 50 + i, 4), torch.tensor(30), torch.tensor(8)


def grouped_heads(x, heads_t, mask):
    y = x[:, mask]
    d = y.shape[1]
    g = heads_t.item()
    check(g >= 1)
    check(g <= 16)
    check(d % (2 * g) == 0)
    check(d >= 2)
    q = y.view(x.shape[0], g, d // g)
    a, b = q[..., : d // (2 * g)], q[..., d // (2 * g) :]
    rotated = torch.cat([-b, a], -1)
    return rotated.reshape(x.shape[0], d) + y, (q @ q.transpose(1, 2)).reshape(x.shape[0], g * g), q.reshape(-1, d // g)


def grouped_heads_args(i):
    return torch.randn(3 + i, 24), torch.tensor(4), torch.arange(24) % 3 != 0


def spans_of_sentences(hidden, breaks, longest_t):
    ends = breaks.nonzero().squeeze(1)
    n = ends.shape[0]
    check(n >= 1)
    check(n <= hidden.shape[0])
    longest = longest_t.item()
    check(longest >= 1)
    check(longest <= hidden.shape[0])
    starts = torch.cat([ends.new_zeros(1), ends[:-1] + 1])
    index = starts.unsqueeze(1) + torch.arange(longest).unsqueeze(0)
    spans = hidden[index.clamp(max=hidden.shape[0] - 1).reshape(-1)].view(n, longest, -1)
    masked = spans * (index <= ends.unsqueeze(1)).unsqueeze(-1)
    chunk = ceildiv(n, 2)
    return masked[:chunk].sum(1), masked[chunk:].sum(1), masked.view(n * longest, -1)[: n * longest // 2]


def spans_of_sentences_args(i):
    return torch.randn(20 + i, 4), torch.arange(20 + i) % 6 == 5, torch.tensor(6)


ALL = {
    name.removesuffix("_args").replace("_", "-"): (globals()[name.removesuffix("_args")], arguments)
    for name, arguments in list(globals().items())
    if name.endswith("_args")
}
