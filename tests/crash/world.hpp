// A segment in the state in which an operation is to be tried, again and again, and a process that lives
// through all of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crash/findings.hpp"
#include "crash/segment_file.hpp"
#include "crash/table_image.hpp"
#include "mortise/mortise.hpp"
#include "segment/segment.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace mortise::crash {

// The key that every operation is about: a few words long, so that it can be half written,
// and short enough for the stripe of the keys that the table knows.
inline constexpr const char* kKey = "the key of the operation";

struct WorldPlan {
  static constexpr unsigned kFewKeys = 24;     // some of which do not live in their first place
  static constexpr unsigned kFullStripe = 62;  // with the two of the bystander

  unsigned known_keys = kFewKeys;
  // What the table knows of kKey. due: known, and the next grant moves its fence mark.
  enum class Key { unknown, known, due, expired, of_a_dead_holder, of_the_bystander } key = Key::unknown;
  // Every process slot was used, all but the bystander's by processes that died with leases.
  bool dead_processes = false;
  // Whether the mutex of the stripe belongs to a process that died while it added a key: right after it had
  // reserved the slot of another, or when it had written the key.
  enum class Guard { sound, reserved, written } guard = Guard::sound;
  ShapeGuard shape_guard = ShapeGuard::robust_mutex;
};

class World {
 public:
  static constexpr std::uint32_t kProcesses = 8;

  explicit World(const WorldPlan& plan);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::shared_ptr<LockStore> open() const;
  [[nodiscard]] std::shared_ptr<segment::Segment> open_segment() const;
  [[nodiscard]] const SegmentFile& file() const noexcept { return *file_; }
  [[nodiscard]] TableImage image() const { return read_table(file_->bytes()); }
  // The part of the segment that operations on short keys may change.
  [[nodiscard]] std::span<const std::byte> changing_part() const;
  // As the plan says.
  void restore() const { file_->restore(); }

  // Keys that the table knew when it was made, without kKey and those of the bystander, and the fence of
  // each: of its last grant.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& fences() const noexcept { return fences_; }
  // One that the table knows at this moment.
  [[nodiscard]] std::string known_key() const;

  // The bystander holds two keys, and kKey if so planned.
  [[nodiscard]] const std::map<std::string, OwnerToken>& bystanders() const noexcept { return bystanders_; }
  [[nodiscard]] pid_t bystander() const noexcept { return bystander_->pid(); }
  // It releases one. False: it had lost it.
  [[nodiscard]] bool bystander_releases(const std::string& key) const;
  // Which process slots belong to a process that lives.
  [[nodiscard]] std::vector<pid_t> attached() const;

 private:
  ShapeGuard shape_guard_;
  void add_known_keys(unsigned count);
  void start_bystander(bool holds_key);
  void prepare_key(WorldPlan::Key state);
  void fill_process_slots();
  void die_in_guard(WorldPlan::Guard guard);
  void note_fences();
  void in_a_process(const std::function<void(LockStore&)>& work) const;

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.file("segment");
  std::unique_ptr<SegmentFile> file_;
  std::map<std::string, std::uint64_t> fences_;
  std::map<std::string, OwnerToken> bystanders_;
  std::optional<test::ChildProcess> bystander_;
};

}  // namespace mortise::crash
