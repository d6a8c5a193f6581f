#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forward/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// Highway's math header must follow highway.h.
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "headscope/forward/row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace headscope {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr std::size_t kMaxLanes = hn::MaxLanes(Tag());

// Replaces x by f(vector, index), one vector at a time, the last one padded with zeros.
template <typename F>
HWY_INLINE void transform(float* x, std::size_t n, const F& f) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i), i), d, x + i);
  if (i == n) return;
  HWY_ALIGN float rest[kMaxLanes] = {};
  std::copy(x + i, x + n, rest);
  hn::Store(f(hn::Load(d, rest), i), d, rest);
  std::copy(rest, rest + (n - i), x + i);
}

// Loads the vector at x[i], padded with zeros past n.
HWY_INLINE Vector load_partial(const float* x, std::size_t n, std::size_t i) {
  const Tag d;
  if (i + hn::Lanes(d) <= n) return hn::LoadU(d, x + i);
  HWY_ALIGN float rest[kMaxLanes] = {};
  std::copy(x + i, x + n, rest);
  return hn::Load(d, rest);
}

// Sum of f over x, with four accumulators to avoid a dependency chain.
template <typename F>
HWY_INLINE float sum(const float* x, std::size_t n, const F& f) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector a = hn::Zero(d), b = a, c = a, e = a;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, f(hn::LoadU(d, x + i)));
    b = hn::Add(b, f(hn::LoadU(d, x + i + lanes)));
    c = hn::Add(c, f(hn::LoadU(d, x + i + 2 * lanes)));
    e = hn::Add(e, f(hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, f(hn::LoadU(d, x + i)));
  float total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  if (i < n) {
    // Padding must not count, as f(0) need not be 0.
    HWY_ALIGN float rest[kMaxLanes] = {};
    std::copy(x + i, x + n, rest);
    hn::Store(f(hn::Load(d, rest)), d, rest);
    for (std::size_t j = 0; j < n - i; ++j) total += rest[j];
  }
  return total;
}

void layer_norm_here(const float* x, const float* gain, const float* bias, float epsilon, float* out, std::size_t n) {
  const Tag d;
  const auto count = static_cast<float>(n);
  const float mean = sum(x, n, [](Vector v) { return v; }) / count;
  const Vector center = hn::Set(d, mean);
  const float variance = sum(x, n,
                             [&](Vector v) {
                               const Vector off = hn::Sub(v, center);
                               return hn::Mul(off, off);
                             }) /
                         count;
  const Vector scale = hn::Set(d, 1 / std::sqrt(variance + epsilon));
  if (out != x) std::copy(x, x + n, out);
  transform(out, n, [&](Vector v, std::size_t i) {
    const Vector normal = hn::Mul(hn::Sub(v, center), scale);
    const Vector scaled = hn::Mul(normal, load_partial(gain, n, i));
    return bias == nullptr ? scaled : hn::Add(scaled, load_partial(bias, n, i));
  });
}

void rms_norm_here(const float* x, const float* gain, float epsilon, float* out, std::size_t n) {
  const Tag d;
  const float square = sum(x, n, [](Vector v) { return hn::Mul(v, v); }) / static_cast<float>(n);
  const Vector scale = hn::Set(d, 1 / std::sqrt(square + epsilon));
  if (out != x) std::copy(x, x + n, out);
  transform(out, n, [&](Vector v, std::size_t i) { return hn::Mul(hn::Mul(v, scale), load_partial(gain, n, i)); });
}

void softmax_here(float* x, std::size_t n) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  float largest = x[0];
  Vector most = hn::Set(d, largest);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
  largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) largest = std::max(largest, x[i]);
  const Vector offset = hn::Set(d, largest);
  transform(x, n, [&](Vector v, std::size_t) { return hn::Exp(d, hn::Sub(v, offset)); });
  const Vector scale = hn::Set(d, 1 / sum(x, n, [](Vector v) { return v; }));
  transform(x, n, [&](Vector v, std::size_t) { return hn::Mul(v, scale); });
}

