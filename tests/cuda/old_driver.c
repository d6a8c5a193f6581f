// Stands in for libcuda.so.1: a driver for CUDA 11.0 that has no function the runtime could use.

int cuDriverGetVersion(int* version) {
  *version = 11000;
  return 0;
}

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
