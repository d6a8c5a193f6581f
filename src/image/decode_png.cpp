#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "headscope/base/error.h"
#include "image/decode.h"

namespace headscope {
namespace {

// libpng reports an error by a jump back into the method that called it, which returns false. The jump runs no
// destructors, so these methods and the callbacks hold no objects that need one. The owner of the pixels is outside.
class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> file) : rest_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, warn);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  [[nodiscard]] bool has_memory() const noexcept { return info_ != nullptr; }
  [[nodiscard]] std::string_view message() const noexcept { return message_.data(); }
  [[nodiscard]] std::size_t height() const noexcept { return png_get_image_height(png_, info_); }
  [[nodiscard]] std::size_t width() const noexcept { return png_get_image_width(png_, info_); }
  // After `prepare`: 16 for gray of 16 bits, else 8.
  [[nodiscard]] unsigned depth() const noexcept { return png_get_bit_depth(png_, info_); }
  [[nodiscard]] std::size_t channels() const noexcept { return png_get_channels(png_, info_); }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return png_get_rowbytes(png_, info_); }

  // Reads everything before the pixels. Allocates nothing that depends on the size of the image.
  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, read);
    // The caller checks the size and can say what it is.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    // Skips auxiliary chunks (texts, profiles), except tRNS: they are neither inflated nor stored.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    return true;
  }

  // Sets up the conversion to 8 bits without alpha; allocates two rows.
  bool prepare() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const bool gray = png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY;
    if (gray) png_set_expand_gray_1_2_4_to_8(png_);
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (!gray) png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  // `levels` has `height() * row_bytes()` bytes.
  bool read_pixels(std::uint8_t* levels) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (std::size_t y = 0; y < height(); ++y) png_read_row(png_, levels + y * row_bytes(), nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto& text = static_cast<PngReader*>(png_get_error_ptr(png))->message_;
    std::strncpy(text.data(), message, text.size() - 1);
    png_longjmp(png, 1);
  }
  // Pixels are not affected: an index beyond the palette, which is black, or more data than pixels, which is skipped.
  static void warn(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep into, std::size_t size) {
    auto& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (size > rest.size()) png_error(png, "it ends before the end of the image (is the file truncated?)");
    std::memcpy(into, rest.data(), size);
    rest = rest.subspan(size);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::byte> rest_;
  int passes_ = 1;
  std::array<char, 200> message_ = {};
};

}  // namespace

Image decode_png(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels) {
  PngReader reader(file);
  if (!reader.has_memory()) throw Error(ErrorKind::kResource, fmt::format("{}: no memory to decode a PNG", where));
  const auto check = [&](bool ok) {
    if (ok) return;
    throw Error(ErrorKind::kFormat, fmt::format("{}: the PNG data is damaged: {}", where, printable(reader.message())));
  };
  check(reader.read_header());
  check_image_size(reader.height(), reader.width(), where, max_pixels);
  check(reader.prepare());
  Image image{reader.height(), reader.width(), reader.channels(), {}};
  image.levels.resize(image.height * reader.row_bytes());
  check(reader.read_pixels(image.levels.data()));
  if (reader.depth() == 16) {
    // PIL clips 16-bit gray. The high byte comes first.
    const std::size_t pixels = image.height * image.width;
    for (std::size_t i = 0; i < pixels; ++i) {
      image.levels[i] = image.levels[2 * i] != 0 ? std::uint8_t{255} : image.levels[2 * i + 1];
    }
    image.levels.resize(pixels);
  }
  return image;
}

}  // namespace headscope
