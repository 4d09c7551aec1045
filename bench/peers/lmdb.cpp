// LMDB: a write transaction, of which there is one at a time for all keys. Nothing is written in it.
#include <lmdb.h>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class LmdbTransaction : public Exclusion {
 public:
  void enter() override {
    constexpr mdb_mode_t kOwnerOnly = 0600;
    must(mdb_env_create(&environment_) == 0, "mdb_env_create");
    must(mdb_env_open(environment_, home_.path().c_str(), MDB_NOSYNC, kOwnerOnly) == 0, "mdb_env_open");
  }
  void acquire() override {
    must(mdb_txn_begin(environment_, nullptr, 0, &transaction_) == 0, "mdb_txn_begin");
  }
  void release() override { mdb_txn_abort(transaction_); }

 private:
  TemporaryDirectory home_;
  MDB_env* environment_ = nullptr;  // never closed: the process ends soon
  MDB_txn* transaction_ = nullptr;
};

const PeerEntry kEntry("LMDB write transaction", make_peer<LmdbTransaction>);

}  // namespace

}  // namespace mortise::bench
