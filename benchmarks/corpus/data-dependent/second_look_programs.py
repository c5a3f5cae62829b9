"""Others, recorded after the first were looked at: the second look at the engine."""

import torch
import torch.nn.functional as F

check = torch._check


def ceildiv(a, b):
    return (a + b - 1) // b


def greedy_ctc(logits, lengths, blank_t):
    n = lengths.max().item()
    check(n >= 1)
    check(n <= logits.shape[1])
    best = logits[:, :n].argmax(-1)
    changed = torch.cat([torch.ones_like(best[:, :1], dtype=torch.bool), best[:, 1:] != best[:, :-1]], 1)
    flat = best[changed & (best != blank_t)]
    m = flat.shape[0]
    b = best.shape[0]
    check(m <= b * n)
    average = ceildiv(m, b)
    table = F.pad(flat, (0, average * b - m)).view(b, average)
    return table, flat.view(m, 1), F.pad(best, (0, logits.shape[1] - n)), F.pad(flat, (0, b * n - m)).view(b, n)


def greedy_ctc_args(i):
    return torch.randn(3 + i, 14, 5), torch.tensor([9, 12, 7, 8][: 3 + i]), torch.tensor(0)


def anchors(feature, image_size, stride_t, scores):
    h, w = image_size.tolist()
    s = stride_t.item()
    check(s >= 4)
    check(s <= 32)
    check(h >= 32)
    check(w >= 32)
    check(h <= 2048)
    check(w <= 2048)
    rows, columns = ceildiv(h, s), ceildiv(w, s)
    y = torch.arange(rows) * s
    x = torch.arange(columns) * s
    grid = torch.stack([y.view(-1, 1).expand(rows, columns), x.view(1, -1).expand(rows, columns)], -1).view(-1, 2)
    boxes = (grid.unsqueeze(1) + feature.view(1, -1, 2)).view(-1, 2)
    k = feature.shape[0]
    top = min(rows * columns * k, 50)
    padded = F.pad(torch.ones(1, h, w), (0, columns * s - w, 0, rows * s - h))
    cells = padded.view(1, rows, s, columns, s).mean((2, 4))
    return boxes[:top], cells.flatten(1), boxes.view(rows, columns, k, 2)[: rows // 2]


def anchors_args(i):
    return torch.randn(3, 2), torch.tensor([70 + i, 45]), torch.tensor(8), torch.randn(4)


def ring_buffer(cache, new, position):
    p = position.item()
    size = cache.shape[0]
    n = new.shape[0]
    check(p >= 0)
    check(p < size)
    first = min(n, size - p)
    check(n <= size)
    rest = n - first
    check(rest <= p)
    written = torch.cat([new[first:], cache[rest:p], new[:first], cache[p + first :]])
    turned = torch.cat([cache[p:], cache[:p]])
    return written.shape[0], turned - cache, F.pad(new[:first], (0, 0, 0, size - p - first)), turned[size - n :]


def ring_buffer_args(i):
    return torch.randn(16 + i, 4), torch.randn(5, 4), torch.tensor(7)


def sampled_rows(x, y, fraction):
    n = (y > 0).nonzero().squeeze(1).shape[0]
    f = fraction.item()
    check(f >= 0)
    check(f <= 8)
    positive = x[y > 0]
    negative = x[y <= 0]
    m = min(f * n, negative.shape[0])
    batch = torch.cat([positive[:n], negative[:m]])
    target = torch.cat([torch.ones(n), torch.zeros(m)])
    halves = batch[: (n + m) // 2], batch[(n + m) // 2 :]
    return batch * target.view(-1, 1), halves[0].mean(0), halves[1].view(-1, 2, 2), F.pad(target, (0, f * n - m))


def sampled_rows_args(i):
    return torch.randn(30 + i, 4), torch.arange(30 + i) % 4 - 2, torch.tensor(2)


def depth_to_space(x, rows, block_t):
    b = block_t.item()
    h = rows.item()
    check(b >= 2)
    check(b <= 4)
    check(h >= b)
    check(h <= x.shape[1])
    y = x[:, : h // b * b]
    w = y.shape[2] // b
    y = y[:, :, : w * b]
    z = y.reshape(x.shape[0], h // b, b, w, b).permute(0, 2, 4, 1, 3).reshape(x.shape[0] * b * b, h // b, w)
    back = z.view(x.shape[0], b, b, h // b, w).permute(0, 3, 1, 4, 2).reshape(x.shape[0], h // b * b, w * b)
    return back - y, F.avg_pool2d(z.unsqueeze(0), 2, ceil_mode=True), back.flatten(1)[:, : h * w]


def depth_to_space_args(i):
    return torch.randn(2, 21 + i, 19), torch.tensor(17), torch.tensor(3)


def window_partition(x, size, shift_t):
    h, w = size.tolist()
    s = shift_t.item()
    check(h >= 4)
    check(w >= 4)
    check(h <= x.shape[0])
    check(w <= x.shape[1])
    check(s >= 0)
    check(s < 4)
    y = F.pad(x[:h, :w], (0, 0, 0, (4 - w % 4) % 4, 0, (4 - h % 4) % 4))
    ph, pw = y.shape[0], y.shape[1]
    y = torch.cat([y[s:], y[:s]])
    windows = y.view(ph // 4, 4, pw // 4, 4, -1).permute(0, 2, 1, 3, 4).reshape(-1, 16, x.shape[2])
    att = (windows @ windows.transpose(1, 2)).softmax(-1) @ windows
    back = att.view(ph // 4, pw // 4, 4, 4, -1).permute(0, 2, 1, 3, 4).reshape(ph, pw, -1)
    return back[:h, :w] - x[:h, :w], att.shape[0] * 16 - h * w, windows.mean(1).view(ph // 4, -1)


def window_partition_args(i):
    return torch.randn(20 + i, 22, 3), torch.tensor([13, 18]), torch.tensor(2)


def gradient_buckets(flat, sizes, world_t):
    parts = sizes.tolist()
    w = world_t.item()
    check(w >= 1)
    check(w <= 16)
    for p in parts:
        check(p >= 0)
    total = sum(parts)
    check(total <= flat.shape[0])
    used = flat[:total]
    shard = ceildiv(total, w)
    padded = F.pad(used, (0, shard * w - total)).view(w, shard)
    mine = padded[0]
    gathered = padded.reshape(-1)[:total]
    split = gathered.split(parts)
    return (
        mine.unsqueeze(0).expand(w, shard),
        split[0].sum() + split[1].sum(),
        torch.cat([split[1], split[0], split[2]]),
        flat[total:],
    )


def gradient_buckets_args(i):
    return torch.randn(30 + i), torch.tensor([5, 9, 11]), torch.tensor(4)


def polygons(points, counts, samples_t):
    a, b = counts.tolist()
    s = samples_t.item()
    check(a >= 3)
    check(b >= 3)
    check(a + b == points.shape[0])
    check(s >= 1)
    check(s <= 16)
    out = []
    for p in points.split([a, b]):
        edges = torch.cat([p[1:], p[:1]]) - p
        t = torch.arange(s) / s
        dense = p.unsqueeze(1) + t.view(1, s, 1) * edges.unsqueeze(1)
        out.append(dense.reshape(-1, 2))
    both = torch.cat(out)
    step = both[::2]
    distance = (out[0].unsqueeze(1) - out[1].unsqueeze(0)).abs().sum(-1)
    return (
        both.view(-1, s, 2),
        step,
        distance.view(a, s, b, s).amin((1, 3)),
        F.pad(step, (0, 0, 0, both.shape[0] - step.shape[0])),
    )


def polygons_args(i):
    return torch.randn(9 + i, 2), torch.tensor([4, 5 + i]), torch.tensor(4)


def bucketed_lengths(x, lengths, edges):
    longest = lengths.max().item()
    check(longest >= 1)
    check(longest <= x.shape[1])
    width = edges.item()
    check(width >= 8)
    check(width <= 32)
    limit = min(ceildiv(longest, width) * width, x.shape[1])
    y = x[:, :limit]
    short = lengths <= width
    small, large = x[short], x[~short]
    m = large.shape[0]
    small = small[:, : min(width, limit)]
    padded = F.pad(small, (0, limit - min(width, limit)))
    return torch.cat([padded, large[:, :limit]]), y.unfold(1, 2, 2).mean(-1), large.view(m * x.shape[1], 1)


def bucketed_lengths_args(i):
    return torch.randn(4 + i, 40), torch.tensor([33, 9, 21, 8, 7][: 4 + i]), torch.tensor(16)


def lora_segments(x, owners, weights, rank_t):
    r = rank_t.item()
    check(r >= 1)
    check(r <= weights.shape[1])
    a = weights[:, :r]
    out = []
    n = 0
    for k in range(3):
        part = x[owners == k]
        n = n + part.shape[0]
        out.append(part @ a[k].t() @ a[k])
    y = torch.cat(out)
    check(n == x.shape[0])
    tiles = ceildiv(n, 8)
    return (
        y + x,
        F.pad(y, (0, 0, 0, tiles * 8 - n)).view(tiles, 8, -1),
        a.reshape(3 * r, -1),
        a.transpose(1, 2).reshape(3, -1),
    )


def lora_segments_args(i):
    return torch.randn(19 + i, 6), torch.randint(0, 3, (19 + i,)), torch.randn(3, 8, 6), torch.tensor(4)


def quantized_rows(x, outliers, group_t):
    g = group_t.item()
    check(g >= 1)
    check(g <= 128)
    kept = (~outliers).nonzero().squeeze(1)
    n = kept.shape[0]
    y = x[:, kept]
    groups = ceildiv(n, g)
    padded = F.pad(y, (0, groups * g - n)).view(x.shape[0], groups, g)
    scale = padded.abs().amax(-1, keepdim=True)
    q = (padded / scale).round()
    packed = F.pad(q.flatten(1), (0, (groups * g) % 2)).view(x.shape[0], -1, 2).sum(-1)
    back = (q * scale).flatten(1)[:, :n]
    dense = torch.zeros_like(x).index_copy(1, kept, back)
    return dense, packed, scale.view(-1, 1), packed.shape[1] * 2


def quantized_rows_args(i):
    return torch.randn(3 + i, 22), torch.arange(22) % 6 == 2, torch.tensor(4)


def events_to_grid(times, values, step_t, horizon):
    s, n = step_t.item(), horizon.item()
    check(s >= 1)
    check(n >= 1)
    check(n <= 10000)
    slots = (n - 1) // s + 1
    which = (times // s).clamp(0, max=slots - 1)
    grid = torch.zeros(slots, values.shape[1]).index_add(0, which, values)
    seen = torch.zeros(slots).index_add(0, which, torch.ones(times.shape[0]))
    used = seen.nonzero().squeeze(1)
    m = used.shape[0]
    check(m <= slots)
    dense = grid[used]
    gaps = slots - m
    expanded = grid.repeat_interleave(s, 0)[:n]
    return (
        F.pad(dense, (0, 0, 0, gaps)) + grid,
        expanded,
        dense.view(m, 1, -1),
        F.pad(expanded, (0, 0, 0, slots * s - n)).view(slots, s, -1),
    )


def events_to_grid_args(i):
    return torch.randint(0, 40, (15 + i,)), torch.randn(15 + i, 2), torch.tensor(7), torch.tensor(40)


def matched_pairs(a, b, threshold, limit):
    score = a @ b.t()
    rows, columns = (score > threshold).nonzero(as_tuple=True)
    n = rows.shape[0]
    k = limit.item()
    check(k >= 1)
    m = min(k, n, a.shape[0])
    left, right = a[rows[:m]], b[columns[:m]]
    cross = left.unsqueeze(1) - right.unsqueeze(0)
    rest = n - m
    return (
        cross.reshape(m * m, -1),
        F.pad(left, (0, 0, 0, a.shape[0] - m)),
        rows[m:].view(rest, 1),
        torch.cat([left, right]).view(2, m, -1),
    )


def matched_pairs_args(i):
    return torch.randn(8 + i, 4), torch.randn(9 + i, 4), 0.5, torch.tensor(5)


def pyramid_levels(x, mask):
    y = x[:, :, mask]
    n = y.shape[2]
    check(n >= 16)
    levels = [y]
    for _ in range(3):
        levels.append(F.max_pool1d(levels[-1], 3, 2, 1))
    out = levels[-1]
    for level in levels[-2::-1]:
        out = F.interpolate(out, size=level.shape[-1]) + level
    flat = torch.cat([level.flatten(2) for level in levels], 2)
    return out, flat.transpose(1, 2), levels[2].shape[-1] * 4 - n


def pyramid_levels_args(i):
    return torch.randn(2, 3, 40 + i), torch.arange(40 + i) % 4 != 0


def causal_blocks(x, keep, block_t):
    y = x[:, keep]
    n = y.shape[1]
    b = block_t.item()
    check(b >= 1)
    check(b <= 64)
    blocks = (n + b - 1) // b
    left = blocks * b - n
    p = F.pad(y, (0, 0, left, 0)).view(x.shape[0], blocks, b, -1)
    previous = F.pad(p, (0, 0, 0, 0, 1, 0))[:, :-1]
    context = torch.cat([previous, p], 2)
    att = torch.einsum("bnid,bnjd->bnij", p, context).softmax(-1)
    out = torch.einsum("bnij,bnjd->bnid", att, context).flatten(1, 2)[:, left:]
    return out - y, att.view(-1, 2 * b), att.flatten(1)[:, : n * b]


def causal_blocks_args(i):
    return torch.randn(2 + i, 21, 4), torch.arange(21) % 5 != 0, torch.tensor(4)


def trimmed_mean(x, valid, percent):
    y = x[valid]
    n = y.shape[0]
    p = percent.item()
    check(p >= 0)
    check(p < 50)
    cut = n * p // 100
    ordered = y.sort(0)[0]
    middle = ordered[cut : n - cut]
    low, high = ordered[:cut], ordered[n - cut :]
    return (
        middle.mean(0),
        torch.cat([low, middle, high]) - ordered,
        low - high.flip(0),
        F.pad(middle, (0, 0, cut, cut)) + y,
    )


def trimmed_mean_args(i):
    return torch.randn(30 + i, 3), torch.arange(30 + i) % 7 != 0, torch.tensor(20)


def mosaics(images, sizes, columns_t):
    h, w = sizes.tolist()
    c = columns_t.item()
    check(h >= 1)
    check(w >= 1)
    check(h <= images.shape[2])
    check(w <= images.shape[3])
    check(c >= 1)
    n = images.shape[0]
    check(c <= n)
    rows = ceildiv(n, c)
    y = F.pad(images[:, :, :h, :w], (0, 0, 0, 0, 0, 0, 0, rows * c - n))
    grid = y.view(rows, c, -1, h, w).permute(2, 0, 3, 1, 4).reshape(-1, rows * h, c * w)
    half = F.interpolate(grid.unsqueeze(0), size=(max(rows * h // 2, 1), max(c * w // 2, 1)))
    return grid, half, grid[:, :h, :w] - images[0, :, :h, :w], grid[:, (rows - 1) * h :]


def mosaics_args(i):
    return torch.randn(7 + i, 3, 10, 12), torch.tensor([6, 9]), torch.tensor(3)


def hashed_ngrams(ids, mask, order_t, buckets):
    y = ids[mask]
    n = y.shape[0]
    k = order_t.item()
    check(k >= 1)
    check(k <= 5)
    check(n >= 5)
    b = buckets.item()
    check(b >= 16)
    grams = y[torch.arange(n - k + 1).unsqueeze(1) + torch.arange(k)]
    keys = (grams * torch.arange(1, k + 1)).sum(1) % b
    seen, counts = keys.unique(return_counts=True)
    m = seen.shape[0]
    check(m <= n - k + 1)
    rows = torch.zeros(b).index_put((seen,), counts.float())
    return rows.view(1, b), F.pad(keys, (0, k - 1)) + y, F.pad(seen, (0, n - k + 1 - m)), grams.reshape(-1)[: n - k]


def hashed_ngrams_args(i):
    return torch.randint(0, 9, (25 + i,)), torch.arange(25 + i) % 6 != 0, torch.tensor(3), torch.tensor(32)


def alignments(durations, text, mel, scale):
    reps = durations.sum(1)
    total = reps.max().item()
    s = scale.item()
    check(total >= 1)
    check(s >= 1)
    check(s <= 4)
    frames = total * s
    x = F.interpolate(text.transpose(1, 2), size=frames).transpose(1, 2)
    limit = min(frames, mel.shape[1])
    loss = (x[:, :limit] - mel[:, :limit]).abs().mean(-1)
    over, under = frames - limit, mel.shape[1] - limit
    a = F.pad(x[:, :limit], (0, 0, 0, under)) - mel
    b = F.pad(mel[:, :limit], (0, 0, 0, over)) - x
    return loss, a, b, x.view(text.shape[0], total, s, -1).mean(2)


def alignments_args(i):
    return torch.randint(1, 4, (2 + i, 6)), torch.randn(2 + i, 6, 4), torch.randn(2 + i, 20, 4), torch.tensor(2)


def decoded_intervals(starts, widths, signal):
    n = widths.clamp(min=0).sum().item()
    m = starts.shape[0]
    check(n >= 0)
    ids = torch.repeat_interleave(torch.arange(m), widths, output_size=n)
    offsets = widths.cumsum(0) - widths
    index = torch.arange(n) - offsets[ids] + starts[ids]
    pieces = signal[index.clamp(max=signal.shape[0] - 1)]
    even = n // 2 * 2
    pairs = pieces[:even].view(-1, 2, signal.shape[1])
    return (
        pairs.mean(1),
        F.pad(pieces, (0, 0, 0, n % 2)).view(-1, 2, signal.shape[1]).sum(1),
        pieces[even:],
        torch.cat([pieces, signal]).shape[0] - n,
    )


def decoded_intervals_args(i):
    return torch.tensor([0, 4, 9]), torch.tensor([3, 2, 4]), torch.randn(20 + i, 3)


def pruned_heads(x, importance, width_t):
    heads = (importance > 0).nonzero().squeeze(1)
    h = heads.shape[0]
    d = width_t.item()
    check(d >= 1)
    check(importance.shape[0] * d == x.shape[1])
    y = x.view(x.shape[0], importance.shape[0], d)[:, heads]
    flat = y.reshape(x.shape[0], h * d)
    gone = importance.shape[0] - h
    whole = F.pad(flat, (0, gone * d))
    groups = ceildiv(h, 2)
    paired = F.pad(y, (0, 0, 0, groups * 2 - h)).view(x.shape[0], groups, 2 * d)
    return whole - x, paired.sum(1), flat[:, : h * d // 2], (flat.t() @ flat).view(h, d, h, d)


def pruned_heads_args(i):
    return torch.randn(3 + i, 24), torch.tensor([1.0, -1, 2, 3, -2, 1]), torch.tensor(4)


ALL = {
    name.removesuffix("_args").replace("_", "-"): (globals()[name.removesuffix("_args")], arguments)
    for name, arguments in list(globals().items())
    if name.endswith("_args")
}
