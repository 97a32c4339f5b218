// movie_store: the shelf, kept by SQLite.
#pragma once

#include "movie.pb.h"

#include <coracle/runtime/offload.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

// Opens its database when it is made and closes it when it is destroyed. SQLite blocks, for a disk perhaps, so
// each member gives an awaitable that runs it on the runtime's blocking pool: the loops go on serving meanwhile.
// What is passed must stay until the await ends. May be used from every loop; SQLite works on one thing at a time.
//
// Throws status_error (INTERNAL, or UNAVAILABLE for a database that somebody else has locked).
class movie_store {
 public:
  // ":memory:" keeps nothing when the program ends.
  explicit movie_store(const std::string& path);

  // All of them or none; their ids, in order.
  auto insert(const std::vector<movie::Movie>& movies) {
    return coracle::offload(&movie_store::insert_now, this, &movies);
  }
  // Up to `most` movies with an id above `after`, by id.
  auto page(std::int64_t after, int most) {
    return coracle::offload(&movie_store::page_now, this, after, most);
  }
  // Counts a view; the movie, if there is one with that id.
  auto watch(std::int64_t id) { return coracle::offload(&movie_store::watch_now, this, id); }

 private:
  std::vector<std::int64_t> insert_now(const std::vector<movie::Movie>* movies);
  std::vector<movie::Movie> page_now(std::int64_t after, int most);
  std::optional<movie::Movie> watch_now(std::int64_t id);

  struct closer {
    void operator()(sqlite3* db) const noexcept;
  };
  std::mutex mutex_;
  std::unique_ptr<sqlite3, closer> db_;
};
