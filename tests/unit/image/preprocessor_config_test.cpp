#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headscope/image/preprocess.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

const std::string kVit = R"({"model_type": "vit"})";

Preprocessing parse(const std::string& root, const std::string& config = kVit) {
  const auto root_document = JsonDocument::parse(root, "p.json");
  const auto config_document = JsonDocument::parse(config, "config.json");
  return parse_preprocessor_config(root_document.root(), config_document.root(), "p.json");
}

Preprocessing parse_timm(const std::string& pretrained) {
  const auto document = JsonDocument::parse(R"({"pretrained_cfg": )" + pretrained + "}", "c.json");
  return parse_timm_config(document.root(), "c.json");
}

TEST(PreprocessorConfig, FollowsTheDefaultsOfEachClass) {
  const Preprocessing vit = parse("{}");
  EXPECT_EQ(vit.resize, ResizeTo::kSize);
  EXPECT_EQ(vit.size, (ImageSize{224, 224}));
  EXPECT_EQ(vit.resample, Resample::kBilinear);
  EXPECT_FALSE(vit.crop);
  EXPECT_EQ(vit.scale, 1.0 / 255);
  EXPECT_EQ(vit.mean, (std::vector<float>{0.5F, 0.5F, 0.5F}));
  const Preprocessing deit = parse("{}", R"({"model_type": "deit"})");
  EXPECT_EQ(deit.size, (ImageSize{256, 256}));
  EXPECT_EQ(deit.resample, Resample::kBicubic);
  EXPECT_EQ(deit.crop, (ImageSize{224, 224}));
  for (const std::string type : {"clip", "clip_vision_model", "dinov2", "dinov2_with_registers"}) {
    const Preprocessing clip = parse("{}", R"({"model_type": ")" + type + "\"}");
    EXPECT_EQ(clip.resize, ResizeTo::kShortestEdge);
    EXPECT_EQ(clip.size.height, 224u);
    EXPECT_EQ(clip.crop, (ImageSize{224, 224}));
    EXPECT_EQ(clip.mean[0], 0.48145466F);
  }
}

TEST(PreprocessorConfig, TakesNullForAbsent) {
  const Preprocessing vit = parse(R"({"do_resize": null, "size": null, "resample": null, "image_mean": null})");
  EXPECT_EQ(vit.size, (ImageSize{224, 224}));
  EXPECT_EQ(vit.mean.size(), 3u);
}

TEST(PreprocessorConfig, ReadsEverySpellingOfSizes) {
  EXPECT_EQ(parse(R"({"size": 30})").size, (ImageSize{30, 30}));
  EXPECT_EQ(parse(R"({"size": 30})").resize, ResizeTo::kSize);
  EXPECT_EQ(parse(R"({"size": 30, "feature_extractor_type": "CLIPFeatureExtractor"})").resize, ResizeTo::kShortestEdge);
  EXPECT_EQ(parse(R"({"size": 30, "default_to_square": false})").resize, ResizeTo::kShortestEdge);
  EXPECT_EQ(parse(R"({"size": [30, 40]})").size, (ImageSize{30, 40}));
  EXPECT_EQ(parse(R"({"size": {"width": 40, "height": 30}})").size, (ImageSize{30, 40}));
  EXPECT_EQ(parse(R"({"size": {"shortest_edge": 9}})").resize, ResizeTo::kShortestEdge);
  EXPECT_EQ(parse(R"({"size": {"shortest_edge": 9, "longest_edge": null}})").size.height, 9u);
  EXPECT_EQ(parse(R"({"do_center_crop": true, "crop_size": 5})").crop, (ImageSize{5, 5}));
  EXPECT_EQ(parse(R"({"do_center_crop": true, "crop_size": {"height": 5, "width": 6}})").crop, (ImageSize{5, 6}));
  EXPECT_FALSE(parse(R"({"crop_size": 5})").crop);
}

TEST(PreprocessorConfig, LeavesOutWhatIsSwitchedOff) {
  const Preprocessing none =
      parse(R"({"do_resize": false, "do_center_crop": false, "do_rescale": false, "do_normalize": false})");
  EXPECT_EQ(none.resize, ResizeTo::kNothing);
  EXPECT_EQ(none.scale, 1);
  EXPECT_TRUE(none.mean.empty());
}

