"""Programs whose sizes come from data, in the manner of public models: the fourth look."""

import torch
import torch.nn.functional as F

check = torch._check


def ceildiv(a, b):
    return (a + b - 1) // b


def native_resolution(images, sizes, patch_t):
    p = patch_t.item()
    check(p >= 2)
    check(p <= 16)
    rows = []
    budget = 0
    for image, (h, w) in zip(images.unbind(0), sizes.tolist(), strict=True):
        check(h >= p)
        check(w >= p)
        check(h <= image.shape[1])
        check(w <= image.shape[2])
        gh, gw = h // p, w // p
        x = image[:, : gh * p, : gw * p].reshape(-1, gh, p, gw, p).permute(1, 3, 0, 2, 4)
        x = x.reshape(gh * gw, -1, p * p).mean(1)
        rows.append(x)
        budget = budget + gh * gw
    y = torch.cat(rows)
    n = y.shape[0]
    return F.pad(y, (0, 0, 0, -n % 8)).view(-1, 8, p * p), y[: n // 2], budget - n


def native_resolution_args(i):
    return torch.randn(2, 3, 24 + i, 30), torch.tensor([[17, 22], [12, 29]]), torch.tensor(4)


def proposals_by_level(scores, boxes, keep_t):
    k = keep_t.item()
    check(k >= 1)
    kept = []
    at = 0
    for level in range(3):
        n = scores.shape[1] >> level
        m = min(n, k)
        _top, index = scores[:, at : at + n].topk(m, dim=1) if at + n <= scores.shape[1] else scores.topk(1, dim=1)
        kept.append(boxes[:, index[0]])
        at = 0 if level == 0 else at + 1
    out = torch.cat(kept, 1)
    valid = (out[..., 2] > 0).nonzero(as_tuple=True)[1]
    last = out[:, valid]
    t = min(valid.shape[0], k)
    return last[:, :t], F.pad(last[:, :t], (0, 0, 0, k - t)), out.shape[1] - valid.shape[0] // 2


def proposals_by_level_args(i):
    return torch.randn(1, 40 + 4 * i), torch.randn(1, 40 + 4 * i, 4), torch.tensor(9)


def switch_capacity(x, router, factor_t, floor_t):
    t, e = x.shape[0], router.shape[1]
    f, low = factor_t.item(), floor_t.item()
    check(f >= 100)
    check(f <= 400)
    check(low >= 4)
    check(low <= 64)
    capacity = max(low, ceildiv(t * f, 100 * e))
    best = (x @ router).argmax(-1)
    hot = F.one_hot(best, e)
    place = (hot.cumsum(0) * hot).sum(1) - 1
    kept = (place < capacity).nonzero().squeeze(1)
    dropped = t - kept.shape[0]
    dispatch = x.new_zeros(e, capacity, x.shape[1]).index_put((best[kept], place[kept]), x[kept])
    out = (dispatch * 2).view(e * capacity, -1)
    rest = max(e * capacity - t, 0)
    return out, F.pad(x, (0, 0, 0, rest)), x[: t - dropped], dispatch.transpose(0, 1).reshape(capacity, -1)


def switch_capacity_args(i):
    return torch.randn(26 + i, 8), torch.randn(8, 4), torch.tensor(125), torch.tensor(4)


def slot_mapping(cache, table, length_t, new):
    pages, size = cache.shape[0], cache.shape[1]
    past = length_t.item()
    check(past >= 0)
    n = new.shape[0]
    total = past + n
    check(total <= table.shape[0] * size)
    used = ceildiv(total, size)
    last = total - (used - 1) * size
    first_free = past % size
    room = size - first_free
    head = min(room, n)
    logical = torch.arange(past, total)
    slots = table[logical // size] * size + logical % size
    flat = cache.view(pages * size, -1).index_put((slots,), new)
    seen = flat.view(pages, size, -1)[table[:used]].view(used * size, -1)[:total]
    return seen[past:] - new, new[:head], F.pad(new[head:], (0, 0, 0, size)), seen[total - last :]


def slot_mapping_args(i):
    return torch.randn(12, 8, 4), torch.arange(6), torch.tensor(13 + i), torch.randn(7 + i, 4)


def varlen_cross(q, k, cu_q, cu_k, tile_t):
    lq, lk = cu_q[1:] - cu_q[:-1], cu_k[1:] - cu_k[:-1]
    mq, mk = lq.max().item(), lk.max().item()
    tile = tile_t.item()
    check(mq >= 1)
    check(mk >= mq)
    check(mk <= k.shape[0])
    check(mq <= q.shape[0])
    check(tile >= 8)
    check(tile <= 128)
    rq, rk = ceildiv(mq, tile) * tile, ceildiv(mk, tile) * tile
    b = lq.shape[0]
    iq = (cu_q[:-1].unsqueeze(1) + torch.arange(rq)).clamp(max=q.shape[0] - 1)
    ik = (cu_k[:-1].unsqueeze(1) + torch.arange(rk)).clamp(max=k.shape[0] - 1)
    s = torch.einsum("bqd,bkd->bqk", q[iq], k[ik])
    blocks = s.view(b, rq // tile, tile, rk // tile, tile).amax((2, 4))
    causal = torch.arange(mk).unsqueeze(0) <= torch.arange(mq).unsqueeze(1) + (mk - mq)
    return blocks, s[:, :mq, :mk].masked_fill(~causal, -1e9).softmax(-1), F.pad(causal, (0, rk - mk, 0, rq - mq))


def varlen_cross_args(i):
    return (
        torch.randn(14 + i, 4),
        torch.randn(20 + i, 4),
        torch.tensor([0, 4, 9, 13]),
        torch.tensor([0, 7, 12, 19]),
        torch.tensor(8),
    )


def ratio_pooled(x, batch, edges, ratio_t):
    n = x.shape[0]
    r = ratio_t.item()
    check(r >= 1)
    check(r <= 10)
    k = ceildiv(n * r, 10)
    score = x.sum(1)
    top, perm = score.topk(k)
    y = x[perm] * top.tanh().unsqueeze(1)
    inverse = torch.full((n,), -1).index_put((perm,), torch.arange(k))
    src, dst = inverse[edges[0]], inverse[edges[1]]
    both = (src >= 0) & (dst >= 0)
    e = src[both].shape[0]
    agg = torch.zeros_like(y).index_add(0, dst[both], y[src[both]])
    k2 = ceildiv(k * r, 10)
    again = agg[agg.sum(1).topk(k2)[1]]
    return (
        again,
        F.pad(y, (0, 0, 0, n - k)) + x,
        F.pad(src[both], (0, edges.shape[1] - e)),
        F.pad(again, (0, 0, 0, k - k2)) - y,
    )


def ratio_pooled_args(i):
    return torch.randn(15 + i, 4), torch.zeros(15 + i), torch.randint(0, 15, (2, 30 + i)), torch.tensor(6)


def merged_pairs(ids, mask, merge_t):
    y = ids[mask]
    n = y.shape[0]
    check(n >= 2)
    hit = (y[1:] + y[:-1]) == merge_t
    hit = hit & ~F.pad(hit[:-1], (1, 0))
    where = hit.nonzero().squeeze(1)
    m = where.shape[0]
    check(2 * m <= n)
    alive = torch.ones(n, dtype=torch.bool).index_fill(0, where + 1, False)
    out = y[alive]
    k = out.shape[0]
    check(k == n - m)
    padded = F.pad(out, (0, m))
    return padded - y, out[: k // 2], out.view(k, 1), F.pad(where, (0, n // 2 - m)), padded[k:]


def merged_pairs_args(i):
    return torch.randint(0, 5, (30 + i,)), torch.arange(30 + i) % 7 != 0, torch.tensor(4)


def token_budget(x, lengths, budget_t, multiple_t):
    longest = lengths.max().item()
    budget, m = budget_t.item(), multiple_t.item()
    check(longest >= 1)
    check(longest <= x.shape[1])
    check(m >= 1)
    check(m <= 32)
    width = ceildiv(longest, m) * m
    check(budget >= width)
    rows = min(budget // width, x.shape[0])
    y = x[:rows, :longest]
    padded = F.pad(y, (0, 0, 0, width - longest))
    used = padded.shape[0] * padded.shape[1]
    left = x.shape[0] - rows
    waste = budget - used
    tiles = padded.view(rows, width // m, m, -1).mean(2)
    steps = ceildiv(x.shape[0], rows)
    return (
        tiles,
        x[rows:].mean(),
        left,
        waste,
        F.pad(x, (0, 0, 0, 0, 0, steps * rows - x.shape[0])).view(steps, rows, -1),
    )


def token_budget_args(i):
    return torch.randn(7 + i, 20, 4), torch.tensor([3, 11, 6]), torch.tensor(48), torch.tensor(4)


def set_abstraction(points, mask, ratio_t, samples_t):
    xyz = points[mask]
    n = xyz.shape[0]
    r, s = ratio_t.item(), samples_t.item()
    check(r >= 2)
    check(r <= 8)
    check(s >= 1)
    check(n >= r)
    m = n // r
    centers = xyz[: m * r].view(m, r, 3)[:, 0]
    distance = (centers.unsqueeze(1) - xyz.unsqueeze(0)).pow(2).sum(-1)
    near = min(s, n)
    _value, index = distance.topk(near, dim=1, largest=False)
    group = xyz[index] - centers.unsqueeze(1)
    padded = F.pad(group, (0, 0, 0, s - near))
    features = padded.amax(1)
    k = min(3, m)
    back = distance.t().topk(k, dim=1, largest=False)[1]
    return features[back].mean(1) - xyz, group.reshape(m * near, 3), xyz[m * r :], F.pad(features, (0, 0, 0, n - m))


def set_abstraction_args(i):
    return torch.randn(28 + i, 3), torch.arange(28 + i) % 5 != 0, torch.tensor(4), torch.tensor(6)


def strided_sparse(coords, values, extent, stride_t):
    d, h, w = extent.tolist()
    s = stride_t.item()
    check(s >= 1)
    check(s <= 4)
    for size in (d, h, w):
        check(size >= 1)
        check(size <= 512)
    od, oh, ow = (d - 1) // s + 1, (h - 1) // s + 1, (w - 1) // s + 1
    inside = (coords[:, 0] < d).nonzero().squeeze(1)
    c, v = coords[inside], values[inside]
    n = inside.shape[0]
    key = (c[:, 0] // s * oh + c[:, 1] // s) * ow + c[:, 2] // s
    seen, inverse = key.clamp(min=0).unique(return_inverse=True)
    m = seen.shape[0]
    check(m <= n)
    pooled = torch.zeros(m, v.shape[1]).index_add(0, inverse, v)
    dense = torch.zeros(od * oh * ow, v.shape[1]).index_put((seen.clamp(max=od * oh * ow - 1),), pooled)
    plane = dense.view(od, oh, ow, -1).amax(0)
    up = plane.repeat_interleave(s, 0).repeat_interleave(s, 1)[:h, :w]
    return pooled[inverse] - v, up, F.pad(pooled, (0, 0, 0, n - m)), dense.view(od * oh, -1)


def strided_sparse_args(i):
    return torch.randint(0, 9, (25 + i, 3)), torch.randn(25 + i, 2), torch.tensor([9, 10, 11]), torch.tensor(2)


def finished_beams(scores, tokens, done, beams_t):
    b = beams_t.item()
    check(b >= 1)
    check(b <= 8)
    live = (~done).nonzero().squeeze(1)
    n = live.shape[0]
    check(n >= 1)
    flat = scores[live].reshape(-1)
    k = min(2 * b, n * scores.shape[1])
    value, index = flat.topk(k)
    row = index // scores.shape[1]
    ends = (index % scores.shape[1] == 0).nonzero().squeeze(1)
    e = ends.shape[0]
    check(e <= k)
    kept = min(b, k - e)
    grown = torch.cat([tokens[live[row]], (index % scores.shape[1]).unsqueeze(1)], 1)
    head = grown[: min(b, k)]
    return F.pad(value, (0, 2 * b - k)), head, F.pad(grown[ends], (0, 0, 0, k - e)) + grown, kept, head.shape[0] * 2 - k


def finished_beams_args(i):
    return torch.randn(5 + i, 11), torch.randint(0, 11, (5 + i, 6)), torch.arange(5 + i) == 1, torch.tensor(4)


def neighbor_fanout(row_pointer, columns, seeds, fanout_t):
    f = fanout_t.item()
    check(f >= 1)
    check(f <= 25)
    degree = row_pointer[1:] - row_pointer[:-1]
    d = degree[seeds]
    most = d.max().item()
    check(most >= 1)
    check(most <= columns.shape[0])
    take = min(f, most)
    index = row_pointer[seeds].unsqueeze(1) + torch.arange(take)
    ok = torch.arange(take) < d.unsqueeze(1)
    picked = columns[index.clamp(max=columns.shape[0] - 1)][ok]
    n = picked.shape[0]
    nodes, inverse = torch.cat([seeds, picked]).unique(return_inverse=True)
    m = nodes.shape[0]
    s = seeds.shape[0]
    check(m >= 1)
    check(m <= s + n)
    x = F.one_hot(nodes % 4, 4).float()
    out = x[inverse[s:]]
    return out.view(n, 4), F.pad(x, (0, 0, 0, s + n - m)), x[inverse[:s]].view(s, 2, 2), F.pad(ok, (0, f - take))


def neighbor_fanout_args(i):
    return (
        torch.tensor([0, 3, 5, 9, 12]),
        torch.randint(0, 4, (12,)),
        torch.tensor([0, 2, 3, 1][: 3 + i]),
        torch.tensor(3),
    )


def bags_by_table(ids, offsets, rows, width_t):
    n = ids.shape[0]
    w = width_t.item()
    check(w >= 1)
    check(w <= 64)
    cold = (ids >= rows).nonzero().squeeze(1)
    hot = (ids < rows).nonzero().squeeze(1)
    c, h = cold.shape[0], hot.shape[0]
    check(c + h == n)
    table = torch.arange(n * w).view(n, w).float()
    a, b = table[hot], table[cold] * 2
    order = torch.cat([hot, cold]).argsort()
    out = torch.cat([a, b])[order]
    bags = offsets.shape[0]
    sums = torch.zeros(bags, w).index_add(0, torch.bucketize(torch.arange(n), offsets, right=True) - 1, out)
    half = ceildiv(h, 2)
    return sums.view(1, bags * w), out.view(n * w), F.pad(a, (0, 0, 0, c)) + table, a[half:].shape[0] - h // 2


def bags_by_table_args(i):
    return torch.randint(0, 20, (18 + i,)), torch.tensor([0, 5, 9]), torch.tensor(10), torch.tensor(4)


def verified_draft(cache, draft, target, accepted):
    a = accepted.min().item()
    most = accepted.max().item()
    k = draft.shape[1]
    past = cache.shape[1] - k
    check(past >= 0)
    check(a >= 0)
    check(most >= a)
    check(most <= k)
    kept = cache[:, : past + a]
    spread = most - a
    out = torch.cat([draft[:, :a], target[:, a : a + 1]], 1)
    check(target.shape[1] == k + 1)
    late = target[:, a : most + 1]
    redo = cache[:, past + a :]
    return (
        F.pad(out, (0, k - a)),
        kept.flatten(1),
        late.view(-1, spread + 1),
        torch.cat([kept, redo], 1) - cache,
        redo[:, : k - most],
    )


def verified_draft_args(i):
    return torch.randn(2 + i, 20, 3), torch.randn(2 + i, 5), torch.randn(2 + i, 6), torch.tensor([2, 4])


def partial_pages(k_cache, lengths, page_t):
    p = page_t.item()
    check(p >= 1)
    check(p <= 64)
    outs = []
    pages = 0
    for n in lengths.tolist():
        check(n >= 1)
        check(n <= k_cache.shape[0])
        full = n // p
        tail = n - full * p
        x = k_cache[:n]
        pages = pages + ceildiv(n, p)
        outs.append(x[: full * p].reshape(full, p, -1).sum(1))
        outs.append(F.pad(x[full * p :], (0, 0, 0, p - tail)).sum(0, keepdim=True))
    y = torch.cat(outs)
    return y, y.shape[0] - pages, k_cache[: y.shape[0] // 2]


def partial_pages_args(i):
    return torch.randn(40 + i, 4), torch.tensor([13, 21]), torch.tensor(8)


def permuted_tokens(x, choice, align_t):
    a = align_t.item()
    check(a >= 1)
    check(a <= 128)
    parts, sizes, total = [], [], 0
    for e in range(2):
        mine = x[choice == e]
        n = mine.shape[0]
        size = ceildiv(n, a) * a
        parts.append(F.pad(mine, (0, 0, 0, size - n)))
        sizes.append(n)
        total = total + size
    check(sum(sizes) == x.shape[0])
    grouped = torch.cat(parts)
    blocks = grouped.view(-1, a, x.shape[1])
    first = grouped[: sizes[0]]
    start = ceildiv(sizes[0], a) * a
    second = grouped[start : start + sizes[1]]
    return torch.cat([first, second]), blocks.amax(1), total - blocks.shape[0] * a, grouped[sizes[0] :].mean(0)


def permuted_tokens_args(i):
    return torch.randn(23 + i, 4), torch.arange(23 + i) % 3 % 2, torch.tensor(8)


def flexible_patches(image, patch_t, grid_t):
    p, g = patch_t.item(), grid_t.item()
    check(p >= 2)
    check(p <= 32)
    check(g >= 2)
    check(g <= 64)
    h, w = image.shape[2], image.shape[3]
    check(h >= p)
    check(w >= p)
    ph, pw = (p - h % p) % p, (p - w % p) % p
    y = F.pad(image, (0, pw, 0, ph))
    gh, gw = y.shape[2] // p, y.shape[3] // p
    tokens = y.unfold(2, p, p).unfold(3, p, p).mean((4, 5)).flatten(2).transpose(1, 2)
    position = F.interpolate(torch.zeros(1, 3, 4, 4), size=(gh, gw)).flatten(2).transpose(1, 2)
    z = tokens + position
    keep = min(g * g, gh * gw)
    return (
        z.transpose(1, 2).reshape(image.shape[0], -1, gh, gw),
        z[:, :keep],
        F.pad(z[:, :keep], (0, 0, 0, g * g - keep)),
    )


def flexible_patches_args(i):
    return torch.randn(2, 3, 30 + i, 27), torch.tensor(7), torch.tensor(3)


def roi_samples(feature, box, out_t):
    y0, x0, y1, x1 = box.tolist()
    out = out_t.item()
    h, w = feature.shape[1], feature.shape[2]
    check(out >= 1)
    check(out <= 14)
    check(y0 >= 0)
    check(x0 >= 0)
    check(y1 > y0)
    check(x1 > x0)
    check(y1 <= h)
    check(x1 <= w)
    rh, rw = y1 - y0, x1 - x0
    sh, sw = ceildiv(rh, out), ceildiv(rw, out)
    ys = (torch.arange(out * sh) * rh // (out * sh) + y0).clamp(max=h - 1)
    xs = (torch.arange(out * sw) * rw // (out * sw) + x0).clamp(max=w - 1)
    grid = feature[:, ys][:, :, xs]
    pooled = grid.view(-1, out, sh, out, sw).mean((2, 4))
    crop = feature[:, y0:y1, x0:x1]
    return pooled, F.pad(crop, (0, out * sw - rw, 0, out * sh - rh)) - grid, crop.reshape(-1, rh * rw)


def roi_samples_args(i):
    return torch.randn(3, 20 + i, 24), torch.tensor([3, 4, 17, 15]), torch.tensor(4)


def chunked_states(x, decay, keep, chunk_t):
    y = x[keep]
    n = y.shape[0]
    q = chunk_t.item()
    check(q >= 2)
    check(q <= 256)
    c = ceildiv(n, q)
    pad = c * q - n
    z = F.pad(y, (0, 0, 0, pad)).view(c, q, -1)
    lower = torch.ones(q, q).tril()
    inside = torch.einsum("ij,cjd->cid", lower, z)
    states = z.sum(1)
    carried = F.pad(states, (0, 0, 1, 0))[:-1].cumsum(0)
    out = (inside + carried.unsqueeze(1)).reshape(c * q, -1)[:n]
    segments = torch.ones(c + 1, c + 1).tril(-1)[1:]
    return out - y, segments[:, :c] @ states, out[n // 2 :], z[:, : q // 2].flatten(0, 1)


def chunked_states_args(i):
    return torch.randn(27 + i, 3), torch.randn(3), torch.arange(27 + i) % 6 != 1, torch.tensor(8)


def overlapping_chunks(ids, mask, size_t, overlap_t):
    y = ids[mask]
    n = y.shape[0]
    size, overlap = size_t.item(), overlap_t.item()
    check(size >= 2)
    check(overlap >= 0)
    check(overlap < size)
    check(n >= 1)
    step = size - overlap
    count = 1 + max(0, ceildiv(n - size, step))
    total = (count - 1) * step + size
    padded = F.pad(y, (0, max(total - n, 0)))
    index = torch.arange(count).unsqueeze(1) * step + torch.arange(size)
    chunks = padded[index.clamp(max=n - 1)]
    body = chunks[:, overlap:]
    return (
        chunks.flatten(),
        body.reshape(count * step),
        padded[:n] - y,
        chunks[:, :overlap],
        F.pad(body, (overlap, 0)) - chunks,
    )


def overlapping_chunks_args(i):
    return torch.randint(0, 9, (34 + i,)), torch.arange(34 + i) % 8 != 0, torch.tensor(8), torch.tensor(3)


def streamed_conformer(features, lengths, cache, left_t):
    n = lengths.max().item()
    left = left_t.item()
    check(n >= 7)
    check(n <= features.shape[1])
    check(left >= 0)
    check(left <= cache.shape[1])
    x = features[:, :n].unsqueeze(1)
    x = F.max_pool2d(x, 3, 2)
    x = F.max_pool2d(x, 3, 2)
    t = ((n - 1) // 2 - 1) // 2
    y = x.squeeze(1)
    memory = torch.cat([cache[:, cache.shape[1] - left :, : y.shape[2]], y], 1)
    mask = torch.ones(t, left + t, dtype=torch.bool).tril(left)
    att = (y @ memory.transpose(1, 2)).masked_fill(~mask, -1e9).softmax(-1) @ memory
    new = memory[:, memory.shape[1] - min(left, t) :]
    return att - y, new, F.pad(y, (0, 0, 0, n // 4 - t)), memory[:, left:].reshape(y.shape[0], -1)


def streamed_conformer_args(i):
    return torch.randn(2, 33 + i, 15), torch.tensor([20, 31]), torch.randn(2, 12, 8), torch.tensor(6)


def deformable_levels(flat, shapes, queries_t):
    (h0, w0), (h1, w1) = shapes.tolist()
    q = queries_t.item()
    for size in (h0, w0, h1, w1):
        check(size >= 1)
    check(h0 * w0 + h1 * w1 == flat.shape[1])
    check(q >= 1)
    check(q <= flat.shape[1])
    a, b = flat.split([h0 * w0, h1 * w1], 1)
    first = a.transpose(1, 2).view(flat.shape[0], -1, h0, w0)
    second = b.transpose(1, 2).view(flat.shape[0], -1, h1, w1)
    up = F.interpolate(second, size=(h0, w0))
    fused = (first + up).flatten(2).transpose(1, 2)
    _score, index = flat.sum(-1).topk(q, dim=1)
    chosen = flat.gather(1, index.unsqueeze(-1).expand(-1, -1, flat.shape[2]))
    rest = flat.shape[1] - q
    return (
        fused - a,
        F.pad(chosen, (0, 0, 0, rest)) + flat,
        torch.cat([fused, b], 1) - flat,
        F.avg_pool2d(F.pad(first, (0, w0 % 2, 0, h0 % 2)), 2),
    )


def deformable_levels_args(i):
    return torch.randn(2, 48 + 6 * i, 4), torch.tensor([[6 + i, 6], [4, 3]]), torch.tensor(9)


def sinks_and_window(cache, new, sinks_t, window_t):
    s, w = sinks_t.item(), window_t.item()
    check(s >= 1)
    check(w >= 1)
    check(s <= 8)
    both = torch.cat([cache, new], 1)
    n = both.shape[1]
    check(s <= cache.shape[1])
    evicted = max(n - s - w, 0)
    kept = torch.cat([both[:, :s], both[:, s + evicted :]], 1)
    m = kept.shape[1]
    recent = min(w, n - s)
    position = torch.arange(m)
    att = kept @ kept.transpose(1, 2) + position
    gone = both[:, s : s + evicted]
    return (
        att.view(-1, m * m),
        kept[:, m - recent :] - both[:, n - recent :],
        F.pad(kept, (0, 0, 0, n - m)) - both,
        gone.flatten(1),
    )


def sinks_and_window_args(i):
    return torch.randn(2, 14 + i, 3), torch.randn(2, 5, 3), torch.tensor(2), torch.tensor(9)


def mixture_of_depths(x, scores, percent_t, depth_t):
    n = x.shape[1]
    p, _d = percent_t.item(), depth_t.item()
    check(p >= 1)
    check(p <= 100)
    check(n >= 100)
    k = n * p // 100
    _top, index = scores.topk(k, dim=1)
    index = index.sort(1)[0]
    y = x.gather(1, index.unsqueeze(-1).expand(-1, -1, x.shape[2]))
    att = (y @ y.transpose(1, 2)).softmax(-1) @ y
    out = x.scatter_add(1, index.unsqueeze(-1).expand(-1, -1, x.shape[2]), att)
    k2 = k * p // 100
    low = k - k2
    return out, att[:, :k2], F.pad(att, (0, 0, 0, n - k)) + x, att[:, k2:].reshape(x.shape[0], low * x.shape[2])


def mixture_of_depths_args(i):
    return torch.randn(2, 110 + i, 4), torch.randn(2, 110 + i), torch.tensor(30), torch.tensor(2)


def zigzag_shards(x, keep, world_t):
    y = x[keep]
    n = y.shape[0]
    w = world_t.item()
    check(w >= 1)
    check(w <= 8)
    piece = ceildiv(n, 2 * w)
    z = F.pad(y, (0, 0, 0, piece * 2 * w - n)).view(2 * w, piece, -1)
    front, back = z[:w], z[w:].flip(0)
    mine = torch.cat([front, back], 1)
    gathered = torch.cat([mine[:, :piece], mine[:, piece:].flip(0)]).view(2 * w * piece, -1)[:n]
    rank = mine[w - 1]
    return (
        gathered - y,
        rank.view(2, piece, -1),
        mine.reshape(w * 2 * piece, -1),
        F.pad(y, (0, 0, 0, 2 * w))[: piece * w],
    )


def zigzag_shards_args(i):
    return torch.randn(29 + i, 3), torch.arange(29 + i) % 6 != 2, torch.tensor(2)


def merged_patches(x, size):
    h, w = size.tolist()
    check(h >= 4)
    check(w >= 4)
    check(h * w == x.shape[1])
    y = x.view(x.shape[0], h, w, -1)
    for _ in range(2):
        h, w = y.shape[1], y.shape[2]
        y = F.pad(y, (0, 0, 0, w % 2, 0, h % 2))
        y = torch.cat([y[:, 0::2, 0::2], y[:, 1::2, 0::2], y[:, 0::2, 1::2], y[:, 1::2, 1::2]], -1)
        y = y[..., : x.shape[2]]
    tokens = y.flatten(1, 2)
    up = y.repeat_interleave(4, 1).repeat_interleave(4, 2)[:, : size[0].item(), : size[1].item()]
    return tokens, up.flatten(1, 2).shape[2], y.shape[1] * 4, tokens.shape[1] * 16 - x.shape[1]


def merged_patches_args(i):
    return torch.randn(2, 7 * (9 + i), 3), torch.tensor([7, 9 + i])


def documents_packed(tokens, ends, length_t):
    n = tokens[tokens != 0].shape[0]
    s = length_t.item()
    check(s >= 2)
    check(s <= 4096)
    check(n >= s + 1)
    y = tokens[tokens != 0]
    rows = (n - 1) // s
    inputs, labels = y[: rows * s].view(rows, s), y[1 : rows * s + 1].view(rows, s)
    left = n - 1 - rows * s
    tail = y[rows * s :]
    marks = (inputs == ends).nonzero()
    m = marks.shape[0]
    check(m <= rows * s)
    starts = F.pad(marks[:, 1], (0, rows * s - m))
    half = rows // 2
    return (
        (inputs - labels).float().mean(1),
        tail[: left + 1],
        starts.view(rows, s),
        torch.cat([inputs[half:], inputs[:half]]) - labels,
    )


def documents_packed_args(i):
    return torch.randint(0, 6, (40 + i,)), torch.tensor(3), torch.tensor(7)


def duration_regulated(text, durations, pace_t, hop_t):
    total = durations.sum().item()
    pace, hop = pace_t.item(), hop_t.item()
    check(total >= 1)
    check(pace >= 50)
    check(pace <= 200)
    check(hop >= 1)
    check(hop <= 512)
    frames = max(1, total * pace // 100)
    x = F.interpolate(text.t().unsqueeze(0), size=frames).squeeze(0).t()
    wave = x.repeat_interleave(hop, 0)
    samples = frames * hop
    window = 2 * hop
    padded = F.pad(wave, (0, 0, hop, hop))
    framed = padded.unfold(0, window, hop)
    spans = samples // window
    return (
        framed.mean(-1)[:frames] + x,
        wave[: spans * window].view(spans, window, -1),
        F.pad(wave, (0, 0, 0, window)).view(frames + 2, hop, -1),
    )


def duration_regulated_args(i):
    return torch.randn(6 + i, 4), torch.tensor([2, 3, 4]), torch.tensor(120), torch.tensor(4)


def grouped_queries(x, tokens, groups_t, width_t):
    g, d = groups_t.item(), width_t.item()
    heads = 8
    check(g >= 1)
    check(g <= heads)
    check(heads % g == 0)
    check(d >= 2)
    check(x.shape[1] == (heads + 2 * g) * d)
    y = x[tokens]
    n = y.shape[0]
    q, k, v = y.split([heads * d, g * d, g * d], 1)
    q = q.view(n, g, heads // g, d)
    k, v = k.view(n, g, d), v.view(n, g, d)
    att = torch.einsum("ngrd,mgd->gnrm", q, k).softmax(-1)
    out = torch.einsum("gnrm,mgd->ngrd", att, v).reshape(n, heads * d)
    half = d // 2
    turned = torch.cat([q[..., half:], q[..., :half]], -1)
    return (
        out + q.flatten(1),
        turned - q,
        k.repeat_interleave(heads // g, 1).view(n, heads, d),
        F.pad(out, (0, 2 * g * d)) + y,
    )


def grouped_queries_args(i):
    return torch.randn(9 + i, 12 * 4), torch.arange(9 + i) % 4 != 0, torch.tensor(2), torch.tensor(4)


ALL = {
    name.removesuffix("_args").replace("_", "-"): (globals()[name.removesuffix("_args")], arguments)
    for name, arguments in list(globals().items())
    if name.endswith("_args")
}
