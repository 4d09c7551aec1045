#include "store/backends.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "store/store_url.hpp"

namespace mortise {

namespace {

// Never destroyed: a static variable that holds a lock may outlive it.
struct Registry {
  std::mutex mutex;
  std::map<std::string, StoreBackend, std::less<>> backends;
};

Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

bool is_scheme(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  return !text.empty() && kLetters.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string_view::npos;
}

}  // namespace

void register_store_backend(std::string_view scheme, const StoreBackend& backend) {
  if (!is_scheme(scheme))
    throw std::invalid_argument("mortise: " + store::quoted(scheme) + " is no scheme of a URL");
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  if (store::is_table_scheme(scheme) || !all.backends.emplace(scheme, backend).second)
    throw std::invalid_argument("mortise: there is a store for the scheme " + store::quoted(scheme) +
                                " already");
}

namespace store {

StoreBackend backend_of(const Url& url) {
  Registry& all = registry();
  const std::lock_guard guard(all.mutex);
  if (const auto found = all.backends.find(url.scheme); found != all.backends.end()) return found->second;
  std::string known = "\"shm\", \"memory\"";
  for (const auto& [scheme, backend] : all.backends) known += ", " + quoted(scheme);
  refuse_url(url.whole,
             "unknown scheme " + quoted(url.scheme) + "; this program has " + known +
                 " (others come with the component that they are in: mortise::redis, mortise::sql)");
}

}  // namespace store

}  // namespace mortise
