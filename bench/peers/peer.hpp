// What mortise is compared with. Each peer is a file here that enters itself into the list; where the library
// that it needs was not found, its name is on the list of those that are missing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "peers/keyed.hpp"
#include "support/exclusion.hpp"

namespace mortise::bench {

struct Peer {
  std::string name;
  std::unique_ptr<Exclusion> (*make)();
  std::unique_ptr<KeyedExclusion> (*make_keyed)(std::size_t keys) = nullptr;  // nullptr: it knows no keys
};

// By name.
const std::vector<Peer>& peers();
// Peers that cannot take part, each with the reason.
std::vector<std::string> missing_peers();

class PeerEntry {
 public:
  explicit PeerEntry(std::string name, decltype(Peer::make) make,
                     decltype(Peer::make_keyed) make_keyed = nullptr);
};

template <class E>
std::unique_ptr<Exclusion> make_peer() {
  return std::make_unique<Cycled<E>>();
}

}  // namespace mortise::bench
