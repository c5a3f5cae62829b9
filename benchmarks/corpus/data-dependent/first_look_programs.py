"""Programs whose sizes come from data, recorded before the engine had seen any of them: the first look at it."""

import torch
import torch.nn.functional as F

check = torch._check


def ceildiv(a, b):
    return (a + b - 1) // b


def soft_nms(boxes, scores, labels, k_t):
    keep = (scores > 0.3).nonzero().squeeze(1)
    boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
    n = boxes.shape[0]
    k = k_t.item()
    check(k >= 1)
    check(n >= 1)
    m = min(n, k)
    top, order = scores.topk(m)
    chosen = boxes[order] + labels[order].unsqueeze(1) * 100.0
    lt = torch.max(chosen[:, None, :2], chosen[None, :, :2])
    rb = torch.min(chosen[:, None, 2:], chosen[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    decay = torch.exp(-(inter.triu(1) ** 2) / 0.5).min(0)[0]
    rest = boxes[: n - m]
    return F.pad(top * decay, (0, k - m)), torch.cat([chosen, rest]), inter.flatten()[: m * m // 2]


def soft_nms_args(i):
    b = torch.rand(20 + i, 4)
    b[:, 2:] += b[:, :2]
    return b, torch.rand(20 + i), torch.randint(0, 3, (20 + i,)), torch.tensor(6)


def batched_nms_classes(boxes, scores, counts):
    per = counts.tolist()
    for c in per:
        check(c >= 0)
        check(c <= 50)
    check(sum(per) == boxes.shape[0])
    out = []
    for b, s in zip(boxes.split(per), scores.split(per)):
        order = s.argsort(descending=True)
        b = b[order]
        d = (b[:, None, :2] - b[None, :, :2]).abs().sum(-1)
        out.append(b[(d.tril(-1) < 0.5).all(1)])
    kept = torch.cat(out)
    n = kept.shape[0]
    return F.pad(kept, (0, 0, 0, max(boxes.shape[0] - n, 0))), kept.view(-1, 2, 2)


def batched_nms_classes_args(i):
    per = torch.tensor([[5, 3, 7], [6, 2, 4]][i])
    n = int(per.sum())
    return torch.rand(n, 4), torch.rand(n), per


def ragged_attention_blocks(q, k, v, lens, block_t):
    block = block_t.item()
    check(block >= 1)
    check(block <= 16)
    longest = lens.max().item()
    check(longest >= 1)
    check(longest <= k.shape[1])
    blocks = ceildiv(longest, block)
    padded = blocks * block
    kk = F.pad(k[:, :longest], (0, 0, 0, padded - longest)).view(k.shape[0], blocks, block, -1)
    vv = F.pad(v[:, :longest], (0, 0, 0, padded - longest)).view(k.shape[0], blocks, block, -1)
    scores = torch.einsum("bd,bntd->bnt", q, kk)
    mask = torch.arange(padded).view(blocks, block) < lens.view(-1, 1, 1)
    att = scores.masked_fill(~mask, -1e9).flatten(1).softmax(-1)
    out = (att.unsqueeze(-1) * vv.flatten(1, 2)).sum(1)
    return out, att[:, :longest], att.view(-1, block)[:: max(1, blocks)]


def ragged_attention_blocks_args(i):
    return (
        torch.randn(3 + i, 8),
        torch.randn(3 + i, 24 + i, 8),
        torch.randn(3 + i, 24 + i, 8),
        torch.tensor([17, 5, 9, 8][: 3 + i]),
        torch.tensor(4),
    )


def beams_pruned(scores, threshold, width):
    best = scores.flatten().max()
    alive = (scores.flatten() > best - threshold).nonzero().squeeze(1)
    n = alive.shape[0]
    check(n >= 1)
    w = width.item()
    check(w >= 1)
    check(w <= 32)
    kept = min(n, w)
    values, which = scores.flatten()[alive].topk(kept)
    beam, token = alive[which] // scores.shape[1], alive[which] % scores.shape[1]
    table = torch.zeros(w, 2, dtype=torch.long)
    table = torch.cat([torch.stack([beam, token], 1), table[kept:]])
    return F.pad(values, (0, w - kept), value=-1e9), table, table.view(2 * w)


def beams_pruned_args(i):
    return torch.randn(4 + i, 13), torch.tensor(2.0), torch.tensor(5)


def tokens_dropped(x, scores, ratio):
    kept = (scores > 0).nonzero().squeeze(1)
    n = kept.shape[0]
    r = ratio.item()
    check(r >= 1)
    check(r <= 100)
    m = n * r // 100
    y = x[kept]
    heavy, light = y[:m], y[m:]
    fused = light.mean(0, keepdim=True).expand(max(1, n - m), -1)
    out = torch.cat([heavy, fused])
    return out, torch.cat([heavy, light]).shape[0] == n, F.pad(out, (0, 0, 0, 1)).sum(0)


def tokens_dropped_args(i):
    return torch.randn(20 + i, 6), torch.randn(20 + i), torch.tensor(50)


def experts_padded(x, gate, factor, multiple):
    e = gate.shape[1]
    f, m = factor.item(), multiple.item()
    check(f >= 1)
    check(f <= 4)
    check(m >= 1)
    check(m <= 64)
    t = x.shape[0]
    capacity = ceildiv(t * f, e)
    capacity = ceildiv(capacity, m) * m
    which = (x @ gate).argmax(-1)
    position = F.one_hot(which, e).cumsum(0).gather(1, which.unsqueeze(1)).squeeze(1) - 1
    inside = (position < capacity).nonzero().squeeze(1)
    buffer = x.new_zeros(e * capacity, x.shape[1]).index_put((which[inside] * capacity + position[inside],), x[inside])
    y = buffer.view(e, capacity, -1)
    tiles = y.view(e, capacity // m, m, -1).mean(2)
    dropped = t - inside.shape[0]
    return y.sum(1), tiles.flatten(0, 1), F.pad(x[inside], (0, 0, 0, dropped))


def experts_padded_args(i):
    return torch.randn(22 + i, 8), torch.randn(8, 4), torch.tensor(2), torch.tensor(4)


def grouped_by_expert(x, which, block_t):
    b = block_t.item()
    check(b >= 1)
    check(b <= 128)
    parts = []
    for e in range(3):
        part = x[which == e]
        n = part.shape[0]
        padded = F.pad(part, (0, 0, 0, ceildiv(n, b) * b - n))
        parts.append(padded.reshape(-1, b, x.shape[1]).sum(1))
    out = torch.cat(parts)
    return out, out.shape[0]


def grouped_by_expert_args(i):
    return torch.randn(22 + i, 8), torch.randint(0, 3, (22 + i,)), torch.tensor(4)


def run_length_decode(values, repeats, limit):
    out = values.repeat_interleave(repeats)
    n = out.shape[0]
    top = limit.item()
    check(top >= 1)
    cut = F.pad(out[: min(n, top)], (0, top - min(n, top)))
    return cut, cut.view(1, top), out.view(n, 1), out[max(n - top, 0) :].unsqueeze(0)


def run_length_decode_args(i):
    return torch.randn(5 + i), torch.tensor([3, 1, 2, 4, 1, 2][: 5 + i]), torch.tensor(8)


def sparse_blocks(x, block_t):
    b = block_t.item()
    check(b >= 2)
    check(b <= 8)
    n, m = x.shape
    pn, pm = (-n) % b, (-m) % b
    p = F.pad(x, (0, pm, 0, pn))
    tiles = p.view((n + pn) // b, b, (m + pm) // b, b).transpose(1, 2).reshape(-1, b, b)
    used = tiles.abs().amax((1, 2)).gt(1.5).nonzero().squeeze(1)
    k = used.shape[0]
    values = tiles[used]
    rows, columns = used // ((m + pm) // b), used % ((m + pm) // b)
    dense = torch.zeros_like(tiles).index_put((used,), values)
    back = dense.view((n + pn) // b, (m + pm) // b, b, b).transpose(1, 2).reshape(n + pn, m + pm)
    return back[:n, :m], values.view(k * b, b), torch.stack([rows, columns])


def sparse_blocks_args(i):
    return torch.randn(13 + i, 17), torch.tensor(4)


def coo_to_csr(rows, columns, values, size):
    n = size.item()
    check(n >= 1)
    check(n <= 1000)
    nonzero = values.nonzero().squeeze(1)
    r, c, v = rows[nonzero], columns[nonzero], values[nonzero]
    k = nonzero.shape[0]
    order = (r * n + c).argsort()
    counts = torch.zeros(n, dtype=torch.long).index_add(0, r, torch.ones(k, dtype=torch.long))
    pointers = F.pad(counts.cumsum(0), (1, 0))
    widths = pointers[1:] - pointers[:-1]
    longest = widths.max().item()
    check(longest >= 0)
    check(longest <= n)
    ell = torch.zeros(n, longest)
    index = pointers[:-1].unsqueeze(1) + torch.arange(longest)
    padded = F.pad(v[order], (0, 1))
    return (
        pointers,
        torch.where(torch.arange(longest) < widths.unsqueeze(1), padded[index.clamp(max=k)], ell),
        ell.numel(),
    )


def coo_to_csr_args(i):
    return (
        torch.randint(0, 6, (15 + i,)),
        torch.randint(0, 6, (15 + i,)),
        torch.randint(0, 3, (15 + i,)).float(),
        torch.tensor(6),
    )


def edges_filtered(x, edges, weight):
    keep = weight > 0.3
    src, dst = edges[0][keep], edges[1][keep]
    e = src.shape[0]
    n = x.shape[0]
    loops = torch.arange(n)
    src, dst = torch.cat([src, loops]), torch.cat([dst, loops])
    message = x[src] * torch.cat([weight[keep], torch.ones(n)]).unsqueeze(1)
    out = torch.zeros_like(x).index_add(0, dst, message)
    both = torch.cat([torch.stack([src, dst]), torch.stack([dst, src])], 1)
    heads = message.view(e + n, 2, -1)
    a = heads.sum(-1).softmax(0)
    return out, both.view(4, -1) if (2 * (e + n)) % 2 == 0 else both, (a.unsqueeze(-1) * heads).reshape(e + n, -1)


def edges_filtered_args(i):
    return torch.randn(7 + i, 6), torch.randint(0, 7, (2, 19 + i)), torch.rand(19 + i)


def knn_points(points, inside, k_t):
    p = points[inside]
    n = p.shape[0]
    k = k_t.item()
    check(n >= 1)
    check(k >= 1)
    k = min(k, n)
    distance = (p.unsqueeze(1) - p.unsqueeze(0)).pow(2).sum(-1)
    near = distance.topk(k, largest=False)[1]
    grouped = p[near.reshape(-1)].view(n, k, 3) - p.unsqueeze(1)
    half = n // 2
    sampled = grouped[: max(half, 1)]
    return grouped.max(1)[0], sampled.reshape(-1, 3), torch.cat([sampled, grouped[half:]]).shape[0]


def knn_points_args(i):
    return torch.randn(25 + i, 3), torch.arange(25 + i) % 3 != 0, torch.tensor(4)


def pillars(points, grid, most):
    cells = (points[:, 0] * 4).long().clamp(0, 3) * 4 + (points[:, 1] * 4).long().clamp(0, 3)
    used, inverse, counts = cells.unique(return_inverse=True, return_counts=True)
    v = used.shape[0]
    g, m = grid.item(), most.item()
    check(g >= 4)
    check(g <= 64)
    check(m >= 1)
    check(m <= 32)
    rank = torch.arange(points.shape[0]) % m
    pillar = torch.zeros(v * m, points.shape[1]).index_put((inverse * m + rank,), points)
    features = pillar.view(v, m, -1).amax(1)
    canvas = torch.zeros(g * g, points.shape[1]).index_put((used,), features).view(g, g, -1).permute(2, 0, 1)
    down = F.max_pool2d(canvas.unsqueeze(0), 2)
    return down.flatten(2), counts.clamp(max=m).sum(), F.interpolate(down, scale_factor=2)[..., : g - g % 2]


def pillars_args(i):
    return torch.rand(30 + i, 4), torch.tensor(8), torch.tensor(5)


def text_lines(page, boxes):
    out = []
    for top, height in boxes.tolist():
        check(top >= 0)
        check(height >= 4)
        check(height <= 64)
        check(top + height <= page.shape[1])
        line = page[:, top : top + height]
        width = page.shape[2] * 32 // height
        check(width >= 1)
        out.append(F.interpolate(line.unsqueeze(0), size=(32, width)))
    widest = max(o.shape[-1] for o in out)
    batch = torch.cat([F.pad(o, (0, widest - o.shape[-1])) for o in out])
    return batch, F.avg_pool2d(batch, 4)


def text_lines_args(i):
    return torch.randn(1, 60 + i, 50), torch.tensor([[3, 16], [20, 20]])


def audio_hops(wave, start, length, hop_t):
    s, n, h = start.item(), length.item(), hop_t.item()
    check(s >= 0)
    check(n >= 16)
    check(h >= 1)
    check(h <= 16)
    check(s + n <= wave.shape[1])
    x = wave[:, s : s + n]
    count = (n - 16) // h + 1
    frames = x[:, torch.arange(count).unsqueeze(1) * h + torch.arange(16)]
    covered = (count - 1) * h + 16
    left = n - covered
    energy = frames.pow(2).mean(-1)
    return frames.reshape(-1, 16), energy.view(wave.shape[0], count), x[:, covered:], F.pad(x, (0, h - left))


def audio_hops_args(i):
    return torch.randn(2 + i, 100 + i), torch.tensor(7), torch.tensor(61), torch.tensor(5)


def voice_segments(wave, active, rate):
    r = rate.item()
    check(r >= 1)
    check(r <= 8)
    x = wave[active]
    n = x.shape[0]
    whole = n // r * r
    y = x[:whole].view(-1, r)
    mean = y.mean(1)
    up = mean.repeat_interleave(r)
    tail = x[whole:]
    restored = torch.cat([up, tail])
    windows = F.pad(mean, (1, 1)).unfold(0, 3, 1)
    return restored - x, windows.mean(1) - mean, mean.view(-1, 1)


def voice_segments_args(i):
    return torch.randn(50 + i), torch.rand(50 + i) > 0.3, torch.tensor(4)


def speculative_tree(draft, parents, accepted):
    ids = accepted.nonzero().squeeze(1)
    n = ids.shape[0]
    t = draft.shape[0]
    check(n <= t)
    kept = draft[ids]
    up = parents[ids]
    depth = torch.zeros(n + 1, dtype=torch.long)
    for _ in range(2):
        depth[1:] += (up > 0).long()
        up = parents[up]
    rest = t - n
    fresh = torch.cat([kept, draft.new_zeros(rest + 1)])
    return fresh, depth.view(n + 1, 1).expand(-1, t), fresh.view(1, t + 1), F.pad(kept, (0, rest))


def speculative_tree_args(i):
    return torch.randint(0, 9, (12 + i,)), torch.randint(0, 4, (12 + i,)), torch.arange(12 + i) % 3 == 0


def retrieval(query, keys, threshold, k_t):
    scores = keys @ query
    hits = (scores > threshold).nonzero().squeeze(1)
    n = hits.shape[0]
    k = k_t.item()
    check(k >= 1)
    check(k <= keys.shape[0])
    m = min(k, n)
    best = scores[hits].topk(m)[1]
    found = keys[hits[best]]
    padded = torch.cat([found, keys.new_zeros(k - m, keys.shape[1])])
    mask = torch.arange(k) < m
    return padded * mask.unsqueeze(1), found @ found.t(), torch.cat([found, keys[: k - m]]).view(k, 2, -1)


def retrieval_args(i):
    return torch.randn(6), torch.randn(20 + i, 6), 0.2, torch.tensor(8)


def pages_of_cache(cache, table, length, new):
    blocks, size = cache.shape[0], cache.shape[1]
    n = length.item()
    check(n >= 1)
    check(n <= blocks * size)
    used = ceildiv(n, size)
    check(used <= table.shape[0])
    pages = cache[table[:used]]
    flat = pages.view(used * size, -1)
    keys = flat[:n]
    free = used * size - n
    more = new.shape[0]
    total = ceildiv(n + more, size)
    extra = total - used
    grown = torch.cat([flat, cache.new_zeros(extra * size, cache.shape[2])])
    both = torch.cat([keys, new])
    return F.pad(both, (0, 0, 0, total * size - n - more)).view(total, size, -1), grown.view(total, size, -1), free


def pages_of_cache_args(i):
    return torch.randn(12 + i, 4, 6), torch.arange(12 + i), torch.tensor(14), torch.randn(5 + i, 6)


def packed_sequences(x, mask, limit):
    y = x[mask]
    n = y.shape[0]
    m = limit.item()
    check(m >= 4)
    check(m <= 64)
    rows = max(1, ceildiv(n, m))
    packed = F.pad(y, (0, 0, 0, rows * m - n)).view(rows, m, -1)
    positions = torch.arange(rows * m).view(rows, m) % m
    att = torch.softmax(packed @ packed.transpose(1, 2), -1) @ packed
    flat = att.flatten(0, 1)[:n]
    out = torch.zeros_like(x).masked_scatter(mask.unsqueeze(-1).expand_as(x), flat)
    return out, positions, flat - y


def packed_sequences_args(i):
    return torch.randn(3 + i, 9, 4), torch.rand(3 + i, 9) > 0.4, torch.tensor(8)


def tiles_with_overlap(image, tile_t, overlap_t):
    t, o = tile_t.item(), overlap_t.item()
    check(t >= 4)
    check(o >= 0)
    check(o < t)
    check(t <= image.shape[1])
    check(t <= image.shape[2])
    step = t - o
    h, w = image.shape[1], image.shape[2]
    rows, columns = ceildiv(h - t, step) + 1, ceildiv(w - t, step) + 1
    padded = F.pad(image, (0, (columns - 1) * step + t - w, 0, (rows - 1) * step + t - h))
    down = (torch.arange(rows).unsqueeze(1) * step + torch.arange(t)).view(-1)
    across = (torch.arange(columns).unsqueeze(1) * step + torch.arange(t)).view(-1)
    tiles = padded[:, down][:, :, across].view(-1, rows, t, columns, t)
    flat = tiles.permute(1, 3, 0, 2, 4).reshape(rows * columns, image.shape[0], t, t)
    return flat.mean((2, 3)).view(rows, columns, -1), flat[:, :, : t - o]


def tiles_with_overlap_args(i):
    return torch.randn(3, 21 + i, 18), torch.tensor(8), torch.tensor(3)


def boxes_resized(image, boxes, factor):
    f = factor.item()
    check(f >= 1)
    check(f <= 4)
    out = []
    for x, y, w, h in boxes.tolist():
        check(x >= 0)
        check(y >= 0)
        check(w >= 2)
        check(h >= 2)
        check(x + w <= image.shape[2])
        check(y + h <= image.shape[1])
        crop = image[:, y : y + h, x : x + w].unsqueeze(0)
        big = F.interpolate(crop, size=(h * f, w * f))
        out.append(F.adaptive_avg_pool2d(big, 4) + big.view(3, h, f, w, f).mean())
    return torch.cat(out)


def boxes_resized_args(i):
    return torch.randn(3, 30 + i, 40), torch.tensor([[2, 3, 10, 8], [5, 5, 7, 9]]), torch.tensor(2)


def unfolded_dynamic(x, mask, kernel_t):
    y = x[:, mask]
    n = y.shape[1]
    k = kernel_t.item()
    check(k >= 1)
    check(k <= 7)
    check(n >= k)
    left = (k - 1) // 2
    right = k - 1 - left
    p = F.pad(y, (left, right))
    count = p.shape[1] - k + 1
    w = p[:, torch.arange(count).unsqueeze(1) + torch.arange(k)]
    same = w.mean(-1) - y
    blocks = (p.shape[1] - k) // k + 1
    strided = p[:, : blocks * k].view(x.shape[0], blocks, k)
    return same, strided.sum(-1), strided.reshape(x.shape[0], -1)[:, : n - n % k]


def unfolded_dynamic_args(i):
    return torch.randn(3, 20 + i), torch.arange(20 + i) % 4 != 1, torch.tensor(3)


def binned(values, bins_t, valid):
    v = values[valid]
    n = v.shape[0]
    b = bins_t.item()
    check(b >= 2)
    check(b <= 64)
    edges = torch.linspace(0, 1, b + 1)
    which = torch.bucketize(v, edges[1:-1])
    counts = torch.zeros(b).index_add(0, which, torch.ones(n))
    cdf = counts.cumsum(0) / max(n, 1)
    merged = F.pad(cdf, (0, b % 2)).view(-1, 2).sum(1)
    return cdf[which], merged.repeat_interleave(2)[:b], edges.diff().view(b, 1) * counts


def binned_args(i):
    return torch.rand(30 + i), torch.tensor(7), torch.rand(30 + i) > 0.5


def paths_decoded(steps, lengths):
    ls = lengths.tolist()
    for n in ls:
        check(n >= 1)
        check(n <= steps.shape[1])
    longest = max(ls)
    rows = [F.pad(steps[i, :n].flip(0), (longest - n, 0)) for i, n in enumerate(ls)]
    table = torch.stack(rows)
    pairs = torch.stack([table[:, :-1], table[:, 1:]], -1)
    shortest = min(ls)
    common = table[:, longest - shortest :]
    return table, pairs.flatten(1), common.unfold(1, 1, 1), torch.cat([common, table], 1).shape[1] - longest


def paths_decoded_args(i):
    return torch.randint(0, 9, (3, 12 + i)), torch.tensor([5, 9, 3])


def without_duplicates(ids, x, group):
    seen, inverse = ids.unique(return_inverse=True)
    n = seen.shape[0]
    check(n <= ids.shape[0])
    g = group.item()
    check(g >= 1)
    rounds = ceildiv(n, g)
    order = F.pad(seen, (0, rounds * g - n), value=-1).view(rounds, g)
    y = x[seen]
    out = [y[i * g : min((i + 1) * g, n)].sum(0) for i in range(2)]
    duplicates = ids.shape[0] - n
    return y[inverse], order.t(), torch.stack(out), F.pad(seen, (0, duplicates))


def without_duplicates_args(i):
    return torch.randint(0, 9, (14 + i,)), torch.randn(9, 4), torch.tensor(3)


def masks_interleaved(x, mask, times):
    y = x[mask]
    n, d = y.shape
    t = times.item()
    check(t >= 1)
    check(t <= 10)
    z = y.repeat_interleave(t, dim=0)
    a = z.view(n, t, d)
    b = y.repeat(t, 1).view(t, n, d)
    head = z[: n * t // 2]
    back = head.shape[0] // t
    return a + b.transpose(0, 1), z.view(n * t // max(t, 1), -1), y[:back] - head[: back * t].view(back, t, d)[:, 0]


def masks_interleaved_args(i):
    return torch.randn(12 + i, 4), torch.arange(12 + i) % 3 != 0, torch.tensor(4)


def interpolated(x, size, ratio):
    n, r = size.item(), ratio.item()
    check(n >= 2)
    check(n <= x.shape[-1])
    check(r >= 2)
    check(r <= 8)
    y = x[..., :n]
    up = F.interpolate(y, size=n * r // 2)
    down = F.interpolate(up, size=max(1, n // r))
    same = F.interpolate(down, size=n)
    grid = torch.linspace(0, 1, n * r // 2)
    return same - y, up * grid, up[..., : n * r // 2 // r * r].view(2, 3, -1, r).mean(-1)


def interpolated_args(i):
    return torch.randn(2, 3, 30 + i), torch.tensor(17), torch.tensor(3)


def chunked_cumulative(x, valid, chunk_t):
    y = x[valid]
    n = y.shape[0]
    c = chunk_t.item()
    check(c >= 1)
    check(c <= 64)
    chunks = ceildiv(n, c)
    p = F.pad(y, (0, 0, 0, chunks * c - n)).view(chunks, c, -1)
    inside = p.cumsum(1)
    carry = inside[:, -1].cumsum(0)
    carry = torch.cat([torch.zeros_like(carry[:1]), carry[:-1]])
    full = (inside + carry.unsqueeze(1)).flatten(0, 1)[:n]
    return full - y.cumsum(0), carry.view(chunks, 1, -1).expand(-1, c, -1), full[n - n % c :]


def chunked_cumulative_args(i):
    return torch.randn(22 + i, 3), torch.arange(22 + i) % 5 != 0, torch.tensor(4)


def boolean_scatter(x, a, b):
    i, j = a.nonzero().squeeze(1), b.nonzero().squeeze(1)
    n, m = i.shape[0], j.shape[0]
    k = min(n, m)
    swapped = x.index_put((i[:k],), x[j[:k]])
    left = torch.cat([x[i[k:]], x[j[k:]]])
    grid = x[i].unsqueeze(1) * x[j].unsqueeze(0)
    diagonal = grid[:k, :k].diagonal(dim1=0, dim2=1)
    return swapped, left, grid.reshape(n * m, -1), diagonal, F.pad(x[i], (0, 0, 0, max(n, m) - n))


def boolean_scatter_args(i):
    return torch.randn(15 + i, 3), torch.arange(15 + i) % 2 == 0, torch.arange(15 + i) % 3 == 0


def mel_patches(spectrogram, frames, stride_t):
    f, s = frames.item(), stride_t.item()
    check(f >= 10)
    check(f <= spectrogram.shape[1])
    check(s >= 1)
    check(s <= 10)
    x = spectrogram[:, :f].unsqueeze(0).unsqueeze(0)
    y = F.conv2d(x, torch.ones(4, 1, 8, 10), stride=(8, s))
    h, w = y.shape[2], y.shape[3]
    tokens = y.flatten(2).transpose(1, 2)
    table = F.interpolate(torch.ones(1, 4, 4, 4), size=(h, w)).flatten(2).transpose(1, 2)
    z = tokens + table
    groups = w // 2
    return z.view(1, h, w, 4)[:, :, : groups * 2].reshape(1, h * groups, 2, 4), z[:, h * w - 1]


def mel_patches_args(i):
    return torch.randn(16 + i * 8, 60 + i), torch.tensor(47), torch.tensor(5)


ALL = {
    name.removesuffix("_args").replace("_", "-"): (globals()[name.removesuffix("_args")], arguments)
    for name, arguments in list(globals().items())
    if name.endswith("_args")
}
