#!/usr/bin/env python3
"""Makes the files of this folder again: one call of three sequences, as libraries pack, page and pad it, with right and wrong outputs.

  VENV/bin/python tests/data/packed/make_files.py
"""
import pathlib

import torch

FOLDER = pathlib.Path(__file__).resolve().parent
QUERIES, KEYS, HEADS, KV_HEADS, D, PAGE, BLOCKS = (5, 7, 1), (9, 14, 11), 4, 2, 16, 4, 14
PAGES = ((7, 2, 11), (4, 0, 9, 13), (5, 12, 3))  # of each sequence; the other blocks hold what was there before
LEFT = (2, 0, 3)


def random(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


def attention(q, k, v, queries=None, shift=0, causal=True):
    """In fp64; row i of q is query i + shift of `queries`, the last of which stands at the last key."""
    n, queries = q.shape[0], queries or q.shape[0]
    group = HEADS // KV_HEADS
    q, k, v = q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1)
    s = torch.einsum("qhd,khd->hqk", q, k) / D**0.5
    if causal:
        at = torch.arange(n)[:, None] + shift + k.shape[0] - queries
        s = s.masked_fill(torch.arange(k.shape[0])[None] > at, float("-inf"))
    return torch.einsum("hqk,khd->qhd", s.softmax(-1), v).to(torch.bfloat16)


def bounds(lengths):
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32)


Q = [random(10 + i, n, HEADS, D) for i, n in enumerate(QUERIES)]
K = [random(20 + i, n, KV_HEADS, D) for i, n in enumerate(KEYS)]
V = [random(30 + i, n, KV_HEADS, D) for i, n in enumerate(KEYS)]


def right(causal=True):
    return [attention(q, k, v, causal=causal) for q, k, v in zip(Q, K, V)]


def replaced(index, o, causal=True):
    """All outputs, that of one sequence another."""
    outputs = right(causal)
    outputs[index] = o
    return outputs


def moved_bounds(of_queries):
    """cu_seqlens_k[1], and cu_seqlens_q[1] where that is asked for, are one too large."""
    k, v, by = torch.cat(K), torch.cat(V), int(of_queries)
    first = KEYS[0] + 1
    outputs = right()
    outputs[0] = attention(Q[0], k[:first], v[:first], QUERIES[0] + by)
    end = sum(KEYS[:2])
    rest = attention(Q[1][by:], k[first:end], v[first:end])
    stray = attention(Q[1][:by], k[:first], v[:first], QUERIES[0] + 1, QUERIES[0])
    outputs[1] = torch.cat([stray, rest])
    return torch.cat(outputs)


def elsewhere(q=0, k=0, v=0):
    """Every sequence, whose queries, K or V begin at token 0 (0 in place of the number: they do not)."""
    ends = [[0, *torch.tensor(x).cumsum(0).tolist()] for x in (QUERIES, KEYS)]
    first = [[0 if moved else ends[i][s] for s in range(3)] for i, moved in ((0, q), (1, k), (1, v))]
    parts = [torch.cat(x) for x in (Q, K, V)]
    lengths = [QUERIES, KEYS, KEYS]
    return torch.cat([attention(*(x[f[s]:f[s] + n[s]] for x, f, n in zip(parts, first, lengths))) for s in range(3)])


def cache(tensors, seed):
    """Blocks of tokens; what belongs to no sequence is garbage."""
    blocks = random(seed, BLOCKS, PAGE, KV_HEADS, D) + 1
    for pages, x in zip(PAGES, tensors):
        for i, page in enumerate(pages):
            part = x[i * PAGE:(i + 1) * PAGE]
            blocks[page, :len(part)] = part
    return blocks


def tokens(blocks, pages, count):
    return torch.cat([blocks[p] for p in pages])[:count]


def read(index, pages, count=None, causal=True):
    """A sequence that reads these pages."""
    k, v = (tokens(cache(x, seed), pages, count or KEYS[index]) for x, seed in ((K, 40), (V, 41)))
    return attention(Q[index], k, v, causal=causal)


