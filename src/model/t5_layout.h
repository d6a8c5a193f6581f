#pragma once

#include "headscope/model/family.h"

namespace headscope {

/// The tensor names of T5, which mT5 shares. The bias by distance is in the first layer of each stack.
[[nodiscard]] inline Layout t5_layout() {
  const std::vector<std::string> shared = {"shared.weight", "encoder.embed_tokens.weight",
                                           "decoder.embed_tokens.weight"};
  const auto mlp = [](const std::string& ff) {
    return std::vector<MlpNames>{
        {.up = ff + ".DenseReluDense.wi_1", .gate = ff + ".DenseReluDense.wi_0", .down = ff + ".DenseReluDense.wo"},
        {.up = ff + ".DenseReluDense.wi", .down = ff + ".DenseReluDense.wo"}};
  };
  const auto attention = [](const std::string& layer, const std::string& kind) {
    return Layout{.q = layer + "." + kind + ".q",
                  .k = layer + "." + kind + ".k",
                  .v = layer + "." + kind + ".v",
                  .o = layer + "." + kind + ".o",
                  .norm = layer + ".layer_norm"};
  };
  Layout self = attention("decoder.block.{i}.layer.0", "SelfAttention");
  self.embedding = shared;
  self.forward = {.relative_bias = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                  .final_norm = "decoder.final_layer_norm"};
  Layout cross = attention("decoder.block.{i}.layer.1", "EncDecAttention");
  cross.forward = {.mlp_norm = "decoder.block.{i}.layer.2.layer_norm", .mlp = mlp("decoder.block.{i}.layer.2")};

  Layout layout = attention("encoder.block.{i}.layer.0", "SelfAttention");
  layout.embedding = shared;
  layout.unembedding = {"lm_head.weight"};
  layout.forward = {.relative_bias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                    .mlp_norm = "encoder.block.{i}.layer.1.layer_norm",
                    .mlp = mlp("encoder.block.{i}.layer.1"),
                    .final_norm = "encoder.final_layer_norm"};
  layout.decoder = {self, cross};
  return layout;
}

/// The names of llama.cpp for T5. Only the heads are read: it computes the output in another way.
[[nodiscard]] inline Layout gguf_t5_layout() {
  const auto attention = [](const std::string& stack, const std::string& name) {
    const std::string module = stack + ".blk.{i}." + name;
    return Layout{.q = module + "_q",
                  .k = module + "_k",
                  .v = module + "_v",
                  .o = module + "_o",
                  .norm = module + "_norm",
                  .embedding = {"token_embd.weight"},
                  .unembedding = {"output.weight"},
                  .forward = {.final_norm = stack + ".output_norm"}};
  };
  Layout layout = attention("enc", "attn");
  layout.decoder = {attention("dec", "attn"), attention("dec", "cross_attn")};
  return layout;
}

/// The same where every layer has a bias of its own.
[[nodiscard]] inline Layout umt5_layout() {
  Layout layout = t5_layout();
  layout.forward.relative_bias = "encoder.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight";
  layout.decoder[0].forward.relative_bias = "decoder.block.{i}.layer.0.SelfAttention.relative_attention_bias.weight";
  return layout;
}

/// What T5 and mT5 have in common.
[[nodiscard]] inline Family t5_family() {
  return {.keys = {.d_model = {"d_model"},
                   .layers = {"num_layers"},
                   .heads = {"num_heads"},
                   .head_dim = {"d_kv"},
                   .decoder_layers = {"num_decoder_layers"}},
          .causal = false,
          .norm = NormKind::kRmsNorm,
          .position = PositionKind::kDistanceBias,
          .forward = {.activation_keys = {"feed_forward_proj"},
                      .activation = Activation::kRelu,
                      .epsilon_keys = {"layer_norm_epsilon"},
                      .epsilon = 1e-6,
                      .unscaled = true},
          .layouts = {t5_layout()}};
}

}  // namespace headscope
