#include "headscope/model/family.h"
#include "model/clip_layout.h"
#include "model/gguf_vision_layout.h"

namespace headscope::families {

// CLIP's image tower, alone, next to the text tower, or inside LLaVA.
Family clip_vision() {
  Layout layout = clip_layout("vision_model.");
  // post_layernorm is only for the pooled class token.
  layout.forward.patches = "embeddings.patch_embedding";
  layout.forward.leading = {"embeddings.class_embedding"};
  layout.forward.embedding_norm = "pre_layrnorm";
  layout.forward.classify = {{"classifier"}};
  return {.name = "clip_vision",
          .model_types = {"clip", "clip_vision_model", "metaclip_2", "metaclip_2_vision_model", "chinese_clip",
                          "chinese_clip_vision_model", "altclip", "altclip_vision_model", "clipseg",
                          "clipseg_vision_model"},
          .architectures = {"CLIPModel", "CLIPVision", "CLIPForImage", "MetaClip2Model", "MetaClip2Vision"},
          .defaults = {.heads = 12},
          .modality = Modality::kImage,
          .causal = false,
          .forward = {.activation = Activation::kQuickGelu, .pooling = Pooling::kMean},
          .layouts = {layout},
          .gguf = GgufForm{"clip",
                           {gguf_clip_layout(Fusion::kNone), gguf_clip_layout(Fusion::kBlocks)},
                           PositionKind::kLearned,
                           "clip.vision"}};
}

}  // namespace headscope::families
