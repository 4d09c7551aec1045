#include "peers/flock.hpp"

#include <sys/file.h>
#include <unistd.h>

#include "peers/descriptor.hpp"
#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

class OpenFileLock : public Exclusion {
 public:
  void enter() override { file_.open(); }
  void acquire() override { must(flock(file_.descriptor(), LOCK_EX) == 0, "flock"); }
  void release() override { must(flock(file_.descriptor(), LOCK_UN) == 0, "flock"); }

 private:
  OpenFile file_;
};

const PeerEntry kOpened("flock, descriptor kept", make_peer<OpenFileLock>);
const PeerEntry kEachTime("flock, opened each time", make_peer<FileLock>);

}  // namespace

void FileLock::acquire() {
  descriptor_ = open_file(file_.path());
  must(flock(descriptor_, LOCK_EX) == 0, "flock");
}

void FileLock::release() {
  must(flock(descriptor_, LOCK_UN) == 0, "flock");
  close(descriptor_);
}

}  // namespace mortise::bench
