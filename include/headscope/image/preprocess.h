#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "headscope/image/image.h"
#include "headscope/image/pixels.h"
#include "headscope/io/checkpoint.h"
#include "headscope/io/json.h"

namespace headscope {

/// Resampling filter, with PIL's numbers.
enum class Resample : std::uint8_t { kNearest = 0, kLanczos = 1, kBilinear = 2, kBicubic = 3, kBox = 4 };

struct ImageSize {
  std::size_t height = 0;
  std::size_t width = 0;

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

enum class ResizeTo : std::uint8_t {
  kNothing,       ///< The image keeps its size.
  kSize,          ///< `size`, without keeping the aspect ratio.
  kShortestEdge,  ///< The shorter side becomes `size.height`, the other is scaled in proportion, rounded down.
  kWithin,        ///< Shrunk until neither side exceeds `size`, rounded down; then rounded up to multiples of `patch`.
  kArea,          ///< To multiples of `patch` nearest to its size, with `min_pixels` to `max_pixels` pixels.
  kPatches,       ///< To multiples of `patch`, rounded up, by the largest factor that gives at most `max_patches`.
  kCover,         ///< The smallest size with the same aspect ratio that covers `size`, rounded to nearest.
};

/// How a model's files say an image is prepared, in this order: resize, center crop, scale, normalize; DINOv3 scales
/// first.
struct Preprocessing {
  std::size_t channels = 3;  ///< 3, or 1 for grayscale models, which get PIL's mode "L".
  ResizeTo resize = ResizeTo::kNothing;
  ImageSize size;
  Resample resample = Resample::kBilinear;
  std::optional<ImageSize> crop;  ///< If the image is smaller, it is padded with black.
  /// How the top and left margins are rounded if the total margin is odd: down (false, transformers) or to even (true,
  /// torchvision and therefore timm). For padding, true puts the odd row or column at the bottom or right.
  bool crop_to_even = false;
  ImageSize patch;  ///< kWithin, kArea, kPatches: the sides of the result are multiples of these.
  std::size_t max_patches = 0;
  std::size_t min_pixels = 0;
  std::size_t max_pixels = 0;
  bool scale_first = false;  ///< Values are scaled before they are resized, and not rounded to levels afterwards.
  double scale = 1;          ///< Factor on the levels 0 to 255; 1/255 in nearly all models.
  std::vector<float> mean;   ///< One per channel; empty if the image is not normalized.
  std::vector<float> std;    ///< Same size as `mean`.
};

/// A rectangle in pixel coordinates of some image: pixel (i, j) covers [i, i+1) x [j, j+1).
struct PixelBox {
  double top = 0;
  double left = 0;
  double bottom = 0;
  double right = 0;
};

/// An image as the model sees it, and which part of the original that is.
struct PreprocessedImage {
  Pixels pixels;
  ImageSize original;
  /// The region that `pixels` shows, in pixels of the original. Extends beyond it where black was added.
  PixelBox shown;

  /// Maps a rectangle of `pixels`, such as a patch, to the original.
  [[nodiscard]] PixelBox in_original(const PixelBox& box) const noexcept;
};

/// Reads the model's preprocessing from the first of these that exists:
///
///  - preprocessor_config.json, or the `image_processor` of processor_config.json, for the transformers image
///    processors ViT, DeiT, CLIP and Bit (which DINOv2 uses). Class names with "Fast" or "Pil" and the older
///    "FeatureExtractor" names are accepted too. If a key is missing, the default of the class in transformers applies;
///    if the file names no class, it follows from `model_type` in config.json;
///  - `pretrained_cfg` of timm's config.json.
///
/// The number of channels is `num_channels` of config.json or its `vision_config`, else that of timm's `input_size`,
/// else 3. `do_convert_rgb` is ignored: an image always gets the channels the model takes.
///
/// \throws Error  kIo if a file cannot be read, or if none of them exists: the message says which and suggests
///                --pixels; kFormat if one is malformed; kUnsupported for GGUF, for other image processors, and for
///                steps and resampling filters that are not among the above.
[[nodiscard]] Preprocessing load_preprocessing(const Checkpoint& checkpoint);

/// Parses the root of a preprocessor_config.json; `config` is the root of config.json or null. Every error message
/// starts with `where`.
/// \throws Error  kFormat, kUnsupported as `load_preprocessing`.
[[nodiscard]] Preprocessing parse_preprocessor_config(JsonValue root, JsonValue config, std::string_view where);

/// Parses the root of a timm config.json, which holds `pretrained_cfg`, as timm evaluates a model: resize to the input
/// size divided by `crop_pct` (default 0.875), then crop the center.
/// \throws Error  kFormat, kUnsupported as `load_preprocessing`.
[[nodiscard]] Preprocessing parse_timm_config(JsonValue config, std::string_view where);

/// Applies the preprocessing. Every error message starts with `where`.
///
/// The result matches transformers' PIL-based processors (class names that end in "Pil"; before version 5, those
/// without "Fast") with Pillow up to 12: resized levels equal PIL's, which resizes rows first and rounds to 8 bits
/// before columns; the values are equal up to float rounding. The "Fast" processors resize with torchvision, which
/// rounds its weights differently and is off by one level of 255 here and there; they also put the odd row or column of
/// padding on the other side. Pillow 13 starts with the columns for some shapes. With the bilinear filter the
/// difference is at most one level; with bicubic and Lanczos it is larger where an edge overshoots 0 or 255, 20 levels
/// in white noise.
///
/// Cost: for an h x w image resized to H x W with a filter f pixels wide, O(f (h max(w, W) + W max(h, H))).
///
/// \throws Error  kInvalidArgument if the image has a different number of channels; kUnsupported if the resized image
///                would have no pixels or more than 64 megapixels.
[[nodiscard]] PreprocessedImage preprocess(const Image& image, const Preprocessing& preprocessing,
                                           std::string_view where);

/// Opens an image file and applies the preprocessing.
/// \throws Error  as `open_image` and `preprocess`.
[[nodiscard]] PreprocessedImage open_preprocessed(const std::filesystem::path& path,
                                                  const Preprocessing& preprocessing);

}  // namespace headscope
