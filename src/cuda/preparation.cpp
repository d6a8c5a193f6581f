#include "cuda/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "headscope/base/buffer.h"
#include "headscope/base/parallel.h"
#include "headscope/linalg/gram.h"
#include "headscope/linalg/orthonormal_basis.h"
#include "headscope/relate/rotary_average.h"

namespace headscope::cuda {
namespace {

// Enough for a layer of 64 heads of width 128 in 8192 dimensions at once.
constexpr std::size_t kScratch = std::size_t{5} << 28;
// As in `orthonormal_basis`: relative singular values below this are rounding errors of a Gram matrix in double.
constexpr double kSmallestTolerance = 1e-7;
// Cholesky QR gives a basis that is orthonormal up to about condition^2 * 2^-53; above this condition it is repeated.
constexpr double kConditionForOnce = 1e3;
// Number of squarings to bound the norms of Gram matrices; 3 make the bound at most h^(1/16) times too large.
constexpr int kSquares = 3;

Rounding rounding(Precision precision) {
  switch (precision) {
    case Precision::kTf32:
      return Rounding::kTf32;
    case Precision::kFp16:
      return Rounding::kFp16;
    case Precision::kBf16:
      return Rounding::kBf16;
    default:
      return Rounding::kFloat;
  }
}

// No default case: a divisor that is missing here is a compiler error.
Divisor divisor_of(Metric metric) {
  switch (info(metric).divisor) {
    case FactorDivisor::kOne:
      return Divisor::kOne;
    case FactorDivisor::kNorm:
      return Divisor::kRootOfTrace;
    case FactorDivisor::kRootOfSquare:
      return Divisor::kFourthRootOfSquare;
  }
  throw std::logic_error("unknown divisor of " + std::string(info(metric).name));
}

// The square of what the factors are divided by.
double divisor_squared(Divisor divisor, const GramMoments& moments) {
  switch (divisor) {
    case Divisor::kOne:
      return 1;
    case Divisor::kRootOfTrace:
      return moments.trace;
    case Divisor::kFourthRootOfSquare:
      return std::sqrt(moments.trace_of_square);
  }
  throw std::logic_error("unknown divisor");
}

double limit_of(const FactorWeights& weights) {
  return 1 / std::max(weights.rank_tolerance, kSmallestTolerance);
}

template <typename T>
std::vector<T> fetch(const DeviceMemory& from, std::size_t count, const Stream& stream) {
  std::vector<T> result(count);
  check(cudaMemcpyAsync(result.data(), from.as(), count * sizeof(T), cudaMemcpyDeviceToHost, stream.get()),
        "cannot copy from the device");
  stream.wait();
  return result;
}

}  // namespace

std::size_t number_bytes(Precision precision) noexcept {
  return precision == Precision::kBf16 || precision == Precision::kFp16 ? 2 : 4;
}

Preparation::Preparation(const Device& device, std::shared_ptr<LayerMemory> memory, Precision precision, CudaLog log)
    : device_(device),
      memory_(std::move(memory)),
      precision_(precision),
      log_(std::move(log)),
      stream_(/*urgent=*/true),
      blas_(stream_) {}

std::unique_ptr<DeviceLayer> Preparation::prepare(const FactorWeights& weights) {
  const std::lock_guard lock(mutex_);
  device_.use();
  const std::size_t d = weights.outer.d_model();
  const std::size_t h = weights.outer.d_head();
  const std::size_t heads = weights.heads.size();
  auto layer = std::make_unique<DeviceLayer>(memory_->lease(heads * d * h * number_bytes(precision_)), heads, d, h);
  layer->ranks.assign(heads, h);
  layer->moments.resize(heads);
  layer->bases = info(weights.metric).factor == FactorKind::kBasis;
  const std::size_t batches = heads == 0 ? 0 : (heads - 1) / batch_size(d, h, heads) + 1;
  for (std::size_t b = 0; b < batches; ++b) {
    const std::size_t first = b * heads / batches;
    const Batch batch{weights, first, (b + 1) * heads / batches - first};
    reserve(d, h, batch.count);
    send_batch(batch);
    blas_.grams(columns_.as<double>(), d, h, batch.count, grams_.as<double>());
    if (layer->bases) {
      make_bases(batch, *layer);
    } else {
      make_scaled(batch, *layer);
    }
  }
  return layer;
}

std::unique_ptr<DeviceLayer> Preparation::upload(std::span<const std::byte> factors, std::size_t heads, std::size_t d,
                                                 std::size_t h) {
  const std::lock_guard lock(mutex_);
  device_.use();
  auto layer = std::make_unique<DeviceLayer>(memory_->lease(factors.size()), heads, d, h);
  const HostBytes parts[] = {factors};
  upload_.send(parts, stream_, layer->memory.data());
  stream_.wait();
  return layer;
}

void Preparation::download(const DeviceLayer& layer, std::span<std::byte> factors) {
  const std::lock_guard lock(mutex_);
  device_.use();
  check(cudaMemcpyAsync(factors.data(), layer.memory.data(), factors.size(), cudaMemcpyDeviceToHost, stream_.get()),
        "cannot copy from the device");
  stream_.wait();
}

std::size_t Preparation::still_needed() const {
  const std::lock_guard lock(mutex_);
  const std::size_t most = std::min(kScratch, device_.memory / 8) + Upload::kPiece;
  const std::size_t has =
      columns_.bytes() + transposed_.bytes() + grams_.bytes() + spare_.bytes() + vectors_.bytes() + powers_.bytes();
  return most - std::min(most, has);
}

std::size_t Preparation::batch_size(std::size_t d, std::size_t h, std::size_t heads) const {
  const std::size_t head_bytes = (2 * d * h + 7 * h * h) * sizeof(double);
  return std::clamp<std::size_t>(std::min(kScratch, device_.memory / 8) / head_bytes, 1, heads);
}

std::byte* Preparation::place(const DeviceLayer& layer, std::size_t head) const {
  return layer.memory.data() + head * layer.d * layer.h * number_bytes(precision_);
}

void Preparation::reserve(std::size_t d, std::size_t h, std::size_t count) {
  columns_.need(count * d * h * sizeof(double));
  transposed_.need(count * d * h * sizeof(double));
  grams_.need(count * h * h * sizeof(double));
  spare_.need(count * h * h * sizeof(double));
  vectors_.need(count * h * h * sizeof(double));
  powers_.need(4 * count * h * h * sizeof(double));
  conditions_.need(count * sizeof(double));
  logarithms_.need(2 * count * sizeof(double));
  traces_.need(count * 3 * sizeof(double));
  ranks_.need(count * sizeof(int));
}

// Uploads heads and converts them to double.
void Preparation::send(std::span<const HostBytes> heads, double* to) {
  upload_.send(heads, stream_, [&](const std::byte* data, std::size_t first, std::size_t bytes) {
    widen(reinterpret_cast<const float*>(data), bytes / sizeof(float), to + first / sizeof(float), stream_.get());
  });
}

std::vector<HostBytes> Preparation::heads_of(const Batch& batch, const HeadWeights& part) {
  std::vector<HostBytes> heads;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    heads.push_back(std::as_bytes(batch.weights.columns(part, batch.weights.heads[i])));
  }
  return heads;
}

