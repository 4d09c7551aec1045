// fcntl(2) with F_OFD_SETLKW: the lock of an open file description on a range of bytes.
#include <fcntl.h>
#include <unistd.h>

#include "peers/descriptor.hpp"
#include "peers/peer.hpp"

namespace mortise::bench {

namespace {

void set_lock(int descriptor, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  must(fcntl(descriptor, F_OFD_SETLKW, &whole) == 0, "F_OFD_SETLKW");
}

class OpenOfdLock : public Exclusion {
 public:
  void enter() override { file_.open(); }
  void acquire() override { set_lock(file_.descriptor(), F_WRLCK); }
  void release() override { set_lock(file_.descriptor(), F_UNLCK); }

 private:
  OpenFile file_;
};

class OfdLock : public Exclusion {
 public:
  void acquire() override {
    descriptor_ = open_file(file_.path());
    set_lock(descriptor_, F_WRLCK);
  }
  void release() override {
    set_lock(descriptor_, F_UNLCK);
    close(descriptor_);
  }

 private:
  TemporaryName file_;
  int descriptor_ = -1;
};

const PeerEntry kOpened("OFD lock, descriptor kept", make_peer<OpenOfdLock>);
const PeerEntry kEachTime("OFD lock, opened each time", make_peer<OfdLock>);

}  // namespace

}  // namespace mortise::bench
