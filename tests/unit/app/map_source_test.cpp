#include "app/map_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "app/map_array.h"
#include "headscope/io/npy.h"
#include "headscope/organize/distance_memory.h"
#include "support/expect_error.h"
#include "support/map_files.h"
#include "support/npy_formula.h"
#include "support/temporary_folder.h"
#include "support/thread_ranks.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

constexpr std::size_t kEnough = std::size_t{1} << 30;

MapSource load(const MapSelection& maps, Ranks& ranks = one_rank(), std::size_t memory = kEnough) {
  return load_maps(maps, /*keep_absent=*/false, {.copies = 3}, {.memory = memory, .ranks = ranks});
}

MapSelection in_file(const fs::path& file) {
  return {.source = {.file = file}};
}

void expect_part(const MapSource& part, const MapSource& whole, Ranks& ranks) {
  const TensorShare share = part.share(ranks);
  EXPECT_EQ(share.extents(), whole.tensor.extents);
  EXPECT_EQ(share.head_names(), whole.tensor.head_names);
  EXPECT_EQ(part.info.head_names, whole.tensor.head_names);
  EXPECT_EQ(part.info.absent, whole.info.absent);
  EXPECT_EQ(part.fingerprint, whole.fingerprint);
  EXPECT_EQ(part.info.file, whole.info.file);
  EXPECT_EQ(part.info.query_names, whole.info.query_names);
  EXPECT_EQ(part.info.key_names, whole.info.key_names);
  EXPECT_EQ(part.tensor.notes, whole.tensor.notes);
  const IndexRange own = share.own_heads();
  ASSERT_EQ(part.tensor.heads(), own.size());
  for (std::size_t h = own.begin; h < own.end; ++h) {
    EXPECT_TRUE(std::ranges::equal(part.tensor.map(h - own.begin), whole.tensor.map(h)));
    EXPECT_TRUE(std::ranges::equal(part.tensor.mask(h - own.begin), whole.tensor.mask(h)));
  }
}

TEST(MapSource, RanksHaveTheirHeadsOfWhatOneProcessLoads) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {2, 3, 6, 7});
  std::vector<float> mask(2 * 3 * 6 * 7, 1.0F);
  for (std::size_t i = 0; i < mask.size(); i += 5) mask[i] = 0;
  write_npy<float>(folder.path() / "mask.npy", mask, Shape{2, 3, 6, 7});
  const fs::path run = test::write_run(folder, 2, 3, 9);
  fs::create_directories(folder.path() / "windowed");
  fs::copy_file(run / "pattern.npy", folder.path() / "windowed/pattern.npy");
  folder.write("windowed/tokens.json",
               R"({"mask": "causal", "windows": [0, 4], "heads": ["L0H0","L0H1","L0H2","L1H0","L1H1","L1H2"]})");
  const std::string mask_file = (folder.path() / "mask.npy").string();
  const std::vector<MapSelection> all = {
      {.source = {.file = maps}, .axes = "lhqk"},
      {.source = {.file = maps}, .axes = "lhqk", .mask = "causal", .selection = {.layers = {1}}},
      {.source = {.file = maps}, .axes = "lhqk", .mask = mask_file, .selection = {.heads = {{0, 1}, {{}, 2}}}},
      {.source = {.file = run}, .skip_first = 1},
      {.source = {.file = folder.path() / "windowed"}}};
  for (const MapSelection& args : all) {
    const MapSource whole = load(args);
    for (std::size_t size = 1; size <= 4; ++size) {
      test::on_ranks(size, [&](Ranks& ranks) { expect_part(load(args, ranks), whole, ranks); });
    }
  }
}

TEST(MapSource, FollowsNoLinkOutOfAFolder) {
  const TemporaryFolder folder;
  const fs::path run = test::write_run(folder, 1, 2, 6);
  fs::rename(run / "pattern.npy", folder.path() / "elsewhere.npy");
  fs::create_symlink("../elsewhere.npy", run / "pattern.npy");
  EXPECT_ERROR(static_cast<void>(load(in_file(run))), ErrorKind::kIo,
               "pattern.npy: cannot open: is or goes through a link");
  fs::remove(run / "pattern.npy");
  fs::rename(folder.path() / "elsewhere.npy", run / "pattern.npy");
  EXPECT_EQ(load(in_file(run)).info.head_names.size(), 2U);
  fs::rename(run / "tokens.json", folder.path() / "tokens.json");
  fs::create_symlink("../tokens.json", run / "tokens.json");
  EXPECT_ERROR(static_cast<void>(load(in_file(run))), ErrorKind::kIo,
               "tokens.json: cannot open: is or goes through a link");
}

