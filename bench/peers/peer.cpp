#include "peers/peer.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::bench {

namespace {

std::vector<Peer>& entries() {
  static std::vector<Peer> list;
  return list;
}

}  // namespace

PeerEntry::PeerEntry(std::string name, decltype(Peer::make) make, decltype(Peer::make_keyed) make_keyed) {
  auto& list = entries();
  const auto place =
      std::find_if(list.begin(), list.end(), [&](const Peer& other) { return other.name > name; });
  list.insert(place, Peer{std::move(name), make, make_keyed});
}

const std::vector<Peer>& peers() {
  return entries();
}

std::vector<std::string> missing_peers() {
  std::istringstream text(MORTISE_BENCH_MISSING);
  std::vector<std::string> names;
  for (std::string name; std::getline(text, name, '|');) names.push_back(name);
  return names;
}

}  // namespace mortise::bench
