// The stores that joined open_store() by a scheme of their own.
#pragma once

#include "mortise/store_backend.hpp"
#include "store/url.hpp"

namespace mortise::store {

// Refuses a scheme that nobody registered, with a sentence that says which there are.
StoreBackend backend_of(const Url& url);

}  // namespace mortise::store
