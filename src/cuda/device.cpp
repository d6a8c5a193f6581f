#include "cuda/device.h"

#include <fmt/format.h>

#include "headscope/base/error.h"

namespace headscope::cuda {
namespace {

constexpr int kOldestCapability = 8;  // first with TF32 and bf16 tensor cores

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::kBackend, message);
}

std::string version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// Reports why there are no devices.
[[noreturn]] void fail_without_devices(cudaError_t status) {
  int driver = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  if (driver == 0) {
    fail("cuda: no NVIDIA driver on this machine; install one, or use the CPU");
  }
  if (status == cudaErrorInsufficientDriver || status == cudaErrorCallRequiresNewerDriver) {
    fail(fmt::format("cuda: the driver is for CUDA {}, expected {} or later; update it, or use the CPU",
                     version(driver), version(CUDART_VERSION)));
  }
  if (status == cudaErrorNoDevice) fail("cuda: this machine has no device (or CUDA_VISIBLE_DEVICES hides it)");
  fail(fmt::format("cuda: cannot list the devices: {}", cudaGetErrorString(status)));
}

[[noreturn]] void fail_out_of_memory(std::size_t bytes) {
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0;
  std::size_t total = 0;
  static_cast<void>(cudaMemGetInfo(&free, &total));
  fail(
      fmt::format("cuda: out of device memory: {:.2f} GB requested, {:.2f} of {:.2f} GB free; choose fewer heads, or "
                  "a device with more memory",
                  static_cast<double>(bytes) / 1e9, static_cast<double>(free) / 1e9, static_cast<double>(total) / 1e9));
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  fail(fmt::format("cuda: {}: {}", what, cudaGetErrorString(status)));
}

void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

void Device::use() const {
  check(cudaSetDevice(index), "cannot use the device");
}

std::size_t Device::free_memory() const {
  use();
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cannot query the free memory");
  return free;
}

Device open_device(int index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) fail_without_devices(status == cudaSuccess ? cudaErrorNoDevice : status);
  if (index < 0 || index >= count) {
    fail(fmt::format("cuda:{}: no such device; this machine has {}, numbered from 0", index, count));
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cannot query the device");
  if (properties.major < kOldestCapability) {
    fail(fmt::format("cuda:{}: {} has compute capability {}.{}, expected {}.0 or later; use the CPU", index,
                     properties.name, properties.major, properties.minor, kOldestCapability));
  }
  const std::string identity(properties.uuid.bytes, sizeof properties.uuid.bytes);
  Device device{index, properties.name, identity, properties.totalGlobalMem, properties.sharedMemPerBlockOptin};
  device.use();
  // The first call that creates the device's context, and thus the first to report problems with it.
  check(cudaFree(nullptr), "cannot initialize the device");
  return device;
}

void* OnDevice::allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, bytes);
  if (status == cudaErrorMemoryAllocation) fail_out_of_memory(bytes);
  check(status, "cannot allocate device memory");
  return data;
}

void OnDevice::free(void* data) noexcept {
  static_cast<void>(cudaFree(data));
}

void* Pinned::allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes), "cannot pin memory");
  return data;
}

void Pinned::free(void* data) noexcept {
  static_cast<void>(cudaFreeHost(data));
}

Stream::Stream(bool urgent) {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cannot query stream priorities");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? greatest : least),
        "cannot create a stream");
}

Stream::~Stream() {
  static_cast<void>(cudaStreamDestroy(stream_));
}

void Stream::wait() const {
  check(cudaStreamSynchronize(stream_), "work on the device failed");
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cannot create an event");
}

Event::~Event() {
  static_cast<void>(cudaEventDestroy(event_));
}

void Event::record(const Stream& stream) const {
  check(cudaEventRecord(event_, stream.get()), "cannot record an event");
}

void Event::wait() const {
  check(cudaEventSynchronize(event_), "work on the device failed");
}

void Event::hold(const Stream& stream) const {
  check(cudaStreamWaitEvent(stream.get(), event_, 0), "cannot synchronize streams");
}

}  // namespace headscope::cuda
