#pragma once

#include <cstddef>
#include <cstdint>

/// Constants of the zip format (PKWARE's APPNOTE.TXT) shared by reader and writer.
namespace headscope::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;    ///< "PK\3\4", APPNOTE 4.3.7
inline constexpr std::uint32_t kCentralHeader = 0x02014b50;  ///< "PK\1\2", 4.3.12
inline constexpr std::uint32_t kZip64End = 0x06064b50;       ///< "PK\6\6", 4.3.14
inline constexpr std::uint32_t kZip64Locator = 0x07064b50;   ///< "PK\6\7", 4.3.15
inline constexpr std::uint32_t kEnd = 0x06054b50;            ///< "PK\5\6", 4.3.16

inline constexpr std::size_t kLocalHeaderSize = 30;
inline constexpr std::size_t kZip64EndSize = 56;
inline constexpr std::size_t kZip64LocatorSize = 20;
inline constexpr std::size_t kEndSize = 22;

/// A field with this value is stored in a 64-bit record instead.
inline constexpr std::uint32_t kIn64Bits = 0xFFFFFFFF;
inline constexpr std::uint16_t kIn64BitsShort = 0xFFFF;
/// Extra field with the 64-bit sizes and offset (4.5.3).
inline constexpr std::uint16_t kZip64Extra = 0x0001;
/// Extra field that pads a local header until the data is aligned, as Android's zipalign writes it.
inline constexpr std::uint16_t kAlignmentExtra = 0xD935;

inline constexpr std::uint16_t kStored = 0;
inline constexpr std::uint16_t kDeflated = 8;

inline constexpr std::uint16_t kFlagEncrypted = 1U << 0;
inline constexpr std::uint16_t kFlagSizesFollow = 1U << 3;  ///< The local header does not contain the sizes.
inline constexpr std::uint16_t kFlagStrongEncryption = 1U << 6;
inline constexpr std::uint16_t kFlagUtf8Name = 1U << 11;
inline constexpr std::uint16_t kFlagMaskedHeaders = 1U << 13;

}  // namespace headscope::zip
