#include "store/redis/failure.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "mortise/errors.hpp"

namespace mortise::store::redis {

namespace {

struct Meaning {
  std::string_view word;  // with which the server's sentence begins
  StoreErrc code;
  std::string_view advice;
  bool passes = false;
};

constexpr std::array kMeanings{
    Meaning{"NOAUTH", StoreErrc::permission_denied, "give a user and a password in the store's URL"},
    Meaning{"WRONGPASS", StoreErrc::permission_denied,
            "look at the user and the password in the store's URL"},
    Meaning{"NOPERM", StoreErrc::permission_denied, "let this user run the commands of locks on these keys"},
    Meaning{"OOM", StoreErrc::no_space, "its memory is full: raise maxmemory or remove keys"},
    Meaning{"WRONGTYPE", StoreErrc::refused, "the key is no lock but something else: choose another prefix"},
    Meaning{"READONLY", StoreErrc::refused, "it is a replica: name the master in the store's URL", true},
    Meaning{"LOADING", StoreErrc::refused, "it has just started: try again in a moment", true},
    Meaning{"MASTERDOWN", StoreErrc::refused, "it is a replica without a master", true},
    Meaning{"CLUSTERDOWN", StoreErrc::refused, "the cluster is not complete", true},
    Meaning{"TRYAGAIN", StoreErrc::refused, "the key's slot is moving: try again in a moment", true},
    Meaning{"BUSY", StoreErrc::refused, "a script of somebody else does not end"},
    Meaning{"MISCONF", StoreErrc::refused, "it cannot save its data and takes no more"},
    Meaning{"MOVED", StoreErrc::refused, "it is part of a cluster: use a redis+cluster:// URL"},
    Meaning{"NOREPLICAS", StoreErrc::refused, "too few replicas are connected to it", true},
};

const Meaning* meaning_of(const Reply& reply) {
  const auto* const found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                         [&](const Meaning& each) { return reply.is_error(each.word); });
  return found == kMeanings.end() ? nullptr : found;
}

}  // namespace

bool is_passing(const Reply& reply) {
  const Meaning* meaning = meaning_of(reply);
  return meaning != nullptr && meaning->passes;
}

void throw_failure(const Reply& reply, std::string_view verb, std::string_view server) {
  std::string sentence("mortise: cannot ");
  sentence.append(verb).append(" at the Redis server ").append(server).append(": ");
  switch (reply.kind) {
    case Reply::Kind::unsent:
    case Reply::Kind::unknown:
      throw StoreError(StoreErrc::unreachable, sentence.append(reply.text));
    case Reply::Kind::garbage:
      throw StoreError(StoreErrc::bad_answer,
                       sentence.append("what it says is not Redis's protocol: ").append(reply.text));
    case Reply::Kind::error:
      break;
    default:
      throw StoreError(StoreErrc::bad_answer, sentence.append("its answer is none to the question"));
  }
  const Meaning* meaning = meaning_of(reply);
  sentence.append("it says \"").append(reply.text).append(1, '"');
  if (meaning == nullptr) throw StoreError(StoreErrc::refused, sentence);
  throw StoreError(meaning->code, sentence.append("; ").append(meaning->advice));
}

}  // namespace mortise::store::redis
