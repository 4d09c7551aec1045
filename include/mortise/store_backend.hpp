// How a store that is not part of this library joins open_store(), open_view() and force_release(): by the
// scheme of its URLs.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "mortise/inspect.hpp"
#include "mortise/lock_store.hpp"

namespace mortise {

// What there is behind a scheme. Each function is given a whole URL of that scheme, and throws
// std::invalid_argument for one that it does not understand, StoreError when the store fails. nullptr: the
// store can't do that, and who asks for it is told so (StoreErrc::unsupported).
struct StoreBackend {
  std::shared_ptr<LockStore> (*open_store)(std::string_view url);
  std::unique_ptr<StoreView> (*open_view)(std::string_view url) = nullptr;
  std::optional<LeaseInfo> (*force_release)(std::string_view url, const LockKey& key) = nullptr;
};

// From now on a URL that begins with `scheme` and a colon is for `backend`. Any thread may call it at any
// time, initialisers of static variables included: that is how mortise::redis and mortise::sql are there as
// soon as a program is linked with them. Throws std::invalid_argument when the scheme is taken or is no
// scheme (a letter, then letters, digits, "+", "-" and ".").
void register_store_backend(std::string_view scheme, const StoreBackend& backend);

}  // namespace mortise
