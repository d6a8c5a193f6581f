#include "headscope/model/family.h"
#include "model/clip_layout.h"

namespace headscope::families {

// The image tower of BLIP, BLIP-2 and InstructBLIP: CLIP's blocks with fused projections and a norm at the end.
Family blip_vision() {
  Layout layout = clip_layout("vision_model.");
  layout.fusion = Fusion::kBlocks;
  layout.q = "encoder.layers.{i}.self_attn.qkv";
  layout.k = layout.v = "";
  layout.o = "encoder.layers.{i}.self_attn.projection";
  layout.forward.positions = "embeddings.position_embedding";
  layout.forward.patches = "embeddings.patch_embedding";
  layout.forward.leading = {"embeddings.class_embedding"};
  layout.forward.final_norm = "post_layernorm";
  return {.name = "blip_vision",
          .model_types = {"blip", "blip_vision_model", "blip_2_vision_model", "instructblip_vision_model"},
          .architectures = {"BlipVision", "Blip2Vision", "InstructBlipVision"},
          .defaults = {.heads = 12},
          .modality = Modality::kImage,
          .causal = false,
          .layouts = {layout}};
}

}  // namespace headscope::families
