#include "support/exclusion.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace mortise::bench {

void must(bool succeeded, const char* what) {
  if (!succeeded)
    throw std::runtime_error(std::string("failed: ") + what + ", " + std::generic_category().message(errno));
}

AcquireOptions MortiseLease::event_only() {
  return {.timeout = std::chrono::minutes(5), .retry_delay = std::chrono::seconds(10)};
}

MortiseLease::MortiseLease(Ttl ttl, AcquireOptions options)
    : MortiseLease(std::make_shared<Segment>(), kUsualKey, ttl, std::move(options)) {}

MortiseLease::MortiseLease(std::shared_ptr<Segment> segment, const LockKey& key, Ttl ttl,
                           AcquireOptions options)
    : segment_(std::move(segment)), options_(std::move(options)), lock_(key, ttl, segment_->store()) {}

void MortiseLease::acquire() {
  must(lock_.acquire(options_), "acquire");
}

void MortiseLease::release() {
  must(lock_.release(), "release");
}

}  // namespace mortise::bench
