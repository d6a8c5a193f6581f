#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>

#include "headscope/image/preprocess.h"
#include "headscope/io/model_file.h"
#include "image/preprocess_config_reader.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// Defaults of transformers' image processors.
struct Defaults {
  std::string_view name;  // without "ImageProcessor"
  ResizeTo resize;
  std::size_t edge;
  bool int_is_square;  // meaning of "size": 224
  Resample resample;
  std::optional<std::size_t> crop;
  std::array<float, 3> mean;
  std::array<float, 3> std;
};

constexpr std::array<float, 3> kHalf = {0.5F, 0.5F, 0.5F};
constexpr std::array<float, 3> kImagenetMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kImagenetStd = {0.229F, 0.224F, 0.225F};
constexpr std::array<float, 3> kClipMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr std::array<float, 3> kClipStd = {0.26862954F, 0.26130258F, 0.27577711F};

constexpr std::array kProcessors = {
    Defaults{"ViT", ResizeTo::kSize, 224, true, Resample::kBilinear, std::nullopt, kHalf, kHalf},
    Defaults{"DeiT", ResizeTo::kSize, 256, true, Resample::kBicubic, 224, kHalf, kHalf},
    Defaults{"CLIP", ResizeTo::kShortestEdge, 224, false, Resample::kBicubic, 224, kClipMean, kClipStd},
    Defaults{"ChineseCLIP", ResizeTo::kShortestEdge, 224, false, Resample::kBicubic, 224, kClipMean, kClipStd},
    Defaults{"Blip", ResizeTo::kSize, 384, true, Resample::kBicubic, std::nullopt, kClipMean, kClipStd},
    Defaults{"Siglip", ResizeTo::kSize, 224, false, Resample::kBicubic, std::nullopt, kHalf, kHalf},
    Defaults{"Siglip2", ResizeTo::kPatches, 16, false, Resample::kBilinear, std::nullopt, kHalf, kHalf},
    Defaults{"Beit", ResizeTo::kSize, 224, true, Resample::kBicubic, std::nullopt, kHalf, kHalf},
    Defaults{"Gemma3", ResizeTo::kSize, 224, true, Resample::kBilinear, std::nullopt, kHalf, kHalf},
    Defaults{"GotOcr2", ResizeTo::kSize, 384, true, Resample::kBicubic, std::nullopt, kClipMean, kClipStd},
    Defaults{"Llava", ResizeTo::kShortestEdge, 224, false, Resample::kBicubic, 224, kClipMean, kClipStd},
    Defaults{"Pixtral", ResizeTo::kWithin, 1024, true, Resample::kBicubic, std::nullopt, kClipMean, kClipStd},
    Defaults{"Qwen2VL", ResizeTo::kArea, 14, false, Resample::kBicubic, std::nullopt, kClipMean, kClipStd},
    Defaults{"DINOv3ViT", ResizeTo::kSize, 224, true, Resample::kBilinear, std::nullopt, kImagenetMean, kImagenetStd},
    Defaults{"Bit", ResizeTo::kShortestEdge, 224, false, Resample::kBicubic, 224, kClipMean, kClipStd},
};

struct ModelType {
  std::string_view model_type;
  std::string_view processor;
};

constexpr std::array kModelTypes = {
    ModelType{"vit", "ViT"},
    ModelType{"deit", "DeiT"},
    ModelType{"clip", "CLIP"},
    ModelType{"clip_vision_model", "CLIP"},
    ModelType{"dinov2", "Bit"},
    ModelType{"dinov2_with_registers", "Bit"},
    ModelType{"siglip", "Siglip"},
    ModelType{"siglip_vision_model", "Siglip"},
    ModelType{"beit", "Beit"},
    ModelType{"data2vec-vision", "Beit"},
    ModelType{"vit_mae", "ViT"},
    ModelType{"swin", "ViT"},
    ModelType{"swinv2", "ViT"},
    ModelType{"ijepa", "ViT"},
    ModelType{"vit_msn", "ViT"},
    ModelType{"chinese_clip", "ChineseCLIP"},
    ModelType{"chinese_clip_vision_model", "ChineseCLIP"},
    ModelType{"altclip", "CLIP"},
    ModelType{"clipseg", "ViT"},
    ModelType{"blip", "Blip"},
    ModelType{"blip-2", "Blip"},
    ModelType{"instructblip", "Blip"},
    ModelType{"siglip2", "Siglip2"},
    ModelType{"siglip2_vision_model", "Siglip2"},
    ModelType{"dinov3_vit", "DINOv3ViT"},
    ModelType{"paligemma", "Siglip"},
    ModelType{"gemma3", "Gemma3"},
    ModelType{"internvl", "GotOcr2"},
    ModelType{"llava", "Llava"},
    ModelType{"mistral3", "Pixtral"},
    ModelType{"pixtral", "Pixtral"},
    ModelType{"qwen2_vl", "Qwen2VL"},
    ModelType{"qwen2_5_vl", "Qwen2VL"},
    ModelType{"qwen3_vl", "Qwen2VL"},
};

const Defaults* find_processor(std::string_view name) {
  for (const Defaults& processor : kProcessors) {
    if (processor.name == name) return &processor;
  }
  return nullptr;
}

