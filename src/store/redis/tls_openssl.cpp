#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <mutex>
#include <new>

#include "store/redis/tls.hpp"
#include "sys/fork.hpp"

namespace mortise::store::redis {

namespace {

// Held while OpenSSL is at work, which is never for long, as it waits for nobody: so no process is forked
// while another thread has one of OpenSSL's own locks.
class AtWork {
 public:
  AtWork() { ERR_clear_error(); }

 private:
  std::lock_guard<std::mutex> guard_{sys::process_mutex(sys::ProcessWide::tls)};
};

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

// The first thing that went wrong since AtWork began.
std::string reason() {
  const char* text = ERR_reason_error_string(ERR_peek_error());
  return text != nullptr ? text : "it does not say why";
}

BIO* new_buffer() {
  const AtWork at_work;
  return BIO_new(BIO_s_mem());
}

class Session final : public TlsSession {
 public:
  Session(SSL_CTX* context, const std::string& host) : in_(new_buffer()), out_(new_buffer()) {
    const AtWork at_work;
    session_.reset(SSL_new(context));
    if (!session_ || in_ == nullptr || out_ == nullptr) throw std::bad_alloc();
    SSL_set_bio(session_.get(), in_, out_);
    SSL_set_connect_state(session_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), host.c_str()) == 1) return;
    if (SSL_set1_host(session_.get(), host.c_str()) != 1 ||
        SSL_set_tlsext_host_name(session_.get(), host.c_str()) != 1)
      throw std::bad_alloc();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() override {
    const AtWork at_work;
    session_.reset();
  }

  Step shake_hands() override {
    const AtWork at_work;
    const int result = SSL_do_handshake(session_.get());
    if (result == 1) return {true};
    return {false, failure_of(result)};
  }

  Progress encrypt(std::string_view plain) override {
    const AtWork at_work;
    std::size_t bytes = 0;
    if (SSL_write_ex(session_.get(), plain.data(), plain.size(), &bytes) == 1) return {bytes};
    return {0, failure_of(0)};
  }

  Progress decrypt(std::span<char> plain) override {
    const AtWork at_work;
    std::size_t bytes = 0;
    if (SSL_read_ex(session_.get(), plain.data(), plain.size(), &bytes) == 1) return {bytes};
    return {0, failure_of(0)};
  }

  // What a server says of its own accord, such as how to resume the session, is not something.
  bool has_something() override {
    const AtWork at_work;
    char first = 0;
    std::size_t bytes = 0;
    return SSL_peek_ex(session_.get(), &first, 1, &bytes) == 1 || !failure_of(0).empty();
  }

  void feed(std::span<const char> encrypted) override {
    const AtWork at_work;
    std::size_t bytes = 0;
    if (BIO_write_ex(in_, encrypted.data(), encrypted.size(), &bytes) != 1) throw std::bad_alloc();
  }

  std::string take() override {
    const AtWork at_work;
    std::string encrypted(BIO_ctrl_pending(out_), '\0');
    std::size_t bytes = 0;
    if (!encrypted.empty()) BIO_read_ex(out_, encrypted.data(), encrypted.size(), &bytes);
    return encrypted;
  }

 private:
  // Empty: it only wants more.
  std::string failure_of(int result) const {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        return {};
      case SSL_ERROR_ZERO_RETURN:
        return "it closed the connection";
      default:
        break;
    }
    if (const long verdict = SSL_get_verify_result(session_.get()); verdict != X509_V_OK) {
      return std::string("its certificate does not prove that it is this server: ") +
             X509_verify_cert_error_string(verdict);
    }
    return "TLS: " + reason();
  }

  std::unique_ptr<SSL, Free> session_;
  BIO* in_;  // both are the session's
  BIO* out_;
};

class Context final : public TlsContext {
 public:
  Context(const TlsFiles& files, std::string& failure) {
    const AtWork at_work;
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    // Else a key with a password would be asked for at the terminal.
    SSL_CTX_set_default_passwd_cb(context_.get(), [](char*, int, int, void*) { return 0; });
    failure = read(files);
  }
  [[nodiscard]] std::unique_ptr<TlsSession> begin(const std::string& host) const override {
    return std::make_unique<Session>(context_.get(), host);
  }

 private:
  std::string read(const TlsFiles& files) {
    SSL_CTX* const context = context_.get();
    if (files.authorities.empty()) {
      SSL_CTX_set_default_verify_paths(context);
    } else if (SSL_CTX_load_verify_locations(context, files.authorities.c_str(), nullptr) != 1) {
      return "the authorities cannot be read from " + files.authorities + ": " + reason();
    }
    if (files.certificate.empty()) return files.key.empty() ? "" : "key= is given without cert=";
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
      return "no certificate can be read from " + files.certificate + ": " + reason();
    const std::string& key = files.key.empty() ? files.certificate : files.key;
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
      return "no key of that certificate can be read from " + key + ": " + reason();
    return {};
  }

  std::unique_ptr<SSL_CTX, Free> context_;
};

}  // namespace

std::shared_ptr<const TlsContext> make_tls_context(const TlsFiles& files, std::string& failure) {
  // What it would clean up at exit, threads may still be using.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  auto context = std::make_shared<const Context>(files, failure);
  return failure.empty() ? context : nullptr;
}

}  // namespace mortise::store::redis
