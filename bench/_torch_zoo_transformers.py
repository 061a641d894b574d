# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of transformers, with configurations that are tiny, and batches for them."""
import functools

SAMPLES, LENGTH, TOKENS = 4, 8, 40
# As most configurations call them; `None` leaves one out.
COMMON = dict(vocab_size=TOKENS, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=32,
              pad_token_id=0, bos_token_id=1, eos_token_id=2)
IMAGES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8, num_labels=5)
AUDIO = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=TOKENS, num_labels=5,
             conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(8, 4), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
             apply_spec_augment=False, num_feat_extract_layers=2, mask_time_prob=0.0, mask_feature_prob=0.0, pad_token_id=0)
ROUTED = dict(num_experts=4, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)

CAUSAL = {
    "gpt2": {},
    "gpt_neo": dict(attention_types=[[["global", "local"], 1]], num_layers=2, num_heads=2),
    "gpt_neox": {},
    "gptj": dict(rotary_dim=4),
    "codegen": dict(rotary_dim=4, num_attention_heads=4),
    "gpt_bigcode": {},
    "llama": dict(num_key_value_heads=1),
    "mistral": dict(num_key_value_heads=1, head_dim=8),
    "mixtral": dict(num_key_value_heads=1, **ROUTED),
    "qwen2": dict(num_key_value_heads=1),
    "qwen3": dict(num_key_value_heads=1, head_dim=8),
    "qwen2_moe": dict(num_key_value_heads=1, shared_expert_intermediate_size=16, **ROUTED),
    "olmoe": dict(num_key_value_heads=1, **ROUTED),
    "gemma": dict(num_key_value_heads=1, head_dim=8),
    "gemma2": dict(num_key_value_heads=1, head_dim=8),
    "gemma3_text": dict(num_key_value_heads=1, head_dim=8),
    "phi": {}, "phi3": dict(num_key_value_heads=1), "opt": dict(word_embed_proj_dim=16, ffn_dim=32), "bloom": {},
    "falcon": {},
    "mpt": dict(d_model=16, n_heads=2, n_layers=2),
    "mamba": dict(state_size=4),
    "mamba2": dict(state_size=4, num_heads=4, head_dim=8, n_groups=1, chunk_size=4),
    "rwkv": dict(attention_hidden_size=16),
    "stablelm": dict(num_key_value_heads=1),
    "starcoder2": dict(num_key_value_heads=1),
    "cohere": dict(num_key_value_heads=1),
    "olmo": {},
    "olmo2": {},
    "granite": dict(num_key_value_heads=1),
    "nemotron": dict(num_key_value_heads=1, head_dim=8),
    "persimmon": {},
    "xglm": dict(d_model=16, ffn_dim=32, attention_heads=2, num_layers=2),
    "biogpt": {},
    "recurrent_gemma": dict(num_key_value_heads=1, lru_width=16, attention_window_size=4, num_hidden_layers=3),
    "glm": dict(num_key_value_heads=1, head_dim=8),
    "smollm3": dict(num_key_value_heads=1),
    "ctrl": dict(dff=32),
    "xlnet": dict(max_position_embeddings=None, d_model=16, n_head=2, d_inner=32, n_layer=2),
}
MASKED = {
    "bert": {},
    "roberta": dict(pad_token_id=1),
    "distilbert": dict(dim=16, n_heads=2, n_layers=2, hidden_dim=32),
    "albert": dict(embedding_size=16),
    "electra": dict(embedding_size=16),
    "deberta": dict(relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta-v2": dict(relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "mpnet": dict(pad_token_id=1),
    "camembert": dict(pad_token_id=1),
    "xlm-roberta": dict(pad_token_id=1),
    "xlm": dict(emb_dim=16, n_heads=2, n_layers=2),
    "fnet": {},
    "convbert": dict(embedding_size=16),
    "mobilebert": dict(embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16),
    "squeezebert": dict(embedding_size=16),
    "longformer": dict(attention_window=4, pad_token_id=1),
    "big_bird": dict(attention_type="original_full"),
    "roformer": dict(embedding_size=16),
    "nystromformer": dict(num_landmarks=4, segment_means_seq_len=8),
    "ibert": dict(pad_token_id=1),
    "modernbert": dict(cls_token_id=1, sep_token_id=2),
    "megatron-bert": {},
    "rembert": dict(input_embedding_size=16, output_embedding_size=16),
    "layoutlm": {},
    "funnel": dict(num_hidden_layers=None, block_sizes=[1, 1], d_model=16, n_head=2, d_head=8, d_inner=32,
        num_decoder_layers=1),
}
BOTH = dict(d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32,
            decoder_start_token_id=2, hidden_size=None, num_hidden_layers=None, num_attention_heads=None, intermediate_size=None)
TS = dict(d_model=16, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=1, num_heads=2, decoder_start_token_id=0, hidden_size=None,
          num_hidden_layers=None, num_attention_heads=None, intermediate_size=None, max_position_embeddings=None)
PAIRS = {
    "t5": TS, "mt5": TS, "umt5": TS, "longt5": {**TS, "encoder_attention_type": "local", "local_radius": 3},
    "switch_transformers": {**TS, "num_experts": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "bart": BOTH, "mbart": BOTH, "pegasus": BOTH, "marian": BOTH, "blenderbot": BOTH, "m2m_100": BOTH, "plbart": BOTH,
    "prophetnet": dict(hidden_size=16, encoder_ffn_dim=32, decoder_ffn_dim=32, num_encoder_layers=1,
        num_decoder_layers=1, num_encoder_attention_heads=2,
                       num_decoder_attention_heads=2, decoder_start_token_id=1, num_hidden_layers=None, num_attention_heads=None),
}
STAGED = dict(hidden_size=None, num_hidden_layers=None, num_attention_heads=None, intermediate_size=None, patch_size=None)
PICTURES = {
    "vit": {},
    "deit": dict(architectures=["DeiTForImageClassification"]),
    "beit": dict(vocab_size=TOKENS),
    "data2vec-vision": {},
    "dinov2": {},
    "vit_msn": {},
    "swin": {**STAGED, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4, "patch_size": 4},
    "swinv2": {**STAGED, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4, "patch_size": 4},
    "convnext": {**STAGED, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "convnextv2": {**STAGED, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2},
    "resnet": {**STAGED, "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]},
    "regnet": {**STAGED, "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "groups_width": 8},
    "bit": {**STAGED, "embedding_size": 32, "hidden_sizes": [128, 256], "depths": [1, 1]},
    "mobilenet_v1": {**STAGED, "depth_multiplier": 0.25}, "mobilenet_v2": {**STAGED, "depth_multiplier": 0.25},
    "mobilevit": {**STAGED, "hidden_sizes": [8, 8, 16], "neck_hidden_sizes": [8, 8, 8, 8, 8, 8, 16],
        "num_attention_heads": 2, "patch_size": 2},
    "segformer": {**STAGED, "hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2, "sr_ratios": [2, 1],
        "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2],
        "decoder_hidden_size": 16},
    "poolformer": {**STAGED, "hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2, "patch_sizes": [7,
        3], "strides": [4, 2], "padding": [2, 1]},
    "pvt": {**STAGED, "hidden_sizes": [8, 16], "depths": [1, 1], "num_encoder_blocks": 2,
        "sequence_reduction_ratios": [2, 1], "patch_sizes": [4, 2], "strides": [4, 2], "num_attention_heads": [1, 2],
        "mlp_ratios": [2, 2]},
    "focalnet": {**STAGED, "embed_dim": 8, "depths": [1, 1], "focal_levels": [1, 1], "focal_windows": [3, 3],
        "patch_size": 4},
    "levit": {**STAGED, "architectures": ["LevitForImageClassification"], "image_size": 64, "hidden_sizes": [16, 16,
        16], "num_attention_heads": [2, 2, 2], "depths": [1, 1, 1], "key_dim": [8, 8, 8]},
    "swiftformer": {**STAGED, "embed_dims": [8, 8, 16, 16], "depths": [1, 1, 1, 1]},
    "hiera": {**STAGED, "image_size": [32, 32], "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2],
        "patch_size": [7, 7], "masked_unit_size": [4, 4], "num_query_pool": 1},
    "efficientnet": {**STAGED, "width_coefficient": 0.1, "depth_coefficient": 0.1, "hidden_dim": 128},
}
SOUNDS = {"wav2vec2": {}, "hubert": {}, "wavlm": {}, "unispeech-sat": {}, "sew": {}, "data2vec-audio": {}, "wav2vec2-conformer": {}}


def _config(kind, base, options):
    import transformers
    return transformers.AutoConfig.for_model(kind, **{k: v for k, v in {**base, **options}.items() if v is not None})


def _by_auto(kind, auto, base, options):
    import transformers
    # Experts as products of all that are chosen: the default on the CPU, torch._grouped_mm, is not traced.
    chosen = {"experts_implementation": "batched_mm"} if "num_experts_per_tok" in options else {}
    return getattr(transformers, auto).from_config(_config(kind, base, options), **chosen)


def _tokens(g, low=3):
    import torch
    return torch.randint(low, TOKENS, (SAMPLES, LENGTH), generator=g)


def _with_labels(g):
    return {"input_ids": _tokens(g), "labels": _tokens(g)}


def _pictures(size):
    def of(g):
        import torch
        return {"pixel_values": torch.randn(SAMPLES, 3, size, size, generator=g), "labels": torch.randint(0, 5, (SAMPLES,), generator=g)}
    return of


def _sounds(g):
    import torch
    return {"input_values": torch.randn(SAMPLES, 400, generator=g), "labels": torch.randint(0, 5, (SAMPLES,), generator=g)}


def _of_labels(model, batch):
    return model(**batch).loss


def _others():
    """Those that are like no others: name -> (makes it, loss, batch)."""
    import torch
    import transformers as t
    text, vision = {**COMMON, "max_position_embeddings": 16, "projection_dim": 8}, {**IMAGES, "projection_dim": 8}

    def pairs(model, batch):
        return model(**batch, return_loss=True).loss

    def both(g):
        return {"input_ids": _tokens(g), "pixel_values": torch.randn(SAMPLES, 3, 32, 32, generator=g)}

    def spectrum(g):
        return {"input_features": torch.randn(SAMPLES, 8, 32, generator=g), "labels": _tokens(g)}

    def rows(g):
        return {"past_values": torch.randn(SAMPLES, 32, 2, generator=g), "future_values": torch.randn(SAMPLES, 8, 2, generator=g)}
    whisper = {**COMMON, **BOTH, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16, "suppress_tokens": None, "begin_suppress_tokens": None}

    def evaluating(kind):
        model = _by_auto(kind, "AutoModelForAudioClassification", AUDIO, {}).eval()
        model.train = lambda mode=True: model  # layers that are left out by chance would depend on the data
        return model
    return {
        "wav2vec2, eval mode": (lambda: evaluating("wav2vec2"), _of_labels, _sounds),
        "wavlm, eval mode": (lambda: evaluating("wavlm"), _of_labels, _sounds),
        "clip": (lambda: t.CLIPModel(t.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)), pairs,
            both),
        "siglip": (lambda: t.SiglipModel(t.SiglipConfig(text_config=text, vision_config=vision)), pairs, both),
        "whisper": (lambda: _by_auto("whisper", "AutoModelForSpeechSeq2Seq", whisper, {}), _of_labels, spectrum),
        "audio-spectrogram-transformer": (lambda: _by_auto("audio-spectrogram-transformer",
            "AutoModelForAudioClassification", IMAGES, dict(num_mel_bins=8, max_length=32, patch_size=4,
            time_stride=4, frequency_stride=4)),
                                          _of_labels, lambda g: {"input_values": torch.randn(SAMPLES, 32, 8, generator=g), "labels": torch.randint(0, 5, (SAMPLES,), generator=g)}),
        "segformer, segmentation": (lambda: _by_auto("segformer", "AutoModelForSemanticSegmentation", IMAGES,
            PICTURES["segformer"]), _of_labels,
                                    lambda g: {"pixel_values": torch.randn(SAMPLES, 3, 32, 32, generator=g), "labels": torch.randint(0, 5, (SAMPLES, 32, 32), generator=g)}),
        "patchtst": (lambda: t.PatchTSTForPrediction(t.PatchTSTConfig(num_input_channels=2, context_length=32,
            prediction_length=8, patch_length=8, patch_stride=8, d_model=16, num_hidden_layers=1,
                                                                      num_attention_heads=2, ffn_dim=32, loss="mse")), _of_labels, rows),
        "patchtsmixer": (lambda: t.PatchTSMixerForPrediction(t.PatchTSMixerConfig(num_input_channels=2,
            context_length=32, prediction_length=8, patch_length=8, patch_stride=8, d_model=16, num_layers=1)),
                         _of_labels, rows),
    }


def models():
    """name -> (makes it, loss of the model and a batch, batch of a generator)."""
    import transformers
    transformers.logging.set_verbosity_error()
    found = {}
    for table, auto, base, batch in ((CAUSAL, "AutoModelForCausalLM", COMMON, _with_labels), (MASKED, "AutoModelForMaskedLM", COMMON, _with_labels),
                                     (PAIRS, "AutoModelForSeq2SeqLM", COMMON, _with_labels), (SOUNDS, "AutoModelForSequenceClassification", AUDIO, _sounds)):
        for kind, options in table.items():
            auto_ = "AutoModelForAudioClassification" if table is SOUNDS else auto
            found[kind] = (functools.partial(_by_auto, kind, auto_, base, options), _of_labels, batch)
    for kind, options in PICTURES.items():
        size = options.get("image_size") or 32
        found[kind] = (functools.partial(_by_auto, kind, "AutoModelForImageClassification", IMAGES, options), _of_labels,
                       _pictures(size if isinstance(size, int) else size[0]))
    return {f"transformers/{n}": v for n, v in {**found, **_others()}.items()}
