#include "support/samples.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

namespace mortise::bench {

Samples::Samples(std::vector<float> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end());
}

double Samples::percentile(double percent) const {
  const auto rank = std::ceil(percent / 100 * static_cast<double>(values_.size()));
  return values_[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

// Reserves nothing: only what is written takes memory.
SharedSamples::SharedSamples(std::size_t capacity)
    : capacity_(capacity), bytes_(sizeof(std::size_t) + capacity * sizeof(float)) {
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  count_ = static_cast<std::size_t*>(memory);
  values_ = reinterpret_cast<float*>(count_ + 1);
}

SharedSamples::~SharedSamples() {
  munmap(count_, bytes_);
}

void SharedSamples::add(Clock::duration time) {
  if (*count_ == capacity_) throw std::length_error("more samples than there is room for");
  values_[(*count_)++] = static_cast<float>(in_micros(time));
}

std::span<const float> SharedSamples::values() const {
  return {values_, *count_};
}

}  // namespace mortise::bench
