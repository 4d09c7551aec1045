// How a segment comes to be: whole or not at all, and one for each name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "segment/layout.hpp"

namespace mortise::segment {

// What a segment is to be, and the two things that must be known of its body.
struct Plan {
  std::uint64_t fingerprint;  // of its structures: a segment with another one is refused
  std::uint32_t slots;
  std::uint32_t processes;
  Guard guard;
  std::uint64_t body_bytes;
  // Fills zeroed memory that nobody else sees yet. False: there are no robust mutexes here.
  std::function<bool(const Header&, std::byte* body)> make_body;
  // The highest fencing number that was ever granted in a body; nullopt when the body makes no sense.
  std::function<std::optional<std::uint64_t>(const Header&, const std::byte* body, std::uint64_t bytes)>
      highest_fence;
};

// Where the fencing numbers of a segment begin that is made anew, or cannot be believed: above those before.
// The only use of the wall clock.
std::uint64_t fence_by_the_clock();

// Allocates and fills a file that nobody else can see yet. Throws StoreError.
void make(int fd, const Plan& plan, const std::string& name);

// Makes a segment at `path`, unless there is one by then. Throws StoreError.
void make_and_publish(const std::string& path, const Plan& plan, unsigned mode);

// Puts a new segment in the place of one of an earlier boot, which is open as `fd`: the same geometry, mode
// and owner, fencing numbers above all of its own, and no leases, for all its processes are gone. When others
// do the same at the same time there is one successor for all; whoever is stopped or killed in here holds up
// nobody. Throws StoreError.
void succeed(const std::string& path, int fd, const Header& header, const Plan& plan);

}  // namespace mortise::segment
