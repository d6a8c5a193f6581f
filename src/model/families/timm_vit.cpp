#include "headscope/model/family.h"

namespace headscope::families {

// The naming of timm and of the original ViT. timm's config.json names an architecture and leaves the number of heads
// to timm's source, so it is listed here.
Family timm_vit() {
  Layout layout{.fusion = Fusion::kBlocks,
                .q = "blocks.{i}.attn.qkv",
                .o = "blocks.{i}.attn.proj",
                .norm = "blocks.{i}.norm1",
                .output_scale = "blocks.{i}.ls1.gamma",
                .output_scale_optional = true,
                .never_has = {"blocks.{i}.gamma_1", "blocks.{i}.attn.q_proj.weight"},
                .forward = {.positions = "pos_embed",
                            .patches = "patch_embed.proj",
                            .leading = {"cls_token", "dist_token"},
                            .mlp_norm = "blocks.{i}.norm2",
                            .mlp = {{.up = "blocks.{i}.mlp.fc1", .down = "blocks.{i}.mlp.fc2"}},
                            .mlp_scale = "blocks.{i}.ls2.gamma",
                            .final_norm = "norm",
                            .classify = {{"head", "head_dist"}, {"head"}},
                            // Norms over heads, inside the MLP or before the blocks; gated MLPs; attention pooling;
                            // registers.
                            .never_has = {"blocks.0.attn.q_norm.weight", "blocks.0.attn.norm.weight",
                                          "blocks.0.mlp.norm.weight", "blocks.0.mlp.fc1_g.weight", "norm_pre.weight",
                                          "fc_norm.weight", "attn_pool.q.weight", "attn_pool.latent", "reg_token"}}};
  return {.name = "timm_vit",
          .model_types = {"timm_vit", "timm_wrapper"},
          .architectures = {"TimmWrapper"},
          .keys = {.d_model = {"num_features", "embed_dim"}, .layers = {"depth"}, .heads = {"num_heads"}},
          .heads_by_architecture = {{"vit_base_patch16_plus", 14},
                                    {"vit_base_patch32_plus", 14},
                                    {"vit_tiny", 3},
                                    {"vit_wee", 4},
                                    {"vit_pwee", 4},
                                    {"vit_little", 5},
                                    {"vit_small", 6},
                                    {"vit_medium", 8},
                                    {"vit_betwixt", 10},
                                    {"vit_base", 12},
                                    {"vit_large", 16},
                                    {"vit_so400m", 16},
                                    {"vit_huge", 16},
                                    {"vit_giant_patch14_reg4_dinov2", 24},
                                    {"vit_giant_patch14_dinov2", 24},
                                    {"vit_giant", 16},
                                    {"vit_gigantic", 16},
                                    {"deit_tiny", 3},
                                    {"deit_small", 6},
                                    {"deit_base", 12},
                                    {"deit3_small", 6},
                                    {"deit3_medium", 8},
                                    {"deit3_base", 12},
                                    {"deit3_large", 16},
                                    {"deit3_huge", 16}},
          // These have rotary positions or norms after attention.
          .other_architectures = {"dinov3", "rope", "rpn", "_plus_patch", "eva", "beit"},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.epsilon = 1e-6},
          .layouts = {layout}};
}

}  // namespace headscope::families
