// Memory that a test shares with the children it forks, without the library under test.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <new>
#include <type_traits>

namespace mortise::test {

// A T that this process and its forked children see. Its destructor never runs.
template <class T>
class Shared {
 public:
  Shared() {
    static_assert(std::is_trivially_destructible_v<T>);
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    value_ = new (memory) T();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }

  T& operator*() const noexcept { return *value_; }
  T* operator->() const noexcept { return value_; }

 private:
  T* value_;
};

// Lets `count` processes go on together, again and again.
class ProcessBarrier {
 public:
  explicit ProcessBarrier(unsigned count) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&*barrier_, &attributes, count);
    pthread_barrierattr_destroy(&attributes);
  }
  void arrive_and_wait() const { pthread_barrier_wait(&*barrier_); }

 private:
  Shared<pthread_barrier_t> barrier_;
};

}  // namespace mortise::test