double log_sum_exp_here(const float* x, std::size_t n) {
  constexpr std::size_t kBlock = 1024;  // few enough terms for sums in single precision
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  Vector most = hn::Set(d, x[0]);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
  float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) largest = std::max(largest, x[i]);
  const Vector offset = hn::Set(d, largest);
  double total = 0;
  for (i = 0; i + lanes <= n;) {
    Vector part = hn::Zero(d);
    for (const std::size_t end = std::min(n, i + kBlock); i + lanes <= end; i += lanes) {
      part = hn::Add(part, hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), offset)));
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, part)));
  }
  for (; i < n; ++i) total += std::exp(static_cast<double>(x[i]) - static_cast<double>(largest));
  return static_cast<double>(largest) + std::log(total);
}

void soft_cap_here(float* x, float cap, std::size_t n) {
  const Tag d;
  const Vector scale = hn::Set(d, cap);
  const Vector inverse = hn::Set(d, 1 / cap);
  transform(x, n, [&](Vector v, std::size_t) { return hn::Mul(scale, hn::Tanh(d, hn::Mul(v, inverse))); });
}

HWY_INLINE Vector sigmoid(Vector x) {
  const Tag d;
  const Vector one = hn::Set(d, 1.0F);
  // Highway's Exp wraps around beyond float's range; exp(88) is just inside it.
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 88.0F)))));
}

// Abramowitz and Stegun 7.1.26, within 1.5e-7.
HWY_INLINE Vector erf(Vector x) {
  const Tag d;
  const Vector size = hn::Abs(x);
  const Vector one = hn::Set(d, 1.0F);
  const Vector t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911F), size, one));
  Vector p = hn::Set(d, 1.061405429F);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741F));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736F));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592F));
  const Vector tail = hn::Mul(hn::Mul(p, t), hn::Exp(d, hn::Neg(hn::Mul(size, size))));
  return hn::CopySign(hn::Sub(one, tail), x);
}

HWY_INLINE Vector activated(Activation activation, Vector x) {
  const Tag d;
  const Vector half = hn::Mul(hn::Set(d, 0.5F), x);
  switch (activation) {
    case Activation::kRelu:
      return hn::Max(x, hn::Zero(d));
    case Activation::kRelu2:
      return hn::Mul(hn::Max(x, hn::Zero(d)), hn::Max(x, hn::Zero(d)));
    case Activation::kGelu:
      return hn::MulAdd(half, erf(hn::Mul(x, hn::Set(d, 0.70710678F))), half);
    case Activation::kGeluTanh: {
      const Vector cubic = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715F), hn::Mul(x, x)), x, x);
      return hn::MulAdd(half, hn::Tanh(d, hn::Mul(hn::Set(d, 0.79788456F), cubic)), half);
    }
    case Activation::kQuickGelu:
      return hn::Mul(x, sigmoid(hn::Mul(hn::Set(d, 1.702F), x)));
    case Activation::kSilu:
      return hn::Mul(x, sigmoid(x));
    case Activation::kTanh:
      return hn::Tanh(d, x);
  }
  return x;
}

void activate_here(Activation activation, float* x, std::size_t n) {
  transform(x, n, [&](Vector v, std::size_t) { return activated(activation, v); });
}

void activate_gate_here(Activation activation, const float* gate, float* x, std::size_t n) {
  transform(x, n, [&](Vector v, std::size_t i) { return hn::Mul(activated(activation, load_partial(gate, n, i)), v); });
}

void add_scaled_here(const float* y, const float* scale, float* x, std::size_t n) {
  transform(x, n, [&](Vector v, std::size_t i) {
    const Vector more = load_partial(y, n, i);
    return scale == nullptr ? hn::Add(v, more) : hn::MulAdd(more, load_partial(scale, n, i), v);
  });
}

