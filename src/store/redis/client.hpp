// Commands for a key's server, wherever that is, repeated as far as that is safe and the time allows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mortise/types.hpp"
#include "store/redis/command.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/key_names.hpp"
#include "store/redis/options.hpp"
#include "store/redis/pool.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/topology.hpp"

namespace mortise::store::redis {

struct Answer {
  Reply reply;
  bool is_uncertain = false;                 // the command may have been carried out, or may yet be
  std::unique_ptr<Connection> connection{};  // over which the reply came; give it back
};

// How a command is to be put.
struct Wording {
  bool is_repeated;   // it may have been carried out already
  bool is_spelt_out;  // the server does not know the script by its name
};
using MakeCommand = std::function<Command(Wording)>;

// Of one process. Any thread may use it.
class Client {
 public:
  explicit Client(Options options);

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] KeyNames names(const LockKey& key) const { return names_of(options_.prefix, key); }
  // For messages: where the store is.
  [[nodiscard]] std::string server() const;
  // When an operation that begins now is over at the latest.
  [[nodiscard]] sys::TimePoint deadline() const { return sys::deadline_after(options_.timeout); }

  // Asks the server that has the slot. A command whose answer was lost is repeated until the deadline, and so
  // is one that failed before it was sent, once, or for longer where another server may take over.
  Answer ask(std::uint16_t slot, const MakeCommand& make, sys::TimePoint deadline);
  // The same for one of our scripts.
  template <class... Words>
  Answer run(const Script& script, const KeyNames& names, sys::TimePoint deadline, const Words&... words) {
    return ask(
        slot_of(names.lease),
        [&](Wording wording) {
          Command command(wording.is_spelt_out ? "EVAL" : "EVALSHA",
                          wording.is_spelt_out ? script.text : script.name, 3, names.lease, names.notes,
                          names.bell);
          (command.add(in_words(words, wording)), ...);
          return command;
        },
        deadline);
  }

  // A connection to the server that has the slot, to wait on. nullptr: there is none now.
  std::unique_ptr<Connection> borrow(std::uint16_t slot, sys::TimePoint deadline);
  void give_back(std::unique_ptr<Connection> connection) { pool_.give_back(std::move(connection)); }

  [[nodiscard]] Pool& pool() { return pool_; }
  [[nodiscard]] Topology& topology() { return *topology_; }

  // In the place of a script's argument: "1" if the command is repeated.
  struct IsRepeated {};

 private:
  template <class Word>
  static const Word& in_words(const Word& word, Wording) {
    return word;
  }
  static std::string_view in_words(IsRepeated, Wording wording) { return wording.is_repeated ? "1" : "0"; }

  struct Redirection {
    Address server;
    bool is_for_once;
  };
  [[nodiscard]] std::optional<Redirection> redirection_in(const Reply& reply, const Address& from) const;
  Answer ask_once(std::uint16_t slot, const std::optional<Redirection>& redirection, const MakeCommand& make,
                  bool is_repeated, sys::TimePoint deadline);

  const Options options_;
  Pool pool_;
  std::unique_ptr<Topology> topology_;
};

}  // namespace mortise::store::redis
