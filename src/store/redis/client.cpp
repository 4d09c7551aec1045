#include "store/redis/client.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "store/redis/failure.hpp"

namespace mortise::store::redis {

namespace {

using std::chrono::milliseconds;

constexpr unsigned kMostRedirections = 16;

// None before the first repetition: mostly the connection was an old one whose server had hung up.
milliseconds pause_before(unsigned repetition) {
  constexpr milliseconds kLongest{200};
  constexpr unsigned kDoublings = 5;
  if (repetition == 0) return milliseconds(0);
  return std::min(kLongest, milliseconds(5) * (1U << std::min(repetition, kDoublings)));
}

std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

}  // namespace

Client::Client(Options options)
    : options_(std::move(options)), pool_(options_), topology_(make_topology(options_, pool_)) {}

std::string Client::server() const {
  std::string all;
  for (const Address& each : options_.servers) all += (all.empty() ? "" : ", ") + each.text();
  return options_.master.empty() ? all : options_.master + " of " + all;
}

Answer Client::ask(std::uint16_t slot, const MakeCommand& make, sys::TimePoint deadline) {
  bool is_uncertain = false;
  unsigned redirections = 0;
  std::optional<Redirection> redirection;
  for (unsigned repetition = 0;;) {
    // A server that keeps silent, on a connection that it does not know any more perhaps, leaves time for
    // another try.
    const sys::TimePoint soon = std::min(deadline, sys::deadline_after(options_.timeout / 2));
    Answer answer = ask_once(slot, redirection, make, is_uncertain, soon);
    const Reply& reply = answer.reply;
    is_uncertain = is_uncertain || answer.is_uncertain;

    redirection = answer.connection ? redirection_in(reply, answer.connection->address()) : std::nullopt;
    if (redirection && redirections++ < kMostRedirections) {
      if (!redirection->is_for_once) topology_->learn(slot, redirection->server);
      give_back(std::move(answer.connection));
      continue;
    }
    if (reply.came() && !is_passing(reply) && !redirection) {
      answer.is_uncertain = is_uncertain && reply.kind == Reply::Kind::error;
      return answer;
    }
    answer.is_uncertain = is_uncertain;
    // Who does not speak the protocol will not learn it.
    const bool may_pass = reply.kind != Reply::Kind::garbage;
    const bool is_worth_it = repetition == 0 || (may_pass && (is_uncertain || topology_->has_substitutes()));
    const milliseconds pause = pause_before(repetition++);
    if (!is_worth_it || sys::deadline_after(pause) >= deadline) return answer;
    std::this_thread::sleep_for(pause);
    redirections = 0;
    redirection.reset();
  }
}

Answer Client::ask_once(std::uint16_t slot, const std::optional<Redirection>& redirection,
                        const MakeCommand& make, bool is_repeated, sys::TimePoint deadline) {
  Answer answer;
  const std::optional<Address> server =
      redirection ? redirection->server : topology_->server_of(slot, deadline, answer.reply);
  if (!server) return answer;
  answer.connection = pool_.take(*server, deadline, answer.reply);
  if (!answer.connection) {
    topology_->doubt(*server);
    return answer;
  }
  Connection& connection = *answer.connection;
  const auto put = [&](bool is_spelt_out) {
    const std::string bytes = make({is_repeated, is_spelt_out}).bytes();
    if (!redirection || !redirection->is_for_once) return connection.ask_raw(bytes, 1, deadline);
    return connection.ask_raw(Command("ASKING").bytes() + bytes, 2, deadline);
  };
  answer.reply = put(false);
  if (answer.reply.is_error("NOSCRIPT")) answer.reply = put(true);
  answer.is_uncertain =
      answer.reply.kind == Reply::Kind::unknown || answer.reply.kind == Reply::Kind::garbage;
  // Its other connections are no better, unless it is but one slot that is on its way elsewhere.
  if (!answer.reply.came() || (is_passing(answer.reply) && !answer.reply.is_error("TRYAGAIN"))) {
    answer.connection.reset();
    pool_.forget(*server);
    topology_->doubt(*server);
  }
  return answer;
}

// "MOVED 3999 127.0.0.1:6381", and the same with ASK. Without a host: that of the server that says so.
std::optional<Client::Redirection> Client::redirection_in(const Reply& reply, const Address& from) const {
  const bool is_for_once = reply.is_error("ASK ");
  if (options_.kind != Options::Kind::cluster || !(is_for_once || reply.is_error("MOVED ")))
    return std::nullopt;
  std::string_view rest = reply.text;
  next_word(rest);
  next_word(rest);
  const std::string_view where = next_word(rest);
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = static_cast<std::uint16_t>(std::atoi(std::string(where.substr(colon + 1)).c_str()));
  const std::string_view host = where.substr(0, colon);
  return Redirection{{host.empty() ? from.host : std::string(host), port, {}}, is_for_once};
}

std::unique_ptr<Connection> Client::borrow(std::uint16_t slot, sys::TimePoint deadline) {
  Reply failure;
  const auto server = topology_->server_of(slot, deadline, failure);
  return server ? pool_.take(*server, deadline, failure) : nullptr;
}

}  // namespace mortise::store::redis
