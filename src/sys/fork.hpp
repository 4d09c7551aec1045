// What a process keeps once for all its threads, and how it gets through a fork: the mutexes of all such
// state are held while the process forks, so that a child never inherits state that another thread was just
// changing.
#pragma once

#include <cstddef>
#include <mutex>

namespace mortise::sys {

// In the order in which they are taken, when more than one is.
enum class ProcessWide { default_store, segments, attachments, files_of_databases, connections, tls };
inline constexpr std::size_t kProcessWide = 6;

std::mutex& process_mutex(ProcessWide state);

// `hook` runs before every fork, all of these mutexes held: for what must not be there while a child is made.
void run_before_fork(void (*hook)());

// `hook` runs in every forked child before fork() returns there. It may do what a signal handler may.
void run_in_forked_child(void (*hook)());

}  // namespace mortise::sys
