// A little C++ around SQLite: errors as status_error, and one SQL statement at a time.
#pragma once

#include <coracle/base/result.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sql {

inline void check(sqlite3* db, int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  const auto text = std::string("the database: ") + sqlite3_errmsg(db);
  const bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  throw coracle::status_error(busy ? coracle::status::unavailable(text) : coracle::status::internal(text));
}

inline void execute(sqlite3* db, const char* sql) {
  check(db, sqlite3_exec(db, sql, nullptr, nullptr, nullptr));
}

// One SQL statement; values are bound and columns read from the left.
class statement {
 public:
  statement(sqlite3* db, const char* sql) : db_(db) {
    check(db, sqlite3_prepare_v2(db, sql, -1, &handle_, nullptr));
  }
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;
  ~statement() { sqlite3_finalize(handle_); }

  // Texts and blobs are borrowed until the statement is run.
  statement& bind(std::int64_t value) { return bound(sqlite3_bind_int64(handle_, ++bound_, value)); }
  statement& bind(std::string_view text) {
    return bound(
        sqlite3_bind_text64(handle_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  statement& bind_blob(std::string_view bytes) {
    return bound(sqlite3_bind_blob64(handle_, ++bound_, bytes.data(), bytes.size(), SQLITE_STATIC));
  }
  // True while there is a row.
  bool step() {
    read_ = 0;
    const int code = sqlite3_step(handle_);
    check(db_, code);
    return code == SQLITE_ROW;
  }
  std::int64_t integer() { return sqlite3_column_int64(handle_, read_++); }
  std::string bytes() {
    const int column = read_++;
    const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
    return data ? std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)))
                : std::string();
  }

 private:
  statement& bound(int code) { return check(db_, code), *this; }
  sqlite3* db_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
  int read_ = 0;
};

}  // namespace sql
