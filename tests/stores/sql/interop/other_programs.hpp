// Programs that are not ours, and use the same tables.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace mortise::test {

// What a shell command writes, without the last line feed.
inline std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t length = fread(part.data(), 1, part.size(), pipe))
    output.append(part.data(), length);
  EXPECT_EQ(pclose(pipe), 0) << command;
  if (!output.empty() && output.back() == '\n') output.pop_back();
  return output;
}

// A program that answers each line with a line.
class Dialogue {
 public:
  explicit Dialogue(std::vector<std::string> command) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    std::vector<char*> arguments;
    for (std::string& argument : command) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
  }
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;
  ~Dialogue() {
    fclose(to_);
    fclose(from_);
    waitpid(pid_, nullptr, 0);
  }

  std::string operator()(const std::string& line) {
    fprintf(to_, "%s\n", line.c_str());
    fflush(to_);
    std::array<char, 1024> answer{};
    if (fgets(answer.data(), static_cast<int>(answer.size()), from_) == nullptr) return "no answer";
    std::string text(answer.data());
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace mortise::test
