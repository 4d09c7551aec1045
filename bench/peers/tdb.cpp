// Samba's tdb: robust mutexes in a file, one for each chain of a hash table.
#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <ctime>

extern "C" {
#include <tdb.h>
}

#include "peers/keyed.hpp"
#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class Tdb : public KeyedExclusion {
 public:
  explicit Tdb(std::size_t keys) : chains_(static_cast<int>(keys)) { enter(); }
  Tdb(const Tdb&) = delete;
  Tdb& operator=(const Tdb&) = delete;
  ~Tdb() override { tdb_close(tdb_); }

  // An inherited one is left as it is: closing it would take locks away from the parent.
  void enter() override {
    if (!tdb_runtime_check_for_robust_mutexes()) throw std::runtime_error("tdb: no robust mutexes here");
    constexpr mode_t kOwnerOnly = 0600;
    constexpr int kFlags = TDB_MUTEX_LOCKING | TDB_CLEAR_IF_FIRST | TDB_INCOMPATIBLE_HASH | TDB_NOSYNC;
    if (tdb_ == nullptr) {
      tdb_ = tdb_open(file_.path().c_str(), chains_, kFlags, O_RDWR | O_CREAT, kOwnerOnly);
      must(tdb_ != nullptr, "tdb_open");
    } else {
      must(tdb_reopen(tdb_) == 0, "tdb_reopen");
    }
  }
  void acquire(std::string_view key) override { must(tdb_chainlock(tdb_, data(key)) == 0, "tdb_chainlock"); }
  void release(std::string_view key) override {
    must(tdb_chainunlock(tdb_, data(key)) == 0, "tdb_chainunlock");
  }

 private:
  static TDB_DATA data(std::string_view key) {
    // The C interface is not const, and changes nothing.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    return {reinterpret_cast<unsigned char*>(const_cast<char*>(key.data())), key.size()};
  }
  TemporaryName file_;
  int chains_;
  tdb_context* tdb_ = nullptr;
};

const PeerEntry kEntry("tdb_chainlock", make_one_key_of<Tdb>, make_keyed<Tdb>);

}  // namespace

}  // namespace mortise::bench
