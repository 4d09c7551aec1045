// Berkeley DB's lock manager alone: DB_ENV->lock_get and lock_put in a region that processes share.
#include <db.h>

#include "peers/keyed.hpp"
#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class BerkeleyDb : public KeyedExclusion {
 public:
  explicit BerkeleyDb(std::size_t) { enter(); }
  BerkeleyDb(const BerkeleyDb&) = delete;
  BerkeleyDb& operator=(const BerkeleyDb&) = delete;
  ~BerkeleyDb() override { environment_->close(environment_, 0); }

  // Handles cannot be inherited: the parent's stays its own.
  void enter() override {
    constexpr u_int32_t kMost = 20'000;
    must(db_env_create(&environment_, 0) == 0, "db_env_create");
    environment_->set_lk_max_objects(environment_, kMost);
    environment_->set_lk_max_locks(environment_, kMost);
    constexpr int kOwnerOnly = 0600;
    must(environment_->open(environment_, home_.path().c_str(), DB_CREATE | DB_INIT_LOCK, kOwnerOnly) == 0,
         "DB_ENV->open");
    must(environment_->lock_id(environment_, &locker_) == 0, "DB_ENV->lock_id");
  }
  void acquire(std::string_view key) override {
    DBT object{};
    // The C interface is not const, and changes nothing.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    object.data = const_cast<char*>(key.data());
    object.size = static_cast<u_int32_t>(key.size());
    must(environment_->lock_get(environment_, locker_, 0, &object, DB_LOCK_WRITE, &lock_) == 0, "lock_get");
  }
  void release(std::string_view) override {
    must(environment_->lock_put(environment_, &lock_) == 0, "lock_put");
  }

 private:
  TemporaryDirectory home_;
  DB_ENV* environment_ = nullptr;
  u_int32_t locker_ = 0;
  DB_LOCK lock_{};
};

const PeerEntry kEntry("Berkeley DB lock_get", make_one_key_of<BerkeleyDb>, make_keyed<BerkeleyDb>);

}  // namespace

}  // namespace mortise::bench
