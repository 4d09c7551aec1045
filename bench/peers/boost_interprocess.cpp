// Boost.Interprocess: a mutex by name (which stays locked when its owner dies), and its lock of a file.
#include <boost/interprocess/sync/file_lock.hpp>
#include <boost/interprocess/sync/named_mutex.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

namespace ipc = boost::interprocess;

// Of a mutex; it is removed at the end.
class MutexName {
 public:
  MutexName() = default;
  MutexName(const MutexName&) = delete;
  MutexName& operator=(const MutexName&) = delete;
  ~MutexName() { ipc::named_mutex::remove(get()); }
  [[nodiscard]] const char* get() const { return text_.c_str(); }

 private:
  std::string text_ = std::filesystem::path(TemporaryName().path()).filename();
};

class NamedMutex : public Exclusion {
 public:
  void acquire() override { mutex_.lock(); }
  void release() override { mutex_.unlock(); }

 private:
  MutexName name_;
  ipc::named_mutex mutex_{ipc::open_or_create, name_.get()};
};

class NamedMutexEachTime : public Exclusion {
 public:
  void acquire() override { mutex_.emplace(ipc::open_or_create, name_.get()).lock(); }
  void release() override {
    mutex_->unlock();
    mutex_.reset();
  }

 private:
  MutexName name_;
  std::optional<ipc::named_mutex> mutex_;  // while it is held
};

class BoostFileLock : public Exclusion {
 public:
  BoostFileLock() { std::ofstream(file_.path()).flush(); }
  void enter() override { lock_ = ipc::file_lock(file_.path().c_str()); }
  void acquire() override { lock_.lock(); }
  void release() override { lock_.unlock(); }

 private:
  TemporaryName file_;
  ipc::file_lock lock_;
};

const PeerEntry kOnce("Boost named_mutex, opened once", make_peer<NamedMutex>);
const PeerEntry kEachTime("Boost named_mutex, opened each time", make_peer<NamedMutexEachTime>);
const PeerEntry kFile("Boost file_lock", make_peer<BoostFileLock>);

}  // namespace

}  // namespace mortise::bench
