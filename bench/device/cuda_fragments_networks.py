# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The networks of cuda_fragments.py in PyTorch: losses as functions of parameters by their names in JAX, whose shapes they have."""
import torch
import torch.nn.functional as F

# What no score changes; twice that is still finite, as attention kernels take exponents of 2.
LARGE_NEGATIVE = -1e30


def norm(p, name, x, epsilon):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.scale"], p[f"{name}.bias"], epsilon)


def heads_of(x, heads):
    """[batch, length, width] -> [batch, heads, length, width / heads]"""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def transformer(case, p, tokens):
    """As loss() of examples/transformer. tokens: int64[batch, length + 1]."""
    layers, heads = case["sizes"].get("LAYERS", 4), case["sizes"].get("HEADS", 8)
    x = F.embedding(tokens[:, :-1], p["bytes"]) + p["places"]
    for i in range(layers):
        layer = f"layer{i}"
        q, k, v = (norm(p, f"{layer}.norm1", x, 1e-5) @ p[f"{layer}.qkv"]).chunk(3, -1)
        mixed = F.scaled_dot_product_attention(heads_of(q, heads), heads_of(k, heads), heads_of(v, heads), is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(x.shape) @ p[f"{layer}.out"]
        inner = F.gelu(norm(p, f"{layer}.norm2", x, 1e-5) @ p[f"{layer}.up"], approximate="tanh")
        x = x + inner @ p[f"{layer}.down"]
    logits = norm(p, "last", x, 1e-5) @ p["bytes"].T
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def bert(case, p, tokens, segments, wanted, follows):
    """As the loss of bert() in _cuda_models.py. Integers are int64."""
    layers, heads, epsilon = case["sizes"].get("layers", 12), case["sizes"].get("heads", 12), 1e-12
    batch, length = tokens.shape

    def dense(name, x):
        kernel, bias = p[f"{name}.kernel"], p[f"{name}.bias"]
        return torch.addmm(bias.flatten(), x.flatten(0, -2), kernel.reshape(x.shape[-1], -1)).view(*x.shape[:-1], -1)
    x = F.embedding(tokens, p["Embed_0.embedding"]) + F.embedding(segments, p["Embed_1.embedding"])
    x = norm(p, "LayerNorm_0", x + p["Embed_2.embedding"][:length], epsilon)
    there = tokens > 0
    mask = torch.where(there[:, None, :, None] & there[:, None, None, :], 0.0, LARGE_NEGATIVE)
    for i in range(layers):
        layer = f"EncoderLayer_{i}"
        attention = f"{layer}.MultiHeadDotProductAttention_0"
        q, k, v = (heads_of(dense(f"{attention}.{name}", x), heads) for name in ("query", "key", "value"))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(batch, length, -1)
        out = p[f"{attention}.out.kernel"].flatten(0, 1)
        x = norm(p, f"{layer}.LayerNorm_0", x + mixed @ out + p[f"{attention}.out.bias"], epsilon)
        y = dense(f"{layer}.Dense_0", F.gelu(dense(f"{layer}.Dense_1", x)))
        x = norm(p, f"{layer}.LayerNorm_1", x + y, epsilon)
    pooled = torch.tanh(dense("Dense_0", x[:, 0]))
    y = norm(p, "LayerNorm_1", F.gelu(dense("Dense_1", x)), epsilon)
    words = torch.addmm(p["bias"], y.flatten(0, 1), p["Embed_0.embedding"].T)
    guessed = (wanted >= 0).float()
    of_words = F.cross_entropy(words, wanted.clamp_min(0).flatten(), reduction="none").view(batch, length) * guessed
    of_pairs = F.cross_entropy(dense("Dense_2", pooled), follows, reduction="none")
    return (of_words.sum(-1) / guessed.sum(-1).clamp_min(1) + of_pairs).mean()


def optimizer(case, params, **options):
    """Of optax.adam(3e-4), and of optax.adamw(1e-4), whose decay is 1e-4."""
    if case["model"] == "bert":
        return torch.optim.AdamW(params, 1e-4, weight_decay=1e-4, **options)
    return torch.optim.Adam(params, 3e-4, **options)
