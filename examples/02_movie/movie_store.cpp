#include "movie_store.hpp"

#include "sql.hpp"

#include <stdexcept>

namespace {

movie::Movie movie_of(sql::statement& row) {
  movie::Movie m;
  m.set_id(row.integer());
  m.set_title(row.bytes());
  m.set_year(static_cast<std::int32_t>(row.integer()));
  m.set_director(row.bytes());
  m.set_poster(row.bytes());
  m.set_views(static_cast<std::int32_t>(row.integer()));
  return m;
}

}  // namespace

void movie_store::closer::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

movie_store::movie_store(const std::string& path) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open(path.c_str(), &db);
  db_.reset(db);  // there is one to close after a failure too
  try {
    sql::check(db, code);
    sql::execute(db,
                 "create table if not exists movies (id integer primary key, title text not null, year "
                 "integer not null, "
                 "director text not null, poster blob, views integer not null default 0)");
  } catch (const coracle::status_error& error) {
    throw std::runtime_error(path + " cannot be used: " + std::string(error.status().message()));
  }
}

std::vector<std::int64_t> movie_store::insert_now(const std::vector<movie::Movie>* movies) {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> ids;
  sql::execute(db_.get(), "begin immediate");
  try {
    for (const movie::Movie& m : *movies) {
      sql::statement insert(db_.get(),
                            "insert into movies (title, year, director, poster) values (?, ?, ?, ?)");
      insert.bind(m.title()).bind(m.year()).bind(m.director()).bind_blob(m.poster()).step();
      ids.push_back(sqlite3_last_insert_rowid(db_.get()));
    }
    sql::execute(db_.get(), "commit");
  } catch (...) {
    sqlite3_exec(db_.get(), "rollback", nullptr, nullptr, nullptr);
    throw;
  }
  return ids;
}

std::vector<movie::Movie> movie_store::page_now(std::int64_t after, int most) {
  const std::lock_guard lock(mutex_);
  std::vector<movie::Movie> movies;
  sql::statement rows(
      db_.get(),
      "select id, title, year, director, poster, views from movies where id > ? order by id limit ?");
  rows.bind(after).bind(most);
  while (rows.step()) movies.push_back(movie_of(rows));
  return movies;
}

std::optional<movie::Movie> movie_store::watch_now(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  sql::statement row(
      db_.get(),
      "update movies set views = views + 1 where id = ? returning id, title, year, director, poster, views");
  row.bind(id);
  if (!row.step()) return std::nullopt;
  movie::Movie m = movie_of(row);
  row.step();  // a statement that is cut short would not be committed
  return m;
}