TEST(MapSource, LayersMayHaveWindows) {
  const TemporaryFolder folder;
  test::write_maps(folder, "run/pattern", {2, 5, 5});
  folder.write("run/tokens.json", R"({"mask": "causal", "windows": [0, 2], "heads": ["L0H0", "L1H0"]})");
  const MapSource source = load(in_file(folder.path() / "run"));
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t q = 0; q < 5; ++q) {
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_EQ(source.tensor.mask(h)[q * 5 + k] != 0, k <= q && (h == 0 || k + 2 > q)) << h << q << k;
      }
    }
  }
  EXPECT_DOUBLE_EQ(source.info.absent, (10 + 16) / 50.0);
}

// The values as the program has given them since it writes fingerprints.
TEST(MapSource, FingerprintsStayAsTheyAre) {
  const auto read = [](std::size_t first, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(test::formula_value('f', first + i));
  };
  EXPECT_EQ(fingerprint_of(ArraySource({3, 5, 7}, read)), "4f016eea28d5c921");
  std::size_t touched = 0;
  const ArraySource large({9, 1000, 1024}, [&](std::size_t first, std::span<float> out) {
    touched += out.size();
    read(first, out);
  });
  EXPECT_EQ(fingerprint_of(large), "48529e446dcb8ad6");
  EXPECT_LT(touched, large.size() * 6 / 10);
}

TEST(MapSource, AnArrayInMemoryHasTheFingerprintOfItsFile) {
  const TemporaryFolder folder;
  std::vector<float> values(3 * 5 * 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(test::formula_value('f', i));
  const Shape shape = {3, 5, 7};
  const std::filesystem::path file = folder.path() / "maps.npy";
  std::ofstream(file, std::ios::binary) << npy_header(npy_type<float>(), shape)
                                        << std::string_view(reinterpret_cast<const char*>(values.data()),
                                                            values.size() * sizeof(float));
  EXPECT_EQ(fingerprint(ArrayInput{.values = values, .shape = shape}), "4f016eea28d5c921");
  EXPECT_EQ(fingerprint(ArrayInput{.file = file}), "4f016eea28d5c921");
}

TEST(MapSource, TheBudgetIsThatOfWhatARankHolds) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {5, 8, 8});
  const std::size_t head = 3 * kEntryBytes * 64;
  const std::size_t pairs = pair_memory({5, 8, 8});
  EXPECT_EQ(pairs, 24u * (25 + 64 + 64) + 32u * 64);
  const auto distances = [](std::size_t heads) { return distance_memory({heads, 8, 8}, false); };
  EXPECT_EQ(load(in_file(maps), one_rank(), 5 * head + pairs + distances(5)).info.head_names.size(), 5u);
  EXPECT_ERROR(load(in_file(maps), one_rank(), 5 * head + pairs + distances(5) - 1), ErrorKind::kResource,
               "maps.npy: analyzing 5 of the 5 heads of an array of [5, 8, 8] needs about ");
  MapSelection two = in_file(maps);
  two.selection.heads = {{{}, 0}, {{}, 1}};
  EXPECT_EQ(load(two, one_rank(), 2 * head + pair_memory({2, 8, 8}) + distances(2)).tensor.heads(), 2u);
  test::on_ranks(2, [&](Ranks& ranks) {
    EXPECT_EQ(load(in_file(maps), ranks, 3 * head + pairs + distances(3)).info.head_names.size(), 5u);
    EXPECT_ERROR(load(in_file(maps), ranks, 3 * head + pairs + distances(3) - 1), ErrorKind::kResource,
                 "analyzing 3 of the 5 heads of an array of [5, 8, 8] needs");
  });
}