// Writes the matrices to be factored to columns_.
void Preparation::send_batch(const Batch& batch) {
  // The mean over rotations is computed on the CPU: it takes h^2 steps per head and one decomposition.
  if (batch.weights.rotary.width > 0) return send_rotary_products(batch);
  if (info(batch.weights.metric).products()) return send_products(batch);
  send(heads_of(batch, batch.weights.outer), columns_.as<double>());
}

// Writes A R^T to columns_, where A is the outer factor, B the inner one, and B^T B = R^T R.
void Preparation::send_products(const Batch& batch) {
  const FactorWeights& weights = batch.weights;
  const std::size_t d = weights.outer.d_model();
  const std::size_t h = weights.outer.d_head();
  send(heads_of(batch, weights.inner), columns_.as<double>());
  blas_.grams(columns_.as<double>(), d, h, batch.count, grams_.as<double>());
  find_conditions(h, batch.count, nullptr);
  blas_.transform(spare_.as<double>(), grams_.as<double>(), h, h, batch.count, vectors_.as<double>());
  send(heads_of(batch, weights.outer), columns_.as<double>());
  blas_.transform(columns_.as<double>(), vectors_.as<double>(), d, h, batch.count, transposed_.as<double>());
  std::swap(columns_, transposed_);
  const std::vector<double> conditions = fetch<double>(conditions_, batch.count, stream_);
  std::vector<std::size_t> open;  // heads for which R may not exist
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (!(conditions[i] < 1 / kSmallestTolerance)) open.push_back(i);
  }
  std::vector<Buffer<float>> products(open.size());
  parallel_for(open.size(), [&](std::size_t i) {
    const std::size_t head = weights.heads[batch.first + open[i]];
    products[i] = Buffer<float>(d * h);
    multiply_by_gram_root(weights.columns(weights.outer, head), weights.columns(weights.inner, head), d, h,
                          products[i].values());
  });
  for (std::size_t i = 0; i < open.size(); ++i) {
    const HostBytes parts[] = {std::as_bytes(products[i].values())};
    send(parts, columns_.as<double>() + open[i] * d * h);
  }
  if (!open.empty() && log_) {
    log_(fmt::format("cuda: {} of {} {} heads may be rank-deficient: multiplied on the CPU", open.size(), batch.count,
                     letter(weights.inner.role())));
  }
}

