// Acquires and releases at full speed, so that whoever is killed or stopped is so in the middle of it.
#pragma once

#include <cstdint>

#include "random.hpp"
#include "recorded_lock.hpp"

namespace mortise::storm {

class Hammer {
 public:
  Hammer(Recorder& recorder, Random& random) : recorder_(recorder), random_(random) {}

  // Some hundred leases of one hot key, of the crowd, or of keys that nobody had before. The first one is
  // written down; the others are witnessed by what they guard.
  void burst();
  // A few that are not written down.
  void taps();

 private:
  void record_one(KeyIndex key);
  void tap(KeyIndex key);
  void tap_unique_key();
  bool granted(Lock& lock);
  KeyIndex random_hot_key() { return random_.between(kWatchedKeys, kHammeredKeys - 1); }
  KeyIndex random_crowd_key() { return random_.between(kHammeredKeys, kAllKeys - 1); }

  Recorder& recorder_;
  Random& random_;
  std::uint64_t unique_keys_ = 0;
};

}  // namespace mortise::storm
