// semop(2) with SEM_UNDO: a System V semaphore that the kernel gives back when its process dies.
#include <sys/ipc.h>
#include <sys/sem.h>

#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class SysvSemaphore : public Exclusion {
 public:
  SysvSemaphore() {
    constexpr int kOwnerOnly = 0600;
    id_ = semget(IPC_PRIVATE, 1, IPC_CREAT | kOwnerOnly);
    must(id_ >= 0, "semget");
    release();
  }
  SysvSemaphore(const SysvSemaphore&) = delete;
  SysvSemaphore& operator=(const SysvSemaphore&) = delete;
  ~SysvSemaphore() override { semctl(id_, 0, IPC_RMID); }

  void acquire() override { add(-1); }
  void release() override { add(1); }

 private:
  void add(short number) const {
    sembuf operation{0, number, SEM_UNDO};
    must(semop(id_, &operation, 1) == 0, "semop");
  }
  int id_;
};

const PeerEntry kEntry("System V semaphore, SEM_UNDO", make_peer<SysvSemaphore>);

}  // namespace

}  // namespace mortise::bench
