#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which uses FILE
#include <cstring>
#include <string>

#include <jpeglib.h>

#include <jerror.h>

#include "headscope/base/error.h"
#include "image/decode.h"

namespace headscope {
namespace {

// Encoders write about ten. Each scan costs a pass over all pixels, even if it holds only three bytes.
constexpr int kMaxScans = 200;

// libjpeg reports an error by calling `fail`, which jumps back into the method that called libjpeg; that returns false.
// The jump runs no destructors, so these methods and the callbacks hold no objects that need one. The owner of the
// pixels is outside.
class JpegReader {
 public:
  JpegReader() {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = fail;
    errors_.emit_message = warn;
    progress_.progress_monitor = count_scans;
    jpeg_.client_data = this;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  [[nodiscard]] const jpeg_decompress_struct& header() const noexcept { return jpeg_; }

  [[nodiscard]] Error error(std::string_view where) const {
    const int code = errors_.msg_code;
    const bool unsupported =
        too_many_scans_ || code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION || code == JERR_IMAGE_TOO_BIG;
    const std::string what =
        too_many_scans_ ? fmt::format("more than {} scans, expected about ten", kMaxScans) : printable(message_.data());
    if (unsupported) {
      return {ErrorKind::kUnsupported,
              fmt::format("{}: is JPEG of a kind that is not supported: {}; save it as a plain JPEG", where, what)};
    }
    const std::string_view hint = code == JWRN_JPEG_EOF ? " (is the file truncated?)" : "";
    return {ErrorKind::kFormat, fmt::format("{}: the JPEG data is damaged: {}{}", where, what, hint)};
  }

  // Reads everything before the pixels. Allocates nothing that depends on the size of the image.
  bool read_header(std::span<const std::byte> file) {
    if (setjmp(failed_) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&jpeg_, TRUE);
    return true;
  }

  // `levels` is [height, width, channels]. The defaults of libjpeg are PIL's: exact integer DCT, smooth upsampling.
  bool read_pixels(std::uint8_t* levels) {
    if (setjmp(failed_) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    const std::size_t row_bytes = std::size_t{jpeg_.output_width} * static_cast<std::size_t>(jpeg_.output_components);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = levels + jpeg_.output_scanline * row_bytes;
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

 private:
  [[noreturn]] static void fail(j_common_ptr jpeg) {
    auto* const reader = static_cast<JpegReader*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, reader->message_.data());
    std::longjmp(reader->failed_, 1);
  }

  static void warn(j_common_ptr jpeg, int level) {
    if (level >= 0) return;  // for debugging
    // What does not change pixels: padding between segments, and unknown versions of auxiliary segments.
    const int code = jpeg->err->msg_code;
    if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM) fail(jpeg);
  }

  static void count_scans(j_common_ptr jpeg) {
    auto* const reader = static_cast<JpegReader*>(jpeg->client_data);
    if (reader->jpeg_.input_scan_number <= kMaxScans) return;
    reader->too_many_scans_ = true;
    fail(jpeg);
  }

  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf failed_ = {};
  bool too_many_scans_ = false;
  std::array<char, JMSG_LENGTH_MAX> message_ = {};
};

void check_kind(const jpeg_decompress_struct& header, std::string_view where) {
  if (header.data_precision != 8) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: is JPEG of {} bits, expected 8", where, header.data_precision));
  }
  if (header.num_components != 1 && header.num_components != 3) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: is JPEG with {} channels, expected 3 or 1; save {} as RGB", where,
                            header.num_components, header.num_components == 4 ? "what probably is CMYK" : "it"));
  }
  // libjpeg does not notice when such data is cut short.
  if (header.arith_code != 0) {
    throw Error(ErrorKind::kUnsupported,
                fmt::format("{}: is JPEG with arithmetic coding; save it as a plain JPEG", where));
  }
}

}  // namespace

Image decode_jpeg(std::span<const std::byte> file, std::string_view where, std::size_t max_pixels) {
  JpegReader reader;
  if (!reader.read_header(file)) throw reader.error(where);
  const jpeg_decompress_struct& header = reader.header();
  check_kind(header, where);
  check_image_size(header.image_height, header.image_width, where, max_pixels);
  Image image{header.image_height, header.image_width, static_cast<std::size_t>(header.num_components), {}};
  image.levels.resize(image.height * image.width * image.channels);
  if (!reader.read_pixels(image.levels.data())) throw reader.error(where);
  return image;
}

}  // namespace headscope
