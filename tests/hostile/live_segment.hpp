// A segment that this process uses, whose bytes can be changed under it and put back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mortise/mortise.hpp"

namespace mortise::hostile {

// How the library answered.
struct Tally {
  std::uint64_t answers = 0;
  std::map<StoreErrc, std::uint64_t> errors;
};

class LiveSegment {
 public:
  // Makes a small segment at `path`. It has keys of every slot size: free ones, held ones, one that was
  // handed over, one of a dead process and one whose lease has expired.
  explicit LiveSegment(const std::string& path);
  LiveSegment(const LiveSegment&) = delete;
  LiveSegment& operator=(const LiveSegment&) = delete;
  ~LiveSegment();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool has_its_size() const;
  void restore() const;

  // Everything that a process does that has the store open, with keys of one slot size. Anything thrown but a
  // StoreError goes through.
  static constexpr std::size_t kSlotSizes = 3;
  void use(std::size_t slot_size, Tally& tally) const;
  // Opens it anew: that looks at the header, too.
  void open(Tally& tally) const;
  // Waits for a moment for a key that is held.
  void wait(Tally& tally) const;
  // Attaches, which only another process can do, and uses it.
  void attach_another(Tally& tally) const;

 private:
  std::string path_;
  std::shared_ptr<LockStore> store_;
  std::unique_ptr<StoreView> view_;
  OwnerToken owner_ = OwnerToken::generate();  // of the keys that are held
  std::span<std::byte> bytes_;
  std::vector<std::byte> whole_;
};

}  // namespace mortise::hostile