// Writes A L to columns_, where L L^T is the mean of R B^T B R^T over rotations R.
void Preparation::send_rotary_products(const Batch& batch) {
  const FactorWeights& weights = batch.weights;
  const std::size_t d = weights.outer.d_model();
  const std::size_t h = weights.outer.d_head();
  std::vector<Buffer<float>> products(batch.count);
  parallel_for(batch.count, [&](std::size_t i) {
    const std::size_t head = weights.heads[batch.first + i];
    products[i] = Buffer<float>(d * h);
    multiply_by_rotary_root(weights.columns(weights.outer, head), weights.columns(weights.inner, head), d, h,
                            weights.rotary, products[i].values());
  });
  std::vector<HostBytes> parts;
  for (const Buffer<float>& product : products) parts.push_back(std::as_bytes(product.values()));
  send(parts, columns_.as<double>());
}

// Writes the noise of each head to noise_.
void Preparation::send_noise(const Batch& batch) {
  std::vector<double> noise;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    noise.push_back(batch.weights.outer.noise(batch.weights.heads[i]));
  }
  noise_.need(noise.size() * sizeof(double));
  check(
      cudaMemcpyAsync(noise_.as(), noise.data(), noise.size() * sizeof(double), cudaMemcpyHostToDevice, stream_.get()),
      "cannot copy to the device");
  stream_.wait();  // `noise` must outlive the copy
}

// Writes R^-1 to grams_, the Gram matrices to spare_, and upper bounds of the condition numbers, at most h^(1/16) times
// too large, to conditions_; infinity for heads with a singular value that may be below their noise, if that is given.
void Preparation::find_conditions(std::size_t h, std::size_t count, const double* noise) {
  const std::size_t bytes = count * h * h * sizeof(double);
  double* power = powers_.as<double>();
  double* next = power + 2 * count * h * h;
  double* const logarithms = logarithms_.as<double>();
  const cudaStream_t stream = stream_.get();
  for (double* copy : {spare_.as<double>(), power}) {
    check(cudaMemcpyAsync(copy, grams_.as(), bytes, cudaMemcpyDeviceToDevice, stream), "cannot copy on the device");
  }
  invert_cholesky(grams_.as<double>(), h, count, nullptr, device_.shared_memory, conditions_.as<double>(), stream);
  // Bound ||G|| and ||G^-1|| by powers: the product of Frobenius norms would leave most ranks undecided.
  blas_.outer_squares(grams_.as<double>(), h, count, power + count * h * h);
  check(cudaMemsetAsync(logarithms, 0, 2 * count * sizeof(double), stream), "cannot clear memory");
  normalize(power, h, 2 * count, logarithms, stream);
  for (int i = 0; i < kSquares; ++i) {
    blas_.squares(power, h, 2 * count, next);
    std::swap(power, next);
    normalize(power, h, 2 * count, logarithms, stream);
  }
  bound_conditions(logarithms, count, 1 << kSquares, noise, conditions_.as<double>(), stream);
}

