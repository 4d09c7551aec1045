// What excludes by name, as mortise does.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "support/exclusion.hpp"

namespace mortise::bench {

// Made before the processes fork, for so many keys; see Exclusion.
class KeyedExclusion {
 public:
  KeyedExclusion() = default;
  KeyedExclusion(const KeyedExclusion&) = delete;
  KeyedExclusion& operator=(const KeyedExclusion&) = delete;
  virtual ~KeyedExclusion() = default;

  virtual void enter() {}
  virtual void acquire(std::string_view key) = 0;
  virtual void release(std::string_view key) = 0;
};

template <class Keyed>
class OneKeyOf : public Exclusion {
 public:
  void enter() override { keyed_.enter(); }
  void acquire() override { keyed_.acquire(kUsualKey); }
  void release() override { keyed_.release(kUsualKey); }

 private:
  Keyed keyed_{1};
};

template <class Keyed>
std::unique_ptr<Exclusion> make_one_key_of() {
  return std::make_unique<Cycled<OneKeyOf<Keyed>>>();
}
template <class Keyed>
std::unique_ptr<KeyedExclusion> make_keyed(std::size_t keys) {
  return std::make_unique<Keyed>(keys);
}

}  // namespace mortise::bench
