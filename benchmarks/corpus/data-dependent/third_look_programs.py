"""Programs whose sizes come from data: the third look."""

import torch
import torch.nn.functional as F

check = torch._check


def paged_gather(pages, table, lens, page_t):
    page = pages.shape[1]
    n = int(lens.max().item())
    check(n >= 1)
    check(n <= table.shape[1] * page)
    used = (n + page - 1) // page
    check(used <= table.shape[1])
    rows = table.narrow(1, 0, used)
    k = pages[rows].reshape(table.shape[0], used * page, pages.shape[2])
    return k[:, :n].sum(1)


def paged_gather_args(i):
    return torch.randn(12 + i, 4, 8), torch.randint(0, 12, (3 + i, 5)), torch.tensor([7, 11, 3]), torch.tensor(4)


def pad_to_block(x, block_t):
    b = block_t.item()
    check(b >= 1)
    check(b <= 64)
    n = x.shape[0]
    m = (n + b - 1) // b * b
    y = F.pad(x, (0, 0, 0, m - n))
    return y.view(-1, b, x.shape[1]).mean(1)


def pad_to_block_args(i):
    return torch.randn(13 + i, 6), torch.tensor(4)


def pyramid(img, levels_t):
    outs = []
    for _ in range(3):
        img = F.avg_pool2d(img, 2, ceil_mode=True)
        outs.append(img.flatten(2))
    return torch.cat(outs, 2)


def pyramid_args(i):
    return torch.randn(2, 3, 37 + 2 * i, 41 + i), torch.tensor(3)


def window_ragged(x, start, stop, win_t):
    s, e, w = start.item(), stop.item(), win_t.item()
    check(s >= 0)
    check(e >= s)
    check(e <= x.shape[0])
    check(w >= 1)
    check(w <= e - s)
    y = x[s:e]
    return y.unfold(0, w, 1).amax(-1)


def window_ragged_args(i):
    return torch.randn(30 + i, 4), torch.tensor(3), torch.tensor(19 + i), torch.tensor(5)


def capacity_drop(x, counts, cap_t):
    cap = cap_t.item()
    check(cap >= 1)
    outs, at = [], 0
    for c in counts.tolist():
        check(c >= 0)
        keep = torch.sym_min(c, cap)
        check(at + c <= x.shape[0])
        outs.append(x.narrow(0, at, keep))
        at = at + c
    return torch.cat(outs)


def capacity_drop_args(i):
    return torch.randn(20 + i, 6), torch.tensor([5, 2, 9]), torch.tensor(4)


def varlen_mean(x, cu):
    n = cu.shape[0] - 1
    lens = cu[1:] - cu[:-1]
    seg = torch.repeat_interleave(torch.arange(n), lens)
    check(seg.shape[0] <= x.shape[0])
    y = x[: seg.shape[0]]
    return torch.zeros(n, x.shape[1]).index_add(0, seg, y) / lens.clamp(min=1).unsqueeze(1)


def varlen_mean_args(i):
    return torch.randn(16 + i, 5), torch.tensor([0, 3, 8, 14])


def nucleus(logits, p):
    s, idx = logits.softmax(-1).sort(descending=True)
    keep = s.cumsum(-1) - s < p
    rows, cols = keep.nonzero(as_tuple=True)
    return logits.new_full(logits.shape, -1e9).index_put((rows, idx[rows, cols]), logits[rows, idx[rows, cols]])


def nucleus_args(i):
    return torch.randn(3 + i, 11 + i), 0.8


def mask_compact(x, m):
    kept = x[m]
    n = kept.shape[0]
    check(n >= 2)
    half = n // 2
    a, b = kept[:half], kept[half : 2 * half]
    return (a * b).sum(-1)


def mask_compact_args(i):
    m = torch.ones(14 + i, dtype=torch.bool)
    m[::3] = False
    return torch.randn(14 + i, 4), m


def crop_center(img, size):
    h, w = size.tolist()
    check(h >= 1)
    check(w >= 1)
    check(h <= img.shape[-2])
    check(w <= img.shape[-1])
    top, left = (img.shape[-2] - h) // 2, (img.shape[-1] - w) // 2
    c = img[:, :, top : top + h, left : left + w]
    return F.interpolate(c, size=(8, 8), mode="nearest")


def crop_center_args(i):
    return torch.randn(2, 3, 31 + i, 35 + i), torch.tensor([20, 17])


def chunk_prefill(x, done_t, chunk_t):
    d, c = done_t.item(), chunk_t.item()
    check(d >= 0)
    check(c >= 1)
    check(d < x.shape[0])
    n = torch.sym_min(c, x.shape[0] - d)
    y = x.narrow(0, d, n)
    return torch.cat([y, y.new_zeros(c - n, x.shape[1])]).view(c, -1)


def chunk_prefill_args(i):
    return torch.randn(21 + i, 4), torch.tensor(16), torch.tensor(8)