TEST(MapSource, ARankThatLacksTheFileOrSeesAnotherEndsAll) {
  const TemporaryFolder folder;
  const fs::path maps = test::write_maps(folder, "maps", {5, 8, 8});
  const fs::path other = test::write_maps(folder, "other", {4, 8, 8}, 2);
  test::on_ranks(3, [&](Ranks& ranks) {
    const fs::path absent = folder.path() / "absent.npy";
    EXPECT_ERROR(load(in_file(ranks.rank() == 1 ? absent : maps), ranks), ErrorKind::kBackend,
                 "rank 1 on machine1: " + absent.string() + ": no such file or folder");
    EXPECT_ERROR(load(in_file(absent), ranks), ErrorKind::kIo, absent.string() + ": no such file or folder");
    EXPECT_ERROR(load(in_file(ranks.rank() == 2 ? other : maps), ranks), ErrorKind::kBackend,
                 "rank 2 on machine2: sees another array");
  });
}

// Maps in memory are what the same maps in a file are.
TEST(MapSource, TakesArraysInMemory) {
  const TemporaryFolder folder;
  const fs::path run = test::write_run(folder, 2, 3, 9);
  const NpyFile file = NpyFile::open(run / "pattern.npy");
  const std::vector<float> values = npy_values<float>(file.array(), "pattern");
  MapSelection maps{.source = {.values = values, .shape = file.array().shape}};
  EXPECT_EQ(load(maps).info.query_names[8], "8");
  EXPECT_FALSE(load(maps).info.masked);
  std::ostringstream description;
  description << std::ifstream(run / "tokens.json").rdbuf();
  maps.description = description.str();
  const MapSource in_memory = load(maps);
  const MapSource in_folder = load(in_file(run));
  EXPECT_EQ(in_memory.info.file, "array");
  EXPECT_EQ(in_memory.fingerprint, in_folder.fingerprint);
  EXPECT_EQ(in_memory.info.query_names, in_folder.info.query_names);
  EXPECT_EQ(in_memory.info.head_names, in_folder.info.head_names);
  EXPECT_TRUE(std::ranges::equal(in_memory.tensor.present, in_folder.tensor.present));
  EXPECT_TRUE(std::ranges::equal(in_memory.tensor.values.values(), in_folder.tensor.values.values()));
  maps.source.shape = {6, 9, 8};
  EXPECT_ERROR(load(maps), ErrorKind::kInvalidArgument, "[6, 9, 8]");
  maps.source.shape = {6, 9, 9};
  maps.description = "{";
  EXPECT_ERROR(load(maps), ErrorKind::kFormat, "tokens.json");
}

TEST(MapSource, AMaskInMemoryIsWhatItIsInAFile) {
  const TemporaryFolder folder;
  MapSelection maps = in_file(test::write_maps(folder, "maps", {2, 6, 7}));
  std::vector<float> mask(6 * 7, 1.0F);
  for (std::size_t i = 1; i < mask.size(); i += 5) mask[i] = 0;
  write_npy<float>(folder.path() / "mask.npy", mask, Shape{6, 7});
  maps.mask = (folder.path() / "mask.npy").string();
  const MapSource in_file = load(maps);
  maps.mask = "none";  // the array has precedence
  maps.mask_array = {.values = mask, .shape = {6, 7}};
  const MapSource in_memory = load(maps);
  EXPECT_TRUE(std::ranges::equal(in_memory.tensor.present, in_file.tensor.present));
  EXPECT_DOUBLE_EQ(in_memory.info.absent, 9 / 42.0);
  std::map<std::string, std::string> a = {{"mask", "none"}};
  std::map<std::string, std::string> b = a;
  describe_maps(a, in_file);
  describe_maps(b, in_memory);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a["mask_array"].size(), 16u);
  EXPECT_EQ(a["source"], in_file.fingerprint);
}

TEST(MapSource, AnEmptyAxisIsSaidWhateverTheOthersAre) {
  const TemporaryFolder folder;
  folder.write("empty.npy", npy_header(npy_type<float>(), Shape{std::size_t{1} << 60, 0, 3}));
  EXPECT_ERROR(load(in_file(folder.path() / "empty.npy")), ErrorKind::kFormat, "expected at least 1 along every axis");
}

}  // namespace
}  // namespace headscope::app
