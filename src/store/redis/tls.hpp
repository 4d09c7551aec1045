// Encryption of a connection. It touches no socket: encrypted bytes are fed to it and taken from it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mortise::store::redis {

struct Progress {
  std::size_t bytes = 0;
  std::string failure{};  // empty: none
};

// Of one connection.
class TlsSession {
 public:
  TlsSession() = default;
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  virtual ~TlsSession() = default;

  struct Step {
    bool is_last = false;
    std::string failure{};
  };
  // As far as what was fed allows. Unless it was the last step, more has to be fed.
  virtual Step shake_hands() = 0;
  // All of it is there to be taken then, or a failure.
  virtual Progress encrypt(std::string_view plain) = 0;
  // No bytes and no failure: more has to be fed.
  virtual Progress decrypt(std::span<char> plain) = 0;
  // decrypt() would give something, if only a failure.
  virtual bool has_something() = 0;

  virtual void feed(std::span<const char> encrypted) = 0;
  virtual std::string take() = 0;
};

// Whom to trust, and who we are. For any number of threads, and forked children.
class TlsContext {
 public:
  TlsContext() = default;
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  virtual ~TlsContext() = default;
  // With the server of that name or address: it has to prove that it is that.
  [[nodiscard]] virtual std::unique_ptr<TlsSession> begin(const std::string& host) const = 0;
};

// In PEM.
struct TlsFiles {
  std::string authorities;  // empty: those that the system trusts
  std::string certificate;  // ours; empty: none
  std::string key;          // empty: it is in the file of the certificate
};

// nullptr: `failure` says which file is not what it should be. Throws a StoreError when this build of mortise
// knows no TLS.
std::shared_ptr<const TlsContext> make_tls_context(const TlsFiles& files, std::string& failure);

}  // namespace mortise::store::redis
