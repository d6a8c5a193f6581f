#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/capture/image.h"
#include "headscope/capture/pixels.h"
#include "headscope/io/checkpoint.h"
#include "headscope/io/json.h"

namespace headscope {

/// How a pixel is made of its neighbors, with PIL's numbers.
enum class Resample : std::uint8_t { kNearest = 0, kLanczos = 1, kBilinear = 2, kBicubic = 3, kBox = 4 };

struct ImageSize {
  std::size_t height = 0;
  std::size_t width = 0;

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

enum class ResizeTo : std::uint8_t {
  kNothing,       ///< The image keeps its size.
  kSize,          ///< `size`, whatever that does to the proportions.
  kShortestEdge,  ///< The shorter side becomes `size.height`, the other in proportion, rounded down.
  kCover,         ///< The smallest that covers `size` in proportion, rounded to nearest.
};

/// What a model's files say is done with an image before the model sees it, in this
/// order: resize, cut out the center, scale, normalize.
struct Preprocessing {
  std::size_t channels = 3;  ///< 3, or 1 for models of gray images, which get PIL's mode "L".
  ResizeTo resize = ResizeTo::kNothing;
  ImageSize size;
  Resample resample = Resample::kBilinear;
  std::optional<ImageSize> crop;  ///< Where the image is smaller, black is added around it.
  /// Half a pixel at the top and the left: false goes up and left (transformers), true to the even number
  /// (torchvision, so timm).
  bool crop_to_even = false;
  double scale = 1;         ///< Of the levels from 0 to 255, 1/255 in nearly all models.
  std::vector<float> mean;  ///< One a channel, or none where nothing is normalized.
  std::vector<float> std;   ///< As many as `mean`.
};

/// A rectangle in pixels of some image: a pixel (i, j) takes [i, i+1) x [j, j+1).
struct PixelBox {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
};

/// An image as the model sees it, and which part of the picture that is.
struct PreprocessedImage {
  Pixels pixels;
  ImageSize original;
  /// What `pixels` shows, in pixels of the original. Goes beyond it where black was added.
  PixelBox shown;

  /// Where a rectangle of `pixels`, such as a patch, lies in the original.
  [[nodiscard]] PixelBox in_original(const PixelBox& box) const noexcept;
};

/// Reads what the model's files say, the first of these that is there:
///
///  - preprocessor_config.json, or the `image_processor` of processor_config.json, of transformers
///    image processors ViT, DeiT, CLIP and Bit (which DINOv2 uses), under these names or those with
///    "Fast" or of old "FeatureExtractor"s. Where a key is absent, transformers' default for that class
///    counts; a file that names no class is read as the one of config.json's `model_type`;
///  - `pretrained_cfg` of timm's config.json.
///
/// The number of channels is config.json's `num_channels`. `do_convert_rgb` is not asked for: an
/// image always gets the channels the model takes.
///
/// \throws Error  kIo if a file cannot be read, or if there is none of them: the message says which
///                and offers --pixels; kFormat if one is malformed; kUnsupported for other image
///                processors, and for steps and resampling filters that are not among the above.
[[nodiscard]] Preprocessing load_preprocessing(const Checkpoint& checkpoint);

/// Reads the root of a preprocessor_config.json; `config` is the root of config.json or null.
/// `where` begins the message of every error.
/// \throws Error  kFormat, kUnsupported as `load_preprocessing`.
[[nodiscard]] Preprocessing parse_preprocessor_config(JsonValue root, JsonValue config, std::string_view where);

/// Reads the root of a timm config.json, which holds `pretrained_cfg`. What timm does to evaluate a model:
/// resize by 1 / `crop_pct` (0.875 if it says nothing) and cut out the center.
/// \throws Error  kFormat, kUnsupported as `load_preprocessing`.
[[nodiscard]] Preprocessing parse_timm_config(JsonValue config, std::string_view where);

/// Does it. `where` begins the message of every error.
///
/// The result is that of transformers' processors on PIL (the class names that end in "Pil", before
/// version 5 those without "Fast") with Pillow up to 12: resized levels are equal to PIL's, where rows are
/// resized first and rounded to 8 bits before columns; the values are equal up to a rounding of floats.
/// The "Fast" processors resize with torchvision, which rounds its weights otherwise and differs by a level of 255
/// here and there; they put the odd pixel of black on the other side. Pillow 13 begins with the columns for
/// some shapes. That is a level at most with the bilinear filter; with bicubic and Lanczos it is more
/// where an edge overshoots 0 or 255, 20 levels in white noise.
///
/// Cost: for an h x w image that becomes H x W, with a filter that is f pixels wide, O(f (h max(w, W) + W max(h, H))).
///
/// \throws Error  kInvalidArgument if the image has other channels; kUnsupported if the
///                resized image would have no pixels or more than 64 megapixels.
[[nodiscard]] PreprocessedImage preprocess(const Image& image, const Preprocessing& preprocessing,
                                           std::string_view where);

/// Opens a picture and does it.
/// \throws Error  as `open_image` and `preprocess`.
[[nodiscard]] PreprocessedImage open_preprocessed(const std::filesystem::path& path,
                                                  const Preprocessing& preprocessing);

}  // namespace headscope
