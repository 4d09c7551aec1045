// Changes bytes of a segment: anywhere, and where it hurts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace mortise::hostile {

struct Field {
  std::size_t offset;
  std::size_t size;
};
// Where a change means something; the slots that have keys more than once, for they are few.
std::vector<Field> fields_of(std::span<const std::byte> segment);
// Is it in the header or in a process record?
bool is_in_front(std::size_t offset);

class Vandal {
 public:
  explicit Vandal(std::span<std::byte> segment);

  // One to eight changes, which follow from the seed. True: one of them was in the header or in a process
  // record.
  bool strike(std::uint64_t seed);

 private:
  void strike_field();
  void strike_anywhere();
  [[nodiscard]] std::uint64_t value(std::uint64_t old);
  void write(std::size_t offset, std::size_t size, std::uint64_t content);
  std::size_t below(std::size_t end) { return random_() % end; }

  std::span<std::byte> segment_;
  std::vector<Field> fields_;
  std::mt19937_64 random_;
  bool hit_the_front_ = false;
};

}  // namespace mortise::hostile
