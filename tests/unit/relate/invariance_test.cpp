// A head's subspace does not change under anything that acts on the head axis: rotary embedding, gains of q and k
// norms, the row permutation of GGUF files, any invertible change of basis. So the projection kernel must not either.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "headscope/relate/affinity.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

constexpr std::size_t kWidth = 32;
constexpr std::size_t kHeads = 3;
constexpr std::size_t kHead = 6;

// Changes the rows of one head: kHead rows of kWidth.
using Change = std::function<void(float* rows)>;

// The projection kernels of all pairs of roles of a LLaMA whose Q and K heads were changed.
std::vector<std::vector<float>> kernels(const Change& change) {
  test::SafetensorsWriter writer;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    std::uint64_t seed = 10 * layer;
    for (const std::string role : {"q", "k", "v"}) {
      std::vector<float> rows = test::normals(kHeads * kHead * kWidth, ++seed);
      if (role != "v") {
        for (std::size_t head = 0; head < kHeads; ++head) change(rows.data() + head * kHead * kWidth);
      }
      writer.add(fmt::format("{}self_attn.{}_proj.weight", prefix, role), {kHeads * kHead, kWidth}, rows);
    }
    writer.add(prefix + "self_attn.o_proj.weight", {kWidth, kHeads * kHead},
               test::normals(kWidth * kHeads * kHead, ++seed));
    writer.add(prefix + "input_layernorm.weight", {kWidth}, test::normals(kWidth, ++seed));
  }
  const test::TemporaryFolder folder;
  folder.write("config.json", R"({"model_type": "llama", "num_attention_heads": 3})");
  folder.write("model.safetensors", writer.str());
  std::vector<std::vector<float>> result;
  const auto all = compute_affinities(Model::open(folder.path()), Metric::kPk, all_role_pairs()).value();
  for (const Affinities& one : all) {
    result.emplace_back(one.values.values().begin(), one.values.values().end());
  }
  return result;
}

void expect_unchanged(const Change& change) {
  const auto before = kernels([](float*) {});
  const auto after = kernels(change);
  for (std::size_t pair = 0; pair < before.size(); ++pair) {
    for (std::size_t i = 0; i < before[pair].size(); ++i) {
      EXPECT_NEAR(after[pair][i], before[pair][i], 1e-5 * kHead) << pair << " " << i;
    }
  }
}

TEST(Invariance, RotaryEmbeddingDoesNotChangeTheKernel) {
  expect_unchanged([](float* rows) {
    for (std::size_t pair = 0; pair < kHead / 2; ++pair) {
      const float c = std::cos(0.7F + static_cast<float>(pair));
      const float s = std::sin(0.7F + static_cast<float>(pair));
      for (std::size_t i = 0; i < kWidth; ++i) {
        float& a = rows[pair * kWidth + i];
        float& b = rows[(pair + kHead / 2) * kWidth + i];
        const float rotated = c * a - s * b;
        b = s * a + c * b;
        a = rotated;
      }
    }
  });
}

TEST(Invariance, GainsOfQueryAndKeyNormsDoNotChangeTheKernel) {
  expect_unchanged([](float* rows) {
    for (std::size_t j = 0; j < kHead; ++j) {
      for (std::size_t i = 0; i < kWidth; ++i) rows[j * kWidth + i] *= 0.25F + static_cast<float>(j);
    }
  });
}

TEST(Invariance, TheRowPermutationOfGgufDoesNotChangeTheKernel) {
  expect_unchanged([](float* rows) {
    const std::vector<float> original(rows, rows + kHead * kWidth);
    for (std::size_t j = 0; j < kHead; ++j) {
      const std::size_t from = j % 2 * (kHead / 2) + j / 2;
      std::copy_n(original.begin() + static_cast<std::ptrdiff_t>(from * kWidth), kWidth, rows + j * kWidth);
    }
  });
}

TEST(Invariance, AnInvertibleChangeOfBasisDoesNotChangeTheKernel) {
  expect_unchanged([](float* rows) {
    const std::vector<float> original(rows, rows + kHead * kWidth);
    const std::vector<float> mix = test::normals(kHead * kHead, 99);
    for (std::size_t j = 0; j < kHead; ++j) {
      for (std::size_t i = 0; i < kWidth; ++i) {
        float sum = 2 * original[j * kWidth + i];
        for (std::size_t k = 0; k < kHead; ++k) sum += 0.3F * mix[j * kHead + k] * original[k * kWidth + i];
        rows[j * kWidth + i] = sum;
      }
    }
  });
}

TEST(Invariance, AChangeOfTheResidualAxisDoesChangeTheKernel) {
  const auto before = kernels([](float*) {});
  const auto after = kernels([](float* rows) {
    for (std::size_t j = 0; j < kHead; ++j) rows[j * kWidth] *= 10;
  });
  EXPECT_GT(std::abs(before[0][1] - after[0][1]), 0.01);  // otherwise the tests above show nothing
}

}  // namespace
}  // namespace headscope
