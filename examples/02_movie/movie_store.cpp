#include "movie_store.hpp"

#include "sql.hpp"

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <system_error>

namespace {

// A movie is stored as its serialized message: columns would take four tables and lose the fields that a newer client sends.
movie::Movie movie_of(std::int64_t row, const std::string& stored) {
  movie::Movie m;
  if (!m.ParseFromString(stored))
    throw coracle::status_error(
        coracle::status::internal("the database: row " + std::to_string(row) + " is not a movie"));
  m.set_id(std::to_string(row));  // in place of what the client sent
  return m;
}

std::optional<std::int64_t> row_of(const std::string& id) {
  std::int64_t row = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), row);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return row;
}

}  // namespace

void movie_store::closer::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

movie_store::movie_store(const std::string& path) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open(path.c_str(), &db);
  db_.reset(db);  // a failed open leaves a handle to close, too
  try {
    sql::check(db, code);
    sql::execute(db,
                 "create table if not exists movie_messages "
                 "(id integer primary key, movie blob not null, views integer not null default 0)");
  } catch (const coracle::status_error& error) {
    throw std::runtime_error(path + " cannot be used: " + std::string(error.status().message()));
  }
}

std::vector<std::string> movie_store::insert_now(const std::vector<movie::Movie>* movies) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  sql::execute(db_.get(), "begin immediate");
  try {
    for (const movie::Movie& m : *movies) {
      const std::string stored = m.SerializeAsString();
      sql::statement insert(db_.get(), "insert into movie_messages (movie) values (?)");
      insert.bind_blob(stored).step();
      ids.push_back(std::to_string(sqlite3_last_insert_rowid(db_.get())));
    }
    sql::execute(db_.get(), "commit");
  } catch (...) {
    sqlite3_exec(db_.get(), "rollback", nullptr, nullptr, nullptr);
    throw;
  }
  return ids;
}

std::vector<movie::Movie> movie_store::page_now(const std::string& after, int limit) {
  const std::lock_guard lock(mutex_);
  std::vector<movie::Movie> found;
  sql::statement rows(db_.get(), "select id, movie from movie_messages where id > ? order by id limit ?");
  rows.bind(row_of(after).value_or(0)).bind(limit);
  while (rows.step()) {
    const std::int64_t row = rows.integer();
    found.push_back(movie_of(row, rows.bytes()));
  }
  return found;
}

std::optional<movie::WatchTogetherResponse> movie_store::watch_now(const std::string& id) {
  const auto row = row_of(id);
  if (!row) return std::nullopt;
  const std::lock_guard lock(mutex_);
  sql::statement update(db_.get(),
                        "update movie_messages set views = views + 1 where id = ? returning movie, views");
  update.bind(*row);
  if (!update.step()) return std::nullopt;
  movie::WatchTogetherResponse found;
  *found.mutable_movie() = movie_of(*row, update.bytes());
  found.set_views(static_cast<std::int32_t>(update.integer()));
  update.step();  // SQLite commits a statement only when it has run to its end
  return found;
}