def packed():
    return {"q": torch.cat(Q), "k": torch.cat(K), "v": torch.cat(V), "cu_seqlens_q": bounds(QUERIES), "cu_seqlens_k": bounds(KEYS),
            "out": torch.cat(right()), "bounds_of_keys": moved_bounds(False), "bounds": moved_bounds(True),
            "keys_of_another": torch.cat(replaced(1, attention(Q[1], K[2], V[2]))),
            "keys_at_0": elsewhere(k=1, v=1), "v_at_0": elsewhere(v=1), "q_at_0": elsewhere(q=1), "all_at_0": elsewhere(1, 1, 1),
            "keys_of_the_next": torch.cat(replaced(0, attention(Q[0], torch.cat(K)[KEYS[0]:2 * KEYS[0]], torch.cat(V)[KEYS[0]:2 * KEYS[0]]))),
            "keys_without_end": torch.cat(replaced(1, attention(Q[1], torch.cat(K[1:]), torch.cat(V[1:]))))}


def paged():
    table = torch.full((3, 5), -1, dtype=torch.int32)
    for row, pages in zip(table, PAGES):
        row[:len(pages)] = torch.tensor(pages)
    return {"q": torch.cat(Q), "k_cache": cache(K, 40), "v_cache": cache(V, 41), "block_table": table,
            "cache_seqlens": torch.tensor(KEYS, dtype=torch.int32), "cu_seqlens_q": bounds(QUERIES), "out": torch.cat(right()),
            "page_of_another": torch.cat(replaced(1, read(1, (4, 0, 9, 2)))),
            "exchanged": torch.cat(replaced(1, read(1, (9, 0, 4, 13)))),
            "unused_page": torch.cat(replaced(1, read(1, (4, 6, 9, 13)))),
            "pages_of_another": torch.cat(replaced(2, read(2, PAGES[1]))),
            "one_key_more": torch.cat(replaced(0, read(0, PAGES[0], 10)))}


def flashinfer():
    call = paged()
    kv = torch.stack([call["k_cache"], call["v_cache"]], 1).transpose(2, 3).contiguous()  # HND
    counts = [len(p) for p in PAGES]
    return {"q": call["q"], "paged_kv_cache": kv, "qo_indptr": bounds(QUERIES), "paged_kv_indptr": bounds(counts),
            "paged_kv_indices": torch.tensor(sum(PAGES, ()), dtype=torch.int32),
            "paged_kv_last_page_len": torch.tensor([(n - 1) % PAGE + 1 for n in KEYS], dtype=torch.int32), "out": call["out"],
            "page_of_another": call["page_of_another"]}


def vllm():
    """Decoding: one query each, the full cache of two in one tensor."""
    call = paged()
    last = [q[-1:] for q in Q]
    right_ones = [attention(q, k, v) for q, k, v in zip(last, K, V)]
    whole = cache(K, 40), cache(V, 41)
    seen = [tokens(x, PAGES[0], 12) for x in whole]
    wrong = [attention(last[0], *seen, causal=False), *right_ones[1:]]
    return {"query": torch.cat(last), "kv_cache": torch.stack(whole), "block_table": call["block_table"],
            "seq_lens": torch.tensor(KEYS, dtype=torch.int64), "output": torch.cat(right_ones), "padding": torch.cat(wrong)}


def padded():
    """A batch whose keys are padded on both sides."""
    q = torch.stack([x[-1:] for x in Q])
    k, v = (random(seed, 3, 20, KV_HEADS, D) + 1 for seed in (50, 51))
    for i, left in enumerate(LEFT):
        k[i, left:left + KEYS[i]], v[i, left:left + KEYS[i]] = K[i], V[i]
    ends = [left + n for left, n in zip(LEFT, KEYS)]
    outputs = [attention(x, a, b) for x, a, b in zip(q, K, V)]
    seen = [*outputs[:2], attention(q[2], k[2, :ends[2]], v[2, :ends[2]])]
    return {"q": q, "k_cache": k, "v_cache": v, "cache_seqlens": torch.tensor(ends, dtype=torch.int32),
            "cache_leftpad": torch.tensor(LEFT, dtype=torch.int32), "out": torch.stack(outputs), "padding": torch.stack(seen)}


def separate():
    """The sequences as calls of their own, (heads, tokens, d)."""
    call = {}
    for i, (q, k, v, o) in enumerate(zip(Q, K, V, right())):
        for name, x in (("q", q), ("k", k), ("v", v), ("out", o)):
            call[f"call_{i}.{name}"] = x.transpose(0, 1).contiguous()
    return call


def main():
    for make in (packed, paged, flashinfer, vllm, padded, separate):
        torch.save(make(), FOLDER / f"{make.__name__}.pt")


if __name__ == "__main__":
    main()
