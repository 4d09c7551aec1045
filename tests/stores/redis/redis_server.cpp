#include "stores/redis/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "support/eventually.hpp"

namespace mortise::test {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// With `output` in the place of its standard output and error.
pid_t spawn(std::vector<std::string> words, int output) {
  const pid_t parent = getpid();
  std::vector<char*> pointers = pointers_to(words);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

bool answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::array<char, 1> byte{};
  const bool answered = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                        send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6 && recv(fd, byte.data(), 1, 0) == 1;
  close(fd);
  return answered;
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> arguments, std::uint16_t port,
                         const std::string& configuration)
    : owner_(getpid()), arguments_(std::move(arguments)), port_(port) {
  std::ofstream(file("configuration")) << configuration;
  start();
}

RedisServer::~RedisServer() {
  if (getpid() == owner_ && pid_ > 0) kill();
}

void RedisServer::start() {
  std::vector<std::string> words = {MORTISE_REDIS_SERVER,
                                    file("configuration"),
                                    "--port",
                                    std::to_string(port_),
                                    "--bind",
                                    "127.0.0.1",
                                    "--unixsocket",
                                    socket(),
                                    "--dir",
                                    directory_.path(),
                                    "--save",
                                    "",
                                    "--loglevel",
                                    "warning"};
  words.insert(words.end(), arguments_.begin(), arguments_.end());
  const int log = open(file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_ = spawn(words, log);
  close(log);
  if (!eventually([&] { return answers(socket()); }, std::chrono::seconds(30)))
    throw std::runtime_error("redis-server does not start; see " + file("log"));
}

void RedisServer::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void RedisServer::stop() const {
  ::kill(pid_, SIGSTOP);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED);
}

void RedisServer::resume() const {
  ::kill(pid_, SIGCONT);
}

std::string RedisServer::url(const std::string& options) const {
  return (port_ != 0 ? "redis://127.0.0.1:" + std::to_string(port_) : "redis+unix:" + socket()) + options;
}

std::string RedisServer::cli(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {MORTISE_REDIS_CLI, "-s", socket()};
  all.insert(all.end(), words.begin(), words.end());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t pid = spawn(all, ends[1]);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = read(ends[0], buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(size));
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  while (output.ends_with('\n')) output.pop_back();
  return output;
}

// Below the ports that the kernel gives to outgoing connections, and from a place of this process's own on,
// so that nobody takes it before the server does.
std::uint16_t free_port() {
  constexpr int kFirst = 10'000;
  constexpr int kPorts = 20'000;
  static int next = getpid() * 41;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(kFirst + ++next % kPorts);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (is_free) return port;
  }
}

}  // namespace mortise::test
