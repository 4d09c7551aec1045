// Threads that the library makes for itself.
#pragma once

#include <functional>
#include <thread>

namespace mortise::sys {

// A thread that takes none of the process's signals: those are for the program's own threads. Throws
// std::system_error when there can be no more threads.
std::thread start_service_thread(std::function<void()> body);

}  // namespace mortise::sys