def bin_counts(ids, k_t):
    k = k_t.item()
    check(k >= 1)
    check(k <= 100)
    one = torch.zeros(ids.shape[0], k).scatter(1, ids.clamp(max=k - 1).unsqueeze(1), 1.0)
    c = one.sum(0)
    used = c.nonzero().squeeze(1)
    return c[used] / ids.shape[0]


def bin_counts_args(i):
    return torch.randint(0, 9, (25 + i,)), torch.tensor(9)


def unique_embed(ids, emb):
    u, inv = torch.unique(ids, return_inverse=True)
    e = F.linear(emb[u], torch.ones(3, emb.shape[1]))
    return e[inv].mean(0)


def unique_embed_args(i):
    return torch.randint(0, 30, (40 + i,)), torch.randn(30, 6)


def interleave_two(a, b, na, nb):
    x, y = na.item(), nb.item()
    check(x >= 0)
    check(y >= 0)
    check(x <= a.shape[0])
    check(y <= b.shape[0])
    check(x == y)
    return torch.stack([a[:x], b[:y]], 1).reshape(x + y, -1)


def interleave_two_args(i):
    return torch.randn(9 + i, 4), torch.randn(8 + i, 4), torch.tensor(6), torch.tensor(6)


def quant_blocks(w, group_t):
    g = group_t.item()
    check(g >= 2)
    check(w.shape[1] % g == 0)
    v = w.view(w.shape[0], w.shape[1] // g, g)
    s = v.abs().amax(-1, keepdim=True) / 127
    return ((v / s).round() * s).view(w.shape[0], w.shape[1])


def quant_blocks_args(i):
    return torch.randn(6 + i, 32), torch.tensor(8)


def ring_append(buf, x, head_t):
    h = head_t.item()
    n = x.shape[0]
    cap = buf.shape[0]
    check(h >= 0)
    check(h < cap)
    check(n <= cap)
    idx = (torch.arange(n) + h) % cap
    buf = buf.index_put((idx,), x)
    tail = cap - h
    check(tail >= n)
    return buf.narrow(0, h, n) * 2


def ring_append_args(i):
    return torch.zeros(16, 4), torch.randn(5 + i, 4), torch.tensor(7)


def stride_conv(x, stride_t):
    s = stride_t.item()
    check(s >= 1)
    check(s <= 4)
    p = F.pad(x, (2, 2))
    w = p.unfold(2, 5, 1)[:, :, ::2]
    return w.mean(-1)


def stride_conv_args(i):
    return torch.randn(2, 3, 41 + i), torch.tensor(2)


def split_heads(x, heads_t):
    h = heads_t.item()
    check(h >= 1)
    check(x.shape[-1] % h == 0)
    q = x.view(x.shape[0], x.shape[1], h, x.shape[-1] // h).transpose(1, 2)
    a = (q @ q.transpose(-1, -2)).softmax(-1) @ q
    return a.transpose(1, 2).reshape(x.shape)


def split_heads_args(i):
    return torch.randn(2 + i, 7 + i, 24), torch.tensor(4)


def span_pool(x, starts, ends):
    ls = (ends - starts).clamp(min=0)
    m = int(ls.max().item())
    check(m >= 1)
    check(m <= x.shape[0])
    idx = starts.unsqueeze(1) + torch.arange(m)
    ok = torch.arange(m) < ls.unsqueeze(1)
    g = x[idx.clamp(max=x.shape[0] - 1)] * ok.unsqueeze(-1)
    return g.sum(1) / ls.clamp(min=1).unsqueeze(1)


def span_pool_args(i):
    return torch.randn(23 + i, 5), torch.tensor([0, 4, 9]), torch.tensor([3, 9, 16])


def last_tokens(h, mask):
    n = mask.sum(1)
    k = int(n.min().item())
    check(k >= 1)
    check(k <= h.shape[1])
    return h[:, h.shape[1] - k :].flatten(1)


def last_tokens_args(i):
    m = torch.ones(3 + i, 12, dtype=torch.long)
    m[0, :4] = 0
    return torch.randn(3 + i, 12, 4), m


def two_stage(boxes, scores, k_t):
    keep = (scores > 0.3).nonzero().squeeze(1)
    b, s = boxes[keep], scores[keep]
    k = torch.sym_min(k_t.item(), s.shape[0])
    check(k >= 1)
    v, i = s.topk(k)
    area = (b[i, 2] - b[i, 0]) * (b[i, 3] - b[i, 1])
    return (area / area.sum()).unsqueeze(1) * v.unsqueeze(1)


def two_stage_args(i):
    return torch.rand(18 + i, 4), torch.rand(18 + i), torch.tensor(5)


ALL = {
    name.removesuffix("_args").replace("_", "-"): (globals()[name.removesuffix("_args")], arguments)
    for name, arguments in list(globals().items())
    if name.endswith("_args")
}
