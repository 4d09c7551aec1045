// Programs that refuse to be run as root, such as database servers.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace mortise::test {

// Runs one as the user who started the test, or, if that is root, as the user postgres. What it prints is
// appended to `log`. It dies with the thread that started it.
pid_t start_server_program(const std::vector<std::string>& command, const std::string& log);

// Runs one to its end. Throws std::runtime_error with what it printed unless it succeeds.
void run_server_program(const std::vector<std::string>& command, const std::string& log);

// Gives what root has made to the user of such programs.
void give_to_server_user(const std::filesystem::path& path);

// The status of a process that has ended.
int wait_for_end(pid_t pid);

}  // namespace mortise::test