std::string known_processors() {
  std::string names;
  for (const Defaults& processor : kProcessors) names += fmt::format("{}{}", names.empty() ? "" : ", ", processor.name);
  return names;
}

class PreprocessorConfig {
 public:
  PreprocessorConfig(JsonValue root, JsonValue config, std::string_view where)
      : reader_(root, where), config_(config), channels_(channels_of(config, where)), defaults_(processor()) {}

  Preprocessing run() const {
    reject_other_steps();
    Preprocessing result;
    result.channels = channels_;
    if (reader_.flag("do_resize").value_or(true)) read_resize(result);
    if (reader_.flag("do_center_crop").value_or(defaults_.crop.has_value())) result.crop = crop_size();
    if (reader_.flag("do_rescale").value_or(true)) {
      result.scale = reader_.positive("rescale_factor").value_or(1.0 / 255);
    }
    result.scale_first = defaults_.name == "DINOv3ViT" && result.resize != ResizeTo::kNothing;
    if (result.scale_first && (result.crop || result.resample == Resample::kNearest)) {
      reader_.fail(
          "crops or picks the nearest pixel, which headscope does not support here; pass the image's values "
          "with --pixels",
          ErrorKind::kUnsupported);
    }
    if (reader_.flag("do_normalize").value_or(true)) {
      const auto statistics = [&](std::string_view key, std::optional<std::vector<float>> stated, const auto& usual) {
        return stated ? *stated : default_per_channel({usual.begin(), usual.end()}, channels_, key, reader_);
      };
      result.mean = statistics("image_mean", reader_.per_channel("image_mean", channels_), defaults_.mean);
      result.std = statistics("image_std", reader_.divisors("image_std", channels_), defaults_.std);
    }
    return result;
  }

 private:
  // "CLIPImageProcessorFast" and "CLIPFeatureExtractor" both become "CLIP".
  const Defaults& processor() const {
    for (const std::string_view key : {"image_processor_type", "feature_extractor_type"}) {
      const auto name = reader_.text(key);
      if (!name) continue;
      std::string_view base = *name;
      for (const std::string_view end : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor"}) {
        if (base.ends_with(end)) base.remove_suffix(end.size());
      }
      if (const Defaults* found = find_processor(base)) return *found;
      reader_.fail(
          fmt::format("'{}' is '{}', expected the processor of one of {}; pass the image's values with --pixels", key,
                      printable(*name, 60), known_processors()),
          ErrorKind::kUnsupported);
    }
    const auto model_type = config_.find("model_type").as_string();
    for (const ModelType& known : kModelTypes) {
      if (model_type == known.model_type) return *find_processor(known.processor);
    }
    reader_.fail(fmt::format("names no image processor, and none is known for the model type '{}' of config.json; pass "
                             "the image's values with --pixels",
                             printable(model_type.value_or(""), 60)),
                 ErrorKind::kUnsupported);
  }

  void reject_other_steps() const {
    for (const std::string_view key :
         {"do_pad", "do_flip_channel_order", "do_thumbnail", "use_square_size", "do_pan_and_scan", "crop_to_patches"}) {
      if (!reader_.flag(key).value_or(false)) continue;
      if (key == "do_pad" && defaults_.resize == ResizeTo::kWithin) continue;  // pads smaller images of a batch
      reader_.fail(
          fmt::format("requests '{}', which headscope does not support; pass the image's values with --pixels", key),
          ErrorKind::kUnsupported);
    }
  }

  void read_resize(Preprocessing& result) const {
    result.resize = defaults_.resize;
    result.size = {defaults_.edge, defaults_.edge};
    result.resample = resample();
    const JsonValue size = reader_.find("size");
    if (result.resize == ResizeTo::kArea) {
      read_area(size, result);
      return;
    }
    if (result.resize == ResizeTo::kPatches) {
      const JsonValue patch = reader_.find("patch_size");
      const JsonValue patches = reader_.find("max_num_patches");
      result.patch =
          patch.is_null() ? ImageSize{defaults_.edge, defaults_.edge} : height_and_width(patch, "patch_size");
      result.max_patches = patches.is_null() ? 256 : reader_.edge(patches, "max_num_patches");
      return;
    }
    if (result.resize == ResizeTo::kWithin) {
      const JsonValue longest = size.find("longest_edge");
      if (!longest.is_null()) result.size.height = result.size.width = reader_.edge(longest, "size.longest_edge");
      if (longest.is_null() && !size.is_null()) result.size = height_and_width(size, "size");
      const JsonValue patch = reader_.find("patch_size");
      result.patch = patch.is_null() ? ImageSize{16, 16} : height_and_width(patch, "patch_size");
      return;
    }
    if (size.is_null()) return;
    if (size.is_object() && size.find("height").is_null()) {
      const std::size_t edge = shortest_edge(size);
      result.resize = ResizeTo::kShortestEdge;
      result.size = {edge, edge};
    } else {
      const bool number = !size.is_object() && !size.is_array();
      const bool square = reader_.flag("default_to_square").value_or(defaults_.int_is_square);
      result.resize = number && !square ? ResizeTo::kShortestEdge : ResizeTo::kSize;
      result.size = height_and_width(size, "size");
    }
  }

