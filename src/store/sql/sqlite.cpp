// SQLite: the one file that knows its interface.
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "store/sql/backoff.hpp"
#include "store/sql/database.hpp"
#include "store/sql/deaf_ear.hpp"
#include "store/sql/statements.hpp"
#include "sys/fork.hpp"
#include "sys/process.hpp"

namespace mortise::sql {

namespace {

// The clock is asked by a function of our own while a statement has the write lock: one that waited for the
// lock does not go by the time before.
constexpr Dialect kDialect = {.now = "(mortise_clock() / 1000)",
                              .now_up = "((mortise_clock() + 999) / 1000)",
                              .fence = "1",
                              .parameter = "?"};
// Never falls: neither when the wall clock is set back, nor when the last commits were lost with the power,
// nor when the table is made anew.
constexpr std::string_view kDrawFence =
    "INSERT INTO :fences (id, last) VALUES (1, mortise_clock()) "
    "ON CONFLICT (id) DO UPDATE SET last = max(last + 1, mortise_clock()) RETURNING last";

void clock_function(sqlite3_context* context, int /*count*/, sqlite3_value** /*values*/) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  sqlite3_result_int64(context, std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// Somebody else has the lock that was needed, or is just putting the file in order.
struct Busy {};

// The one place where an error of SQLite becomes one of the store.
[[noreturn]] void fail(sqlite3* connection, int code, const std::string& path) {
  const int primary = code & 0xFF;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) throw Busy();
  const int error = connection != nullptr ? sqlite3_system_errno(connection) : 0;
  std::string sentence = path + ": " + (connection != nullptr ? sqlite3_errmsg(connection) : "no memory");
  const bool is_of_the_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  if (is_of_the_system && error != 0)
    sentence.append(" (").append(std::generic_category().message(error)).append(")");
  if (primary == SQLITE_FULL || (is_of_the_system && (error == ENOSPC || error == EDQUOT)))
    throw StoreError(StoreErrc::no_space, sentence + "; make room on its file system");
  switch (primary) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw StoreError(StoreErrc::permission_denied,
                       sentence + "; a holder of locks needs write access to the file and its directory");
    case SQLITE_CORRUPT:
      throw StoreError(StoreErrc::corrupt, sentence + "; stop its users and restore or remove it");
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      throw StoreError(StoreErrc::incompatible, sentence + "; is it the right file, and the right table?");
    default:
      throw StoreError(StoreErrc::cannot_open, sentence);
  }
}

class Statement {
 public:
  Statement(sqlite3* connection, const std::string& path, std::string_view text)
      : connection_(connection), path_(path) {
    const int code = sqlite3_prepare_v3(connection, text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
    if (code != SQLITE_OK) fail(connection, code, path);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  std::vector<Row> run(std::span<const Parameter> parameters) {
    int index = 0;
    for (const Parameter& parameter : parameters) bind(++index, parameter);
    std::vector<Row> rows;
    int code = 0;
    while ((code = sqlite3_step(statement_)) == SQLITE_ROW) rows.push_back(row());
    const int reset = sqlite3_reset(statement_);
    if (code != SQLITE_DONE) fail(connection_, reset != SQLITE_OK ? reset : code, path_);
    return rows;
  }

 private:
  // Until the statement is reset the parameters are there, and nobody reads them after.
  void bind(int index, const Parameter& parameter) {
    if (const auto* text = std::get_if<std::string_view>(&parameter)) {
      sqlite3_bind_text(statement_, index, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
    } else {
      sqlite3_bind_int64(statement_, index, std::get<std::int64_t>(parameter));
    }
  }

  Row row() {
    Row row;
    const auto count = std::min(static_cast<std::size_t>(sqlite3_column_count(statement_)), row.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto column = static_cast<int>(i);
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
      if (text != nullptr)
        row[i].assign(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
    }
    return row;
  }

  sqlite3* connection_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

// An open file. Used by one thread at a time.
class Connection {
 public:
  Connection(const Options& options, const Statements& texts);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  std::vector<Row> run(Query query, std::span<const Parameter> parameters) {
    return query == Query::acquire ? acquire(parameters) : statement(query).run(parameters);
  }
  [[nodiscard]] bool is_of_this_process() const { return incarnation_ == sys::incarnation(); }
  // Is it still the file that a newcomer would open?
  [[nodiscard]] bool has_its_file() const;

 private:
  void close();
  void execute(const char* text) { Statement(connection_, options_.location, text).run({}); }
  void prepare_table(const Statements& texts);
  void check_column(const std::string& name, bool is_key);
  Statement& statement(Query query);
  std::vector<Row> acquire(std::span<const Parameter> parameters);

  const Options& options_;
  const Statements& texts_;
  sqlite3* connection_ = nullptr;
  std::uint64_t incarnation_ = sys::incarnation();
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::array<std::optional<Statement>, kQueries> statements_;
  std::optional<Statement> begin_, draw_fence_, commit_, rollback_;
};

Connection::Connection(const Options& options, const Statements& texts) : options_(options), texts_(texts) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  if (options.create) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(options.location.c_str(), &connection_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(connection_, code, options_.location);
    // A column that does not exist is an error, and not a text.
    sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
    sqlite3_create_function_v2(connection_, "mortise_clock", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, nullptr,
                               clock_function, nullptr, nullptr, nullptr);
    prepare_table(texts);
    struct stat status {};
    if (stat(options_.location.c_str(), &status) != 0) throw Busy();  // removed meanwhile: once more
    device_ = status.st_dev;
    inode_ = status.st_ino;
  } catch (...) {
    close();
    throw;
  }
}

void Connection::close() {
  for (auto& each : statements_) each.reset();
  for (auto* each : {&begin_, &draw_fence_, &commit_, &rollback_}) each->reset();
  // What a raw clone() inherited is not to be put in order by whoever does not have its locks: the close lets
  // go of memory and of descriptors only.
  if (!is_of_this_process()) sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_close(connection_);
}

bool Connection::has_its_file() const {
  struct stat status {};
  return stat(options_.location.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void Connection::prepare_table(const Statements& texts) {
  Statement has_tables(connection_, options_.location, "SELECT count(*) FROM sqlite_master");
  // Write-ahead logging for a file of our own; somebody else's keeps its journal.
  if (options_.create && has_tables.run({})[0][0] == "0") execute("PRAGMA journal_mode = WAL");
  // What a crash of the host loses of it, it loses of the holders, too. The fencing numbers do not need it.
  Statement mode(connection_, options_.location, "PRAGMA journal_mode");
  if (mode.run({})[0][0] == "wal") execute("PRAGMA synchronous = NORMAL");
  if (options_.create) {
    execute(
        texts
            .filled_in("CREATE TABLE IF NOT EXISTS :table (:key TEXT NOT NULL PRIMARY KEY, :owner TEXT NOT "
                       "NULL, :expires INTEGER)")
            .c_str());
    execute(
        texts.filled_in("CREATE TABLE IF NOT EXISTS :fences (id INTEGER PRIMARY KEY, last INTEGER NOT NULL)")
            .c_str());
  }
  check_column(options_.key_column, true);
  check_column(options_.owner_column, false);
  check_column(options_.expires_column, false);
}

void Connection::check_column(const std::string& name, bool is_key) {
  const char* type = nullptr;
  const char* collation = nullptr;
  int not_null = 0;
  int primary_key = 0;
  int auto_increment = 0;
  const int code = sqlite3_table_column_metadata(connection_, "main", options_.table.c_str(), name.c_str(),
                                                 &type, &collation, &not_null, &primary_key, &auto_increment);
  if (code != SQLITE_OK) fail(connection_, code, options_.location);
  if (!is_key) return;
  if (collation != nullptr && std::string_view(collation) != "BINARY")
    throw StoreError(StoreErrc::incompatible, options_.location + ": the column " + name + " of the table " +
                                                  options_.table + " compares with the collation " +
                                                  collation + ", which takes different keys for the same");
}

Statement& Connection::statement(Query query) {
  auto& place = statements_[static_cast<std::size_t>(query)];
  if (!place) place.emplace(connection_, options_.location, texts_[query]);
  return *place;
}

// SQLite cannot write to two tables in one statement. The write lock is taken at the beginning: a transaction
// that read first could not be retried when somebody else wrote meanwhile.
std::vector<Row> Connection::acquire(std::span<const Parameter> parameters) {
  if (!begin_) {
    begin_.emplace(connection_, options_.location, "BEGIN IMMEDIATE");
    draw_fence_.emplace(connection_, options_.location, texts_.filled_in(kDrawFence));
    commit_.emplace(connection_, options_.location, "COMMIT");
    rollback_.emplace(connection_, options_.location, "ROLLBACK");
  }
  begin_->run({});
  try {
    std::vector<Row> rows = statement(Query::acquire).run(parameters);
    if (!rows.empty()) rows = draw_fence_->run({});
    commit_->run({});
    return rows;
  } catch (...) {
    // SQLite may have done so itself, on a full disk for instance.
    if (sqlite3_get_autocommit(connection_) == 0) rollback_->run({});
    throw;
  }
}

// One connection for all threads: SQLite has one writer at a time anyhow, and a mutex wakes the next sooner.
//
// SQLite keeps the locks of a file in memory of the process, which a child would believe to have inherited,
// and would destroy what others write. So a mutex is held while SQLite works, no process forks meanwhile, and
// all files are closed before one does.
class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(Options options) : options_(std::move(options)), texts_(options_, kDialect) {
    static const bool is_registered = [] {
      sys::run_before_fork([] {
        for (SqliteDatabase* each : all()) each->connection_.reset();
      });
      return true;
    }();
    static_cast<void>(is_registered);
    {
      const std::lock_guard guard(mutex());
      all().push_back(this);
    }
    try {
      within_the_timeout([this] { connected(); });
    } catch (...) {
      forget();
      throw;
    }
  }
  ~SqliteDatabase() override { forget(); }

  Answer run(Query query, std::span<const Parameter> parameters) override {
    Answer answer;
    within_the_timeout([&] { answer.rows = connected().run(query, parameters); });
    return answer;
  }

  std::unique_ptr<Ear> listen(const std::string& /*key*/) override { return std::make_unique<DeafEar>(); }

 private:
  static std::mutex& mutex() { return sys::process_mutex(sys::ProcessWide::files_of_databases); }
  // Under the mutex. Never destroyed, for a process may fork late.
  static std::vector<SqliteDatabase*>& all() {
    static auto* const instance = new std::vector<SqliteDatabase*>;
    return *instance;
  }

  void forget() {
    const std::lock_guard guard(mutex());
    std::erase(all(), this);
    connection_.reset();
  }

  // Under the mutex.
  Connection& connected() {
    // A raw clone() ran no fork handlers. SQLite must forget the file before it opens it anew.
    if (connection_ && !connection_->is_of_this_process())
      for (SqliteDatabase* each : all()) each->connection_.reset();
    if (connection_ && !connection_->has_its_file()) connection_.reset();
    if (!connection_) connection_ = std::make_unique<Connection>(options_, texts_);
    return *connection_;
  }

  // The pauses are without the mutex: other threads go on, and may fork.
  template <class Attempt>
  void within_the_timeout(const Attempt& attempt) {
    const sys::TimePoint deadline = sys::deadline_after(options_.timeout);
    Backoff backoff(std::chrono::microseconds(200), std::chrono::milliseconds(10));
    for (;;) {
      const bool is_last = sys::Clock::now() >= deadline;
      try {
        const std::lock_guard guard(mutex());
        return attempt();
      } catch (const Busy&) {
        if (is_last) break;
      }
      backoff.pause(deadline);
    }
    throw StoreError(StoreErrc::stalled, options_.location +
                                             ": another process has had the write lock of the file for " +
                                             std::to_string(options_.timeout.count()) +
                                             " ms; end its transaction, or wait longer with timeout=");
  }

  const Options options_;
  const Statements texts_;
  std::unique_ptr<Connection> connection_;  // under the mutex
};

}  // namespace

std::unique_ptr<Database> open_sqlite(const Options& options) {
  return std::make_unique<SqliteDatabase>(options);
}

}  // namespace mortise::sql