TEST(PreprocessorConfig, TakesTheChannelsOfTheModel) {
  EXPECT_EQ(parse("{}", R"({"model_type": "vit", "num_channels": 1})").mean, std::vector<float>{0.5F});
  EXPECT_EQ(parse(R"({"image_mean": 0.25, "image_std": [2]})").std, (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(parse("{}", R"({"model_type": "vit", "vision_config": {"num_channels": 1}})").channels, 1u);
  EXPECT_EQ(parse_timm(R"({"input_size": [1, 8, 8], "mean": [0.5], "std": [0.5]})").channels, 1u);
}

struct Broken {
  std::string what;
  std::string root;
  ErrorKind kind;
  std::string message;
};

TEST(PreprocessorConfig, RefusesBrokenFiles) {
  const std::vector<Broken> table = {
      {"a list", "[]", ErrorKind::kFormat, "is not a JSON object"},
      {"a number", "7", ErrorKind::kFormat, "is not a JSON object"},
      {"unknown class", R"({"image_processor_type": "ConvNextImageProcessor"})", ErrorKind::kUnsupported,
       "'image_processor_type' is 'ConvNextImageProcessor', expected the processor of one of ViT, DeiT, CLIP, "
       "ChineseCLIP, Blip, Siglip, Siglip2, Beit, Gemma3, GotOcr2, Llava, Pixtral, Qwen2VL, DINOv3ViT, Bit; pass the "
       "image's "
       "values with --pixels"},
      {"class with a line break", R"({"image_processor_type": "a\nb"})", ErrorKind::kUnsupported, "a\\x0ab"},
      {"class a number", R"({"image_processor_type": 3})", ErrorKind::kFormat,
       "'image_processor_type' is not a string"},
      {"flag a number", R"({"do_resize": 1})", ErrorKind::kFormat, "'do_resize' is neither true nor false"},
      {"flag a text", R"({"do_normalize": "yes"})", ErrorKind::kFormat, "'do_normalize' is neither true nor false"},
      {"size 0", R"({"size": 0})", ErrorKind::kFormat, "'size' is 0, expected an integer from 1 to 4096"},
      {"size negative", R"({"size": -4})", ErrorKind::kFormat, "'size' is not an integer"},
      {"size fractional", R"({"size": 4.5})", ErrorKind::kFormat, "'size' is not an integer"},
      {"size huge", R"({"size": 1000000000000})", ErrorKind::kFormat, "'size' is 1000000000000"},
      {"size a text", R"({"size": "224"})", ErrorKind::kFormat, "'size' is not an integer"},
      {"size of three", R"({"size": [1, 2, 3]})", ErrorKind::kFormat, "'size' lists 3 numbers"},
      {"size of nothing", R"({"size": {}})", ErrorKind::kFormat, "'size.shortest_edge' is not an integer"},
      {"height alone", R"({"size": {"height": 3}})", ErrorKind::kFormat, "'size.width' is not an integer"},
      {"two edges", R"({"size": {"shortest_edge": 3, "longest_edge": 9}})", ErrorKind::kUnsupported,
       "'size' holds 'longest_edge'"},
      {"crop without size", R"({"do_center_crop": true})", ErrorKind::kFormat, "but lacks 'crop_size'"},
      {"crop of a shortest edge", R"({"do_center_crop": true, "crop_size": {"shortest_edge": 3}})", ErrorKind::kFormat,
       "'crop_size.height' is not an integer"},
      {"Hamming", R"({"resample": 5})", ErrorKind::kUnsupported, "'resample' is 5 (Hamming)"},
      {"filter 6", R"({"resample": 6})", ErrorKind::kFormat, "'resample' is not one of PIL's codes 0 to 5"},
      {"filter by name", R"({"resample": "bicubic"})", ErrorKind::kFormat, "'resample' is not one of PIL's codes"},
      {"scale 0", R"({"rescale_factor": 0})", ErrorKind::kFormat, "'rescale_factor' is not a positive number"},
      {"scale a list", R"({"rescale_factor": [1]})", ErrorKind::kFormat, "'rescale_factor' is not a positive number"},
      {"two means", R"({"image_mean": [1, 2]})", ErrorKind::kFormat,
       "'image_mean' holds 2 numbers, but the model takes"},
      {"no means", R"({"image_mean": []})", ErrorKind::kFormat, "'image_mean' holds 0 numbers"},
      {"mean of texts", R"({"image_mean": ["a", "b", "c"]})", ErrorKind::kFormat, "'image_mean' is not a list of 3"},
      {"mean beyond a float", R"({"image_mean": [1e300, 0, 0]})", ErrorKind::kFormat, "3 finite numbers"},
      {"deviation 0", R"({"image_std": [1, 0, 1]})", ErrorKind::kFormat, "0 or close to it"},
      {"padding", R"({"do_pad": true})", ErrorKind::kUnsupported,
       "requests 'do_pad', which headscope does not support"},
  };
  for (const Broken& broken : table) {
    SCOPED_TRACE(broken.what);
    EXPECT_ERROR(parse(broken.root), broken.kind, broken.message);
    EXPECT_ERROR(parse(broken.root), broken.kind, "p.json: ");
  }
  EXPECT_ERROR(parse("{}", R"({"model_type": "convnext"})"), ErrorKind::kUnsupported,
               "none is known for the model type 'convnext'");
  EXPECT_ERROR(parse("{}", "{}"), ErrorKind::kUnsupported, "names no image processor");
  EXPECT_ERROR(parse("{}", R"({"model_type": "vit", "num_channels": 4})"), ErrorKind::kUnsupported, "of 4 channels");
  EXPECT_ERROR(parse("{}", R"({"model_type": "vit", "num_channels": "x"})"), ErrorKind::kFormat,
               "not a non-negative integer");
  EXPECT_ERROR(parse("{}", R"({"model_type": "clip", "num_channels": 1})"), ErrorKind::kFormat,
               "lacks 'image_mean'; its default is for 3 channels");
}

TEST(TimmConfig, RefusesBrokenFiles) {
  const std::vector<Broken> table = {
      {"a list", "[]", ErrorKind::kFormat, "is not a JSON object"},
      {"size of two", R"({"input_size": [8, 8]})", ErrorKind::kFormat, "'input_size' is not a list of channels"},
      {"size 0", R"({"input_size": [3, 0, 8]})", ErrorKind::kFormat, "'input_size' is 0"},
      {"channels a text", R"({"input_size": ["3", 8, 8]})", ErrorKind::kFormat,
       "number of channels is not a non-negative integer"},
      {"two channels", R"({"input_size": [2, 8, 8]})", ErrorKind::kUnsupported, "of 2 channels"},
      {"unknown filter", R"({"interpolation": "random"})", ErrorKind::kUnsupported, "'interpolation' is 'random'"},
      {"unknown mode", R"({"crop_mode": "border"})", ErrorKind::kUnsupported, "'crop_mode' is 'border'"},
      {"part 0", R"({"crop_pct": 0})", ErrorKind::kFormat, "'crop_pct' is not a positive number"},
      {"part tiny", R"({"crop_pct": 1e-6})", ErrorKind::kFormat, "'crop_pct' is 1e-06, which resizes an edge of 224"},
      {"part huge", R"({"crop_pct": 1e6})", ErrorKind::kFormat, "pixels to 0"},
      {"deviation 0", R"({"std": [0, 0, 0]})", ErrorKind::kFormat, "0 or close to it"},
  };
  for (const Broken& broken : table) {
    SCOPED_TRACE(broken.what);
    EXPECT_ERROR(parse_timm(broken.root), broken.kind, broken.message);
    EXPECT_ERROR(parse_timm(broken.root), broken.kind, "c.json: ");
  }
}

// A folder with a config.json and no tensors.
Checkpoint model_in(const test::TemporaryFolder& folder, const std::string& config) {
  folder.write("config.json", config);
  const std::string header = "{}";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  folder.write("model.safetensors", file + header);
  return Checkpoint::open(folder.path());
}

TEST(LoadPreprocessing, PrefersPreprocessorConfig) {
  const test::TemporaryFolder folder;
  folder.write("preprocessor_config.json", R"({"size": 11})");
  folder.write("processor_config.json", R"({"image_processor": {"size": 12}})");
  EXPECT_EQ(load_preprocessing(model_in(folder, kVit)).size.height, 11u);
}

TEST(LoadPreprocessing, ReadsProcessorConfigOfTransformers5) {
  const test::TemporaryFolder folder;
  folder.write("processor_config.json",
               R"({"image_processor": {"image_processor_type": "CLIPImageProcessor", "size": 12}})");
  EXPECT_EQ(load_preprocessing(model_in(folder, R"({"model_type": "clip"})")).size.height, 12u);
}

TEST(LoadPreprocessing, ReadsTimmsConfig) {
  const test::TemporaryFolder folder;
  const auto model = model_in(folder, R"({"architecture": "vit_tiny", "pretrained_cfg": {"input_size": [3, 20, 20]}})");
  EXPECT_EQ(load_preprocessing(model).crop, (ImageSize{20, 20}));
}

TEST(LoadPreprocessing, SaysWhichFileIsMissingAndOffersPixels) {
  const test::TemporaryFolder folder;
  const auto model = model_in(folder, kVit);
  EXPECT_ERROR(load_preprocessing(model), ErrorKind::kIo, "preprocessor_config.json: not found");
  EXPECT_ERROR(load_preprocessing(model), ErrorKind::kIo, "--pixels");
}

}  // namespace
}  // namespace headscope