  // Qwen's size holds numbers of pixels, whatever its keys say; older files have them beside it.
  void read_area(JsonValue size, Preprocessing& result) const {
    constexpr std::uint64_t kMost = 64 * 1024 * 1024;
    const auto pixels = [&](std::string_view old, std::string_view key, std::size_t usual) {
      const JsonValue stated = !reader_.find(old).is_null() ? reader_.find(old) : size.find(key);
      if (stated.is_null()) return usual;
      const auto number = stated.as_unsigned();
      if (!number || *number == 0 || *number > kMost) {
        reader_.fail(fmt::format("'{}' is not a number of pixels from 1 to {}", key, kMost));
      }
      return static_cast<std::size_t>(*number);
    };
    result.min_pixels = pixels("min_pixels", "shortest_edge", 56 * 56);
    result.max_pixels = pixels("max_pixels", "longest_edge", 28 * 28 * 1280);
    const auto edge = [&](std::string_view key, std::size_t usual) {
      return reader_.find(key).is_null() ? usual : reader_.edge(reader_.find(key), std::string(key));
    };
    result.patch.height = result.patch.width = edge("patch_size", 14) * edge("merge_size", 2);
  }

  std::size_t shortest_edge(JsonValue size) const {
    const JsonValue edge = size.find("shortest_edge");
    for (const auto [key, value] : size.members()) {
      if (!value.is_null() && key != "shortest_edge") {
        reader_.fail(fmt::format("'size' holds '{}', expected 'height' and 'width', or 'shortest_edge' alone",
                                 printable(key, 60)),
                     ErrorKind::kUnsupported);
      }
    }
    return reader_.edge(edge, "size.shortest_edge");
  }

  // 224, [224, 224] or {"height": 224, "width": 224}.
  ImageSize height_and_width(JsonValue size, const std::string& name) const {
    if (size.is_object()) {
      return {reader_.edge(size.find("height"), name + ".height"), reader_.edge(size.find("width"), name + ".width")};
    }
    if (!size.is_array()) {
      const std::size_t edge = reader_.edge(size, name);
      return {edge, edge};
    }
    if (size.size() != 2)
      reader_.fail(fmt::format("'{}' lists {} numbers, expected height and width", name, size.size()));
    auto item = size.items().begin();
    const std::size_t height = reader_.edge(*item, name);
    return {height, reader_.edge(*++item, name)};
  }

  ImageSize crop_size() const {
    const JsonValue size = reader_.find("crop_size");
    if (!size.is_null()) return height_and_width(size, "crop_size");
    if (!defaults_.crop) reader_.fail("requests 'do_center_crop' but lacks 'crop_size'");
    return {*defaults_.crop, *defaults_.crop};
  }

  Resample resample() const {
    const JsonValue code = reader_.find("resample");
    if (code.is_null()) return defaults_.resample;
    const auto number = code.as_unsigned();
    if (!number || *number > 5) reader_.fail("'resample' is not one of PIL's codes 0 to 5");
    if (*number == 5) {
      reader_.fail(
          "'resample' is 5 (Hamming), expected 0 to 4 (nearest, Lanczos, bilinear, bicubic, box); pass the "
          "image's values with --pixels",
          ErrorKind::kUnsupported);
    }
    return static_cast<Resample>(*number);
  }

  PreprocessConfigReader reader_;
  JsonValue config_;
  std::size_t channels_;
  const Defaults& defaults_;
};

}  // namespace

Preprocessing parse_preprocessor_config(JsonValue root, JsonValue config, std::string_view where) {
  return PreprocessorConfig(root, config, where).run();
}

Preprocessing load_preprocessing(const Checkpoint& checkpoint) {
  if (checkpoint.is_gguf()) {
    throw Error(
        ErrorKind::kUnsupported,
        fmt::format("{}: headscope does not read image preprocessing from GGUF; pass the image's values with --pixels",
                    checkpoint.path().string()));
  }
  const fs::path file = checkpoint.path() / "preprocessor_config.json";
  if (model_file_exists(file)) {
    const JsonDocument document = JsonDocument::open(file);
    return parse_preprocessor_config(document.root(), checkpoint.config(), file.string());
  }
  if (const fs::path all = checkpoint.path() / "processor_config.json"; model_file_exists(all)) {
    const JsonDocument document = JsonDocument::open(all);
    if (const JsonValue root = document.root().find("image_processor"); !root.is_null()) {
      return parse_preprocessor_config(root, checkpoint.config(), fmt::format("{}: image_processor", all.string()));
    }
  }
  if (!checkpoint.config().find("pretrained_cfg").is_null()) {
    return parse_timm_config(checkpoint.config(), checkpoint.config_path().string());
  }
  throw Error(ErrorKind::kIo,
              fmt::format("{}: not found, but it defines how images are resized and normalized for this model; "
                          "{}add it, or pass the image's values with --pixels",
                          file.string(), download_hint(checkpoint.location(), "preprocessor_config.json")));
}

}  // namespace headscope
