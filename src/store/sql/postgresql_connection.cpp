#include "store/sql/postgresql_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "store/url.hpp"
#include "sys/file.hpp"
#include "sys/process.hpp"

namespace mortise::sql {

namespace {

using Kind = PostgresqlFailure::Kind;

constexpr Oid kText = 25;
constexpr Oid kInt8 = 20;
constexpr std::size_t kMostParameters = 3;

// Sentences of libpq end with a line feed, and some have several lines.
std::string one_line(const char* text) {
  std::string line(text);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

struct Meaning {
  std::string_view state;  // the code, or the class that it begins with
  Kind kind;
  StoreErrc code;
  std::string_view advice;
};

// The one place where an SQLSTATE gets a meaning. The longest match counts.
constexpr Meaning kMeanings[] = {
    {"40", Kind::again, StoreErrc::refused, ""},  // serialization failure, deadlock
    {"55P03", Kind::again, StoreErrc::stalled, ""},
    {"53300", Kind::unsent, StoreErrc::refused, "; give the server more connections, or the store a pool="},
    {"57P01", Kind::lost, StoreErrc::unreachable, ""},  // terminated by an administrator
    {"57P02", Kind::lost, StoreErrc::unreachable, ""},
    {"57P03", Kind::unsent, StoreErrc::unreachable, ""},  // starting up, or shutting down
    {"57P05", Kind::lost, StoreErrc::unreachable, ""},    // idle for too long
    {"57014", Kind::permanent, StoreErrc::refused, "; the server's statement_timeout is too short"},
    {"08", Kind::lost, StoreErrc::unreachable, ""},
    // A standby, or one that was primary until now. Another attempt may find the new one.
    {"25006", Kind::lost, StoreErrc::refused,
     "; is it a standby? name all hosts in the URL, and target_session_attrs=read-write"},
    {"26000", Kind::unnamed, StoreErrc::refused, ""},
    {"28", Kind::permanent, StoreErrc::permission_denied, "; check the user, the password and pg_hba.conf"},
    {"42501", Kind::permanent, StoreErrc::permission_denied,
     "; it takes SELECT, INSERT, UPDATE, DELETE on the table and USAGE on its sequence of fencing numbers"},
    {"3D000", Kind::permanent, StoreErrc::cannot_open, "; create the database first"},
    {"53100", Kind::permanent, StoreErrc::no_space, "; make room on the server"},
    {"53", Kind::permanent, StoreErrc::refused, ""},
    {"22001", Kind::permanent, StoreErrc::incompatible, "; the key is too long for the table's column"},
    {"XX001", Kind::permanent, StoreErrc::corrupt, "; repair or restore the table"},
    {"XX002", Kind::permanent, StoreErrc::corrupt, "; REINDEX the table"},
    {"23", Kind::permanent, StoreErrc::incompatible, "; the table has other columns than a lock table"},
    {"42", Kind::permanent, StoreErrc::incompatible, "; is it the right database, and the right table?"},
    {"", Kind::permanent, StoreErrc::refused, ""},
};

const Meaning& meaning_of(std::string_view state) {
  const Meaning* best = nullptr;
  for (const Meaning& each : kMeanings)
    if (state.starts_with(each.state) && (best == nullptr || each.state.size() > best->state.size()))
      best = &each;
  return *best;
}

std::vector<Row> rows_of(const PGresult& result) {
  std::vector<Row> rows(static_cast<std::size_t>(PQntuples(&result)));
  const int columns = std::min(PQnfields(&result), static_cast<int>(Row().size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int column = 0; column < columns; ++column)
      rows[i][static_cast<std::size_t>(column)].assign(
          PQgetvalue(&result, static_cast<int>(i), column),
          static_cast<std::size_t>(PQgetlength(&result, static_cast<int>(i), column)));
  return rows;
}

// Parameters as libpq takes them.
class Arguments {
 public:
  explicit Arguments(std::span<const Parameter> parameters) : count_(parameters.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto* text = std::get_if<std::string_view>(&parameters[i]);
      texts_[i] =
          text != nullptr ? std::string(*text) : std::to_string(std::get<std::int64_t>(parameters[i]));
      types_[i] = text != nullptr ? kText : kInt8;
      values_[i] = texts_[i].c_str();
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(count_); }
  [[nodiscard]] const Oid* types() const { return types_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }

 private:
  std::size_t count_;
  std::array<std::string, kMostParameters> texts_;
  std::array<Oid, kMostParameters> types_{};
  std::array<const char*, kMostParameters> values_{};
};

// The same text has the same name, whoever prepared it: behind a proxy that may have been somebody else.
std::string name_of(const std::string& text) {
  return "mortise_" + std::to_string(std::hash<std::string>()(text));
}

}  // namespace

void check_location(const Options& options) {
  char* message = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(options.location.c_str(), &message);
  PQconninfoFree(parsed);
  const std::string reason = message != nullptr ? one_line(message) : "";
  PQfreemem(message);
  if (parsed != nullptr) return;
  // Other sentences quote the URL, with its password.
  const bool is_harmless = reason.starts_with("invalid URI query parameter");
  store::refuse_url(options.url, is_harmless ? reason : "it is none that libpq can read");
}

PostgresqlConnection::PostgresqlConnection(const Options& options, sys::TimePoint deadline)
    : options_(options), incarnation_(sys::incarnation()) {
  // Keys are UTF-8, whatever the environment says.
  const std::array<const char*, 4> names = {"dbname", "fallback_application_name", "client_encoding",
                                            nullptr};
  const std::array<const char*, 4> values = {options.location.c_str(), "mortise", "UTF8", nullptr};
  connection_.reset(PQconnectStartParams(names.data(), values.data(), 1));
  if (!connection_) throw std::bad_alloc();
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  connect(std::min(deadline, sys::deadline_after(options.connect_timeout)));
  PQsetnonblocking(connection_.get(), 1);
}

PostgresqlConnection::~PostgresqlConnection() {
  const int inherited = PQsocket(connection_.get());
  if (incarnation_ == sys::incarnation() || inherited < 0) return;
  // libpq frees nothing without a farewell: it says it to a socket that leads nowhere.
  const sys::FileDescriptor nowhere(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (dup3(nowhere.get(), inherited, O_CLOEXEC) == inherited) return;
  close(inherited);
  static_cast<void>(connection_.release());
}

void PostgresqlConnection::connect(sys::TimePoint deadline) {
  for (PostgresPollingStatusType status = PGRES_POLLING_WRITING; status != PGRES_POLLING_OK;
       status = PQconnectPoll(connection_.get())) {
    if (status == PGRES_POLLING_FAILED || PQstatus(connection_.get()) == CONNECTION_BAD) {
      const std::string reason = one_line(PQerrorMessage(connection_.get()));
      // libpq keeps no SQLSTATE of a refused connection; a server that answers says why it does.
      const auto says = [&](std::string_view words) { return reason.find(words) != std::string::npos; };
      if (says("password") || says("pg_hba.conf") || says("role \"") || says("authentication"))
        throw failure(Kind::permanent, StoreErrc::permission_denied, reason);
      if (says("does not exist") && says("database \""))
        throw failure(Kind::permanent, StoreErrc::cannot_open, reason + "; create the database first");
      throw failure(Kind::unsent, StoreErrc::unreachable, reason);
    }
    try {
      wait(status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline);
    } catch (const PostgresqlFailure&) {
      throw failure(Kind::unsent, StoreErrc::unreachable, "no connection within the time-out");
    }
  }
}

void PostgresqlConnection::wait(short events, sys::TimePoint deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - sys::Clock::now()).count();
    pollfd file{PQsocket(connection_.get()), events, 0};
    const int ready = poll(&file, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return;
    if (ready == 0 && left <= 0)
      throw failure(Kind::lost, StoreErrc::unreachable, "no answer within the time-out");
    if (ready < 0 && errno != EINTR) throw failure(Kind::lost, StoreErrc::unreachable, std::strerror(errno));
  }
}

PostgresqlFailure PostgresqlConnection::failure(Kind kind, StoreErrc code, const std::string& what,
                                                const std::string& state) const {
  return {kind, code, options_.url + ": " + what, state};
}

void PostgresqlConnection::require_sent(int is_sent) const {
  if (is_sent == 0)
    throw failure(Kind::unsent, StoreErrc::unreachable, one_line(PQerrorMessage(connection_.get())));
}

std::vector<Row> PostgresqlConnection::run(Query query, const std::string& text,
                                           std::span<const Parameter> parameters, bool prepared,
                                           sys::TimePoint deadline) {
  const Arguments arguments(parameters);
  if (prepared) {
    const std::string name = name_of(text);
    if (!prepared_.contains(name)) prepare(query, name, text, parameters.size(), deadline);
    require_sent(PQsendQueryPrepared(connection_.get(), name.c_str(), arguments.count(), arguments.values(),
                                     nullptr, nullptr, 0));
  } else {
    require_sent(PQsendQueryParams(connection_.get(), text.c_str(), arguments.count(), arguments.types(),
                                   arguments.values(), nullptr, nullptr, 0));
  }
  return rows_of(*answer(deadline));
}

std::vector<Row> PostgresqlConnection::run(const std::string& text, sys::TimePoint deadline) {
  require_sent(PQsendQuery(connection_.get(), text.c_str()));
  return rows_of(*answer(deadline));
}

void PostgresqlConnection::prepare(Query query, const std::string& name, const std::string& text,
                                   std::size_t count, sys::TimePoint deadline) {
  // Keys and owners, and then a number.
  std::array<Oid, kMostParameters> types = {kText, kText, kInt8};
  if (query == Query::list || query == Query::survey) types[1] = kInt8;
  require_sent(
      PQsendPrepare(connection_.get(), name.c_str(), text.c_str(), static_cast<int>(count), types.data()));
  try {
    answer(deadline);
  } catch (PostgresqlFailure& failed) {
    constexpr std::string_view kIsThereAlready = "42P05";
    if (failed.kind == Kind::lost) failed.kind = Kind::unsent;
    if (failed.state != kIsThereAlready) throw;
  }
  prepared_.insert(name);
}

PostgresqlFailure PostgresqlConnection::lost() const {
  return failure(Kind::lost, StoreErrc::unreachable, one_line(PQerrorMessage(connection_.get())));
}

void PostgresqlConnection::take_input() {
  if (PQconsumeInput(connection_.get()) == 0) throw lost();
}

void PostgresqlConnection::flush(sys::TimePoint deadline) {
  for (int unsent = 0; (unsent = PQflush(connection_.get())) != 0;) {
    if (unsent < 0) throw lost();
    wait(POLLIN | POLLOUT, deadline);
    take_input();
  }
}

PostgresqlConnection::Result PostgresqlConnection::last_result(sys::TimePoint deadline) {
  PGconn* const connection = connection_.get();
  Result last(nullptr, PQclear);
  for (;;) {
    while (PQisBusy(connection) != 0) {
      wait(POLLIN, deadline);
      take_input();
    }
    Result next(PQgetResult(connection), PQclear);
    if (!next) break;
    // Of an error and what follows it, the error counts.
    if (!last || PQresultStatus(last.get()) != PGRES_FATAL_ERROR) last = std::move(next);
  }
  // Behind a proxy that lends sessions this one may have been the listener's: nobody takes what it hears.
  while (PGnotify* notification = PQnotifies(connection)) PQfreemem(notification);
  if (!last) throw lost();
  return last;
}

PostgresqlConnection::Result PostgresqlConnection::answer(sys::TimePoint deadline) {
  flush(deadline);
  Result result = last_result(deadline);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  const char* field = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  const std::string state = field != nullptr ? field : "08000";
  const Meaning& meaning = meaning_of(state);
  const std::string sentence = one_line(PQresultErrorMessage(result.get())).append(meaning.advice);
  throw failure(meaning.kind, meaning.code, sentence, state);
}

std::vector<std::string> PostgresqlConnection::take_notifications() {
  take_input();
  std::vector<std::string> payloads;
  while (PGnotify* notification = PQnotifies(connection_.get())) {
    payloads.emplace_back(notification->extra);
    PQfreemem(notification);
  }
  return payloads;
}

}  // namespace mortise::sql
