"""Language models that generate: caches that grow, stand or slide, beams, sampling, assistants, processors."""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers

from tests.frontends.pytorch.real_programs.running import Call, Compiling, program

generation = program("generation")
SMALL: dict[str, Any] = {"vocab_size": 60, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
LLAMA: dict[str, Any] = {
    **SMALL, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": 64, "head_dim": 8,
}  # fmt: skip


def gpt2() -> Any:
    config = transformers.GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=64, **SMALL)
    return transformers.GPT2LMHeadModel(config).eval()


def llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA)).eval()


def generating(model: Any, compiling: Compiling, **options: Any) -> Call:
    """Generation from a prompt of so many tokens, with the model's `forward` compiled."""
    model.forward = compiling(model.forward)

    def call(size: int) -> object:
        prompt = torch.randint(3, 60, (2, size))
        settings = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0, "eos_token_id": None, **options}
        with torch.no_grad():
            return model.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)

    return call


@generation
def greedy_gpt2(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling)


@generation
def greedy_llama(compiling: Compiling) -> Call:
    return generating(llama(), compiling)


@generation
def greedy_gpt_neox(compiling: Compiling) -> Call:
    config = transformers.GPTNeoXConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=64,
        **SMALL,
    )  # fmt: skip
    return generating(transformers.GPTNeoXForCausalLM(config).eval(), compiling)


@generation
def greedy_gemma(compiling: Compiling) -> Call:
    return generating(transformers.GemmaForCausalLM(transformers.GemmaConfig(**LLAMA)).eval(), compiling)


@generation
def greedy_qwen2(compiling: Compiling) -> Call:
    return generating(transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**LLAMA)).eval(), compiling)


@generation
def greedy_falcon(compiling: Compiling) -> Call:
    config = transformers.FalconConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, **SMALL)
    return generating(transformers.FalconForCausalLM(config).eval(), compiling)


@generation
def greedy_mamba(compiling: Compiling) -> Call:
    config = transformers.MambaConfig(hidden_size=16, state_size=4, num_hidden_layers=2, **SMALL)
    return generating(transformers.MambaForCausalLM(config).eval(), compiling)


@generation
def sliding_window_of_mistral(compiling: Compiling) -> Call:
    config = transformers.MistralConfig(**LLAMA, sliding_window=4)
    return generating(transformers.MistralForCausalLM(config).eval(), compiling)


@generation
def sliding_and_full_layers_of_gemma2(compiling: Compiling) -> Call:
    config = transformers.Gemma2Config(**LLAMA, sliding_window=4)
    return generating(transformers.Gemma2ForCausalLM(config).eval(), compiling)


@generation
def encoder_and_decoder_of_t5(compiling: Compiling) -> Call:
    config = transformers.T5Config(
        d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, vocab_size=60, decoder_start_token_id=0
    )
    return generating(transformers.T5ForConditionalGeneration(config).eval(), compiling)


@generation
def static_cache(compiling: Compiling) -> Call:
    return generating(llama(), compiling, cache_implementation="static")


@generation
def static_cache_of_gpt2(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling, cache_implementation="static")


@generation
def without_a_cache(compiling: Compiling) -> Call:
    return generating(llama(), compiling, use_cache=False)


@generation
def a_cache_that_is_given(compiling: Compiling) -> Call:
    """Tokens one by one into a cache of the program's own, which it goes on with in the next call."""
    model = llama()
    forward = compiling(model.forward)

    def call(size: int) -> object:
        cache = transformers.DynamicCache(config=model.config)
        prompt, found = torch.randint(3, 60, (2, size)), []
        with torch.no_grad():
            for place in range(size):
                found.append(forward(prompt[:, place : place + 1], past_key_values=cache).logits)
        return found, cache.get_seq_length(), [layer.keys for layer in cache.layers]

    return call


@generation
def beams(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling, num_beams=3)


@generation
def sampled_beams(compiling: Compiling) -> Call:
    return generating(llama(), compiling, num_beams=2, do_sample=True)


@generation
def sampled(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling, do_sample=True)


@generation
def sampled_by_top_k_and_top_p(compiling: Compiling) -> Call:
    return generating(llama(), compiling, do_sample=True, top_k=5, top_p=0.9, temperature=0.7)


@generation
def assisted(compiling: Compiling) -> Call:
    model, assistant = llama(), llama()
    assistant.forward = compiling(assistant.forward)
    model.forward = compiling(model.forward)

    def call(size: int) -> object:
        prompt = torch.randint(3, 60, (1, size))
        with torch.no_grad():
            return model.generate(
                prompt, attention_mask=torch.ones_like(prompt), assistant_model=assistant, max_new_tokens=6,
                do_sample=False, pad_token_id=0, eos_token_id=None,
            )  # fmt: skip

    return call


@generation
def assisted_by_the_prompt(compiling: Compiling) -> Call:
    model = llama()
    model.forward = compiling(model.forward)

    def call(size: int) -> object:
        prompt = torch.randint(3, 60, (1, size)).repeat(1, 2)
        with torch.no_grad():
            return model.generate(
                prompt, attention_mask=torch.ones_like(prompt), prompt_lookup_num_tokens=2, max_new_tokens=5,
                do_sample=False, pad_token_id=0, eos_token_id=None,
            )  # fmt: skip

    return call


@generation
def penalties(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling, repetition_penalty=1.3, no_repeat_ngram_size=2, min_new_tokens=2)


@generation
def guidance(compiling: Compiling) -> Call:
    return generating(gpt2(), compiling, guidance_scale=1.5)


@generation
def stops_at_the_end(compiling: Compiling) -> Call:
    return generating(llama(), compiling, eos_token_id=[5, 7, 9, 11, 13, 15])


@generation
def processors_compiled(compiling: Compiling) -> Call:
    """The processors of the scores, compiled, not the model."""
    processors = transformers.LogitsProcessorList([
        transformers.RepetitionPenaltyLogitsProcessor(1.2),
        transformers.TemperatureLogitsWarper(0.5),
        transformers.TopKLogitsWarper(4),
        transformers.TopPLogitsWarper(0.8),
    ])
    model = gpt2()
    compiled = compiling(lambda tokens, scores: processors(tokens, scores))

    def call(size: int) -> object:
        tokens = torch.randint(3, 60, (2, size))
        with torch.no_grad():
            return compiled(tokens, model(tokens).logits[:, -1])

    return call


@generation
def a_model_that_was_copied(compiling: Compiling) -> Call:
    compiled = compiling(llama())
    other = copy.deepcopy(compiled)

    def call(size: int) -> object:
        tokens = torch.randint(3, 60, (2, size))
        with torch.no_grad():
            return compiled(tokens).logits, other(tokens).logits

    return call