void Preparation::make_bases(const Batch& batch, DeviceLayer& layer) {
  const double limit = limit_of(batch.weights);
  double* const columns = columns_.as<double>();
  double* const transposed = transposed_.as<double>();
  double* const grams = grams_.as<double>();
  double* const conditions = conditions_.as<double>();
  int* const ranks = ranks_.as<int>();
  const cudaStream_t stream = stream_.get();
  send_noise(batch);
  find_conditions(layer.h, batch.count, noise_.as<double>());
  const RankRule rule{1 / limit, limit, std::min(layer.d, layer.h), layer.h, batch.count, noise_.as<double>()};
  reveal_ranks(rule, conditions, device_.shared_memory, spare_.as<double>(), vectors_.as<double>(), grams, ranks,
               stream);
  blas_.transform(columns, grams, layer.d, layer.h, batch.count, transposed);
  const std::vector<double> found_conditions = fetch<double>(conditions_, batch.count, stream_);
  report(batch.weights, found_conditions, limit);
  const bool once = std::ranges::all_of(found_conditions, [](double c) { return c < kConditionForOnce; });
  if (!once) {
    blas_.grams(transposed, layer.d, layer.h, batch.count, grams);
    invert_cholesky(grams, layer.h, batch.count, ranks, device_.shared_memory, conditions, stream);
    note_failures(conditions, batch.count, ranks, stream);
    blas_.transform(transposed, grams, layer.d, layer.h, batch.count, columns);
  }
  store_factors(once ? transposed : columns, layer.d * layer.h, batch.count, Divisor::kOne, nullptr,
                rounding(precision_), place(layer, batch.first), stream);
  const std::vector<int> found = fetch<int>(ranks_, batch.count, stream_);
  for (std::size_t i = 0; i < batch.count; ++i) {
    layer.ranks[batch.first + i] = found[i] < 0 ? layer.h + 1 : static_cast<std::size_t>(found[i]);
  }
  replace_failed(batch, layer);
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    layer.moments[i] = projector_moments(layer.ranks[i]);
  }
}

// Handles heads that failed on the device (rank > h) on the CPU, which also reports what is wrong with a head that
// contains a NaN.
void Preparation::replace_failed(const Batch& batch, DeviceLayer& layer) {
  const std::size_t size = layer.d * layer.h;
  for (std::size_t i = batch.first; i < batch.first + batch.count; ++i) {
    if (layer.ranks[i] <= layer.h) continue;
    Buffer<float> basis(size);
    const std::size_t head = batch.weights.heads[i];
    layer.ranks[i] = orthonormal_basis(batch.weights.outer.columns(head), layer.d, layer.h, 1 / limit_of(batch.weights),
                                       basis.values(), batch.weights.outer.noise(head));
    const HostBytes parts[] = {std::as_bytes(basis.values())};
    send(parts, columns_.as<double>());
    store_factors(columns_.as<double>(), size, 1, Divisor::kOne, nullptr, rounding(precision_), place(layer, i),
                  stream_.get());
    stream_.wait();
    if (log_) {
      log_(fmt::format("cuda: {} head {} of {}: orthonormalized on the CPU", letter(batch.weights.outer.role()),
                       batch.weights.heads[i], batch.weights.outer.heads()));
    }
  }
}

void Preparation::make_scaled(const Batch& batch, DeviceLayer& layer) {
  const Divisor divisor = divisor_of(batch.weights.metric);
  blas_.squares(grams_.as<double>(), layer.h, batch.count, spare_.as<double>());
  gram_traces(grams_.as<double>(), spare_.as<double>(), layer.h, batch.count, traces_.as<double>(), stream_.get());
  store_factors(columns_.as<double>(), layer.d * layer.h, batch.count, divisor, traces_.as<double>(),
                rounding(precision_), place(layer, batch.first), stream_.get());
  const std::vector<double> traces = fetch<double>(traces_, 3 * batch.count, stream_);
  for (std::size_t i = 0; i < batch.count; ++i) {
    GramMoments& moments = layer.moments[batch.first + i];
    moments = {traces[3 * i], traces[3 * i + 1], traces[3 * i + 2]};
    const double square = divisor_squared(divisor, moments);
    if (square == 0) continue;
    moments.trace /= square;
    moments.trace_of_square /= square * square;
    moments.trace_of_cube /= square * square * square;
  }
}

void Preparation::report(const FactorWeights& weights, std::span<const double> conditions, double limit) const {
  const auto open = std::ranges::count_if(conditions, [&](double condition) { return !(condition < limit); });
  if (open == 0 || !log_) return;
  log_(fmt::format(
      "cuda: {} of {} {} heads may be rank-deficient: orthonormalized by eigenvectors instead of Cholesky QR", open,
      conditions.size(), letter(weights.outer.role())));
}

}  // namespace headscope::cuda