void turn_pairs_here(const float* HWY_RESTRICT cosine, const float* HWY_RESTRICT sine, bool interleaved,
                     float* HWY_RESTRICT x, std::size_t n) {
  if (interleaved) {
    for (std::size_t i = 0; i < n; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      x[2 * i] = a * cosine[i] - b * sine[i];
      x[2 * i + 1] = b * cosine[i] + a * sine[i];
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float a = x[i];
    const float b = x[i + n];
    x[i] = a * cosine[i] - b * sine[i];
    x[i + n] = b * cosine[i] + a * sine[i];
  }
}

double entropy_here(const float* p, std::size_t n) {
  const Tag d;
  const Vector tiny = hn::Set(d, 1e-30F);
  return -static_cast<double>(sum(p, n, [&](Vector v) { return hn::Mul(v, hn::Log(d, hn::Max(v, tiny))); }));
}

// Bits of the nearest half. Highway's own conversion truncates if the processor has none.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<Tag>> half_bits(Vector x) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  const auto all = hn::BitCast(du, x);
  const auto sign = hn::And(hn::ShiftRight<16>(all), hn::Set(du, 0x8000u));
  const auto size = hn::And(all, hn::Set(du, 0x7FFFFFFFu));
  // Half of the last bit that is kept, minus one if that bit is 0: ties go to even.
  const auto odd = hn::And(hn::ShiftRight<13>(size), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(size, hn::Set(du, 0xFFFu)), odd);
  const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, hn::Set(du, 0x38000000u)));  // bias smaller by 112
  // Below 2^-14, halves are multiples of 2^-24, which is the last bit of floats from 0.5 to 1.
  const Vector half = hn::Set(d, 0.5F);
  const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, size), half)), hn::BitCast(du, half));
  auto bits = hn::IfThenElse(hn::Lt(size, hn::Set(du, 0x38800000u)), small, normal);
  bits = hn::IfThenElse(hn::Lt(size, hn::Set(du, 0x477FF000u)), bits, hn::Set(du, 0x7C00u));  // infinity from 65520 on
  bits = hn::IfThenElse(hn::Gt(size, hn::Set(du, 0x7F800000u)), hn::Set(du, 0x7E00u), bits);  // NaN
  return hn::Or(bits, sign);
}

void to_half_here(const float* x, unsigned short* out, std::size_t n) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  const hn::Rebind<std::uint16_t, Tag> d16;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN unsigned short stored[kMaxLanes];
  for (std::size_t i = 0; i < n; i += lanes) {
    hn::StoreU(hn::DemoteTo(d16, hn::BitCast(di, half_bits(load_partial(x, n, i)))), d16, stored);
    std::copy(stored, stored + std::min(lanes, n - i), out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headscope
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headscope {

HWY_EXPORT(layer_norm_here);
HWY_EXPORT(rms_norm_here);
HWY_EXPORT(softmax_here);
HWY_EXPORT(log_sum_exp_here);
HWY_EXPORT(soft_cap_here);
HWY_EXPORT(activate_here);
HWY_EXPORT(activate_gate_here);
HWY_EXPORT(add_scaled_here);
HWY_EXPORT(turn_pairs_here);
HWY_EXPORT(entropy_here);
HWY_EXPORT(to_half_here);

void layer_norm(std::span<const float> x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(layer_norm_here)
  (x.data(), gain.data(), bias.empty() ? nullptr : bias.data(), epsilon, out.data(), x.size());
}

void rms_norm(std::span<const float> x, std::span<const float> gain, float epsilon, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(rms_norm_here)(x.data(), gain.data(), epsilon, out.data(), x.size());
}

void softmax(std::span<float> x) {
  if (!x.empty()) HWY_DYNAMIC_DISPATCH(softmax_here)(x.data(), x.size());
}

double log_sum_exp(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(log_sum_exp_here)(x.data(), x.size());
}

void soft_cap(std::span<float> x, float cap) {
  HWY_DYNAMIC_DISPATCH(soft_cap_here)(x.data(), cap, x.size());
}

void activate(Activation activation, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(activate_here)(activation, x.data(), x.size());
}

void activate_gate(Activation activation, std::span<const float> gate, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(activate_gate_here)(activation, gate.data(), x.data(), x.size());
}

void add_scaled(std::span<const float> y, std::span<const float> scale, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(add_scaled_here)(y.data(), scale.empty() ? nullptr : scale.data(), x.data(), x.size());
}

void rotate_pairs(std::span<const float> cosine, std::span<const float> sine, bool interleaved, float* x) {
  HWY_DYNAMIC_DISPATCH(turn_pairs_here)(cosine.data(), sine.data(), interleaved, x, cosine.size());
}

double entropy(std::span<const float> p) {
  return HWY_DYNAMIC_DISPATCH(entropy_here)(p.data(), p.size());
}

void to_half(std::span<const float> x, std::span<unsigned short> out) {
  HWY_DYNAMIC_DISPATCH(to_half_here)(x.data(), out.data(), x.size());
}

}  // namespace headscope
#endif
