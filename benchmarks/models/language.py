"""Language models of `transformers`: two layers, 64 wide, batch and length dynamic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import torch

from benchmarks.models.model import Model

Inputs = Callable[[int, int], dict[str, torch.Tensor]]
VOCABULARY: Final = 100
LONGEST: Final = 64
EAGER: Final = {"attn_implementation": "eager"}
"""Attention in operators of its own. The other way of `transformers` branches on whether there is a single token."""

SHARED: Final = {
    "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128,
    "vocab_size": VOCABULARY, "max_position_embeddings": LONGEST, **EAGER,
}  # fmt: skip
SDPA: Final = {"attn_implementation": "sdpa"}
TOKENS: Final = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
NO_DROPOUT: Final = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
KEY_VALUE_HEADS: Final = {"num_key_value_heads": 2}


def made(kind: str, head: str, **options: object) -> Callable[[], torch.nn.Module]:
    """A module of `transformers`: its configuration by name, with these options."""

    def build() -> torch.nn.Module:
        import transformers

        config = getattr(transformers, f"{kind}Config")(**options)
        return getattr(transformers, f"{kind}{head}")(config).train()

    return build


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (batch, length))


def text(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Tokens, and the tokens to predict."""
    return {"input_ids": tokens(batch, length), "labels": tokens(batch, length)}


def masked(batch: int, length: int) -> dict[str, torch.Tensor]:
    """The same, and which tokens are there."""
    return {**text(batch, length), "attention_mask": torch.ones(batch, length, dtype=torch.int64)}


def sound(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Spectra for whisper, whose encoder has a fixed length, and text."""
    return {"input_features": torch.randn(batch, 8, 32), "labels": tokens(batch, length)}


def decoder(name: str, kind: str, inputs: Inputs = text, **options: object) -> Model:
    return Model(name, made(kind, "ForCausalLM", **{**SHARED, **TOKENS, **options}), inputs)


def encoder(name: str, kind: str, inputs: Inputs = text, head: str = "ForMaskedLM", **options: object) -> Model:
    return Model(name, made(kind, head, **{**SHARED, **TOKENS, **NO_DROPOUT, **options}), inputs)


BART: Final = {
    "encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": VOCABULARY,
    "max_position_embeddings": LONGEST, "dropout": 0.0, "decoder_start_token_id": 2, **TOKENS, **EAGER,
}  # fmt: skip
SINGLE_TOKEN: Final = ("masking_utils.py", "sdpa_attention.py")
SCAN: Final = ("modeling_mamba.py",)

MODELS: Final = (
    Model(
        "gpt2",
        made(
            "GPT2", "LMHeadModel", n_layer=2, n_embd=64, n_head=4, vocab_size=VOCABULARY, n_positions=LONGEST,
            resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, **EAGER, **TOKENS,
        ),
        text,
    ),
    Model(
        "t5",
        made(
            "T5", "ForConditionalGeneration", num_layers=2, d_model=64, d_ff=128, d_kv=16, num_heads=4,
            vocab_size=VOCABULARY, dropout_rate=0, decoder_start_token_id=0, pad_token_id=0, **EAGER,
        ),
        text,
    ),
    encoder("bert", "Bert"),
    decoder("llama", "Llama"),
    decoder("mistral", "Mistral", **KEY_VALUE_HEADS),
    decoder("mixtral", "Mixtral", num_local_experts=4, num_experts_per_tok=2, **KEY_VALUE_HEADS),
    decoder("qwen2", "Qwen2", masked, **KEY_VALUE_HEADS),
    replace(decoder("llama_sdpa", "Llama", **SDPA), branches=SINGLE_TOKEN),
    decoder("qwen3", "Qwen3", head_dim=16, **KEY_VALUE_HEADS),
    decoder("gemma", "Gemma", head_dim=16, **KEY_VALUE_HEADS),
    decoder("gemma2", "Gemma2", head_dim=16, **KEY_VALUE_HEADS),
    decoder("phi", "Phi", embd_pdrop=0.0, resid_pdrop=0.0),
    decoder("phi3", "Phi3", embd_pdrop=0.0, resid_pdrop=0.0),
    decoder("gpt_neox", "GPTNeoX", hidden_dropout=0.0, attention_dropout=0.0),
    decoder("falcon", "Falcon", hidden_dropout=0.0, attention_dropout=0.0, alibi=False),
    decoder("stablelm", "StableLm", num_key_value_heads=4),
    decoder("olmo", "Olmo"),
    decoder("opt", "OPT", ffn_dim=128, dropout=0.0, word_embed_proj_dim=64),
    replace(decoder("mamba", "Mamba", state_size=8, conv_kernel=4, use_associative_scan=False), branches=SCAN),
    encoder("distilbert", "DistilBert", masked, n_layers=2, dim=64, n_heads=4, hidden_dim=128, dropout=0.0,
            attention_dropout=0.0, sinusoidal_pos_embds=False),
    encoder("roberta", "Roberta", masked, max_position_embeddings=LONGEST + 2),
    encoder("electra", "Electra", embedding_size=64),
    encoder("albert", "Albert", embedding_size=64, inner_group_num=1),
    Model("bart", made("Bart", "ForConditionalGeneration", **BART), text),
    Model(
        "whisper",
        made(
            "Whisper", "ForConditionalGeneration", **BART, num_mel_bins=8, max_source_positions=16,
            max_target_positions=LONGEST,
        ),
        sound,
    ),
)  # fmt: skip
