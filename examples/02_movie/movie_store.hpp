// movie_store: the movies, stored by SQLite.
#pragma once

#include "movie.pb.h"

#include <coracle/runtime/offload.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct sqlite3;

// Opens its database on construction and closes it on destruction. SQLite blocks, for a disk perhaps, so each member
// function returns an awaitable that runs on the runtime's blocking pool, and the loops serve other calls meanwhile.
// Arguments passed by reference must stay valid until the await ends. Any loop may call; SQLite runs one statement at a time.
//
// A movie's id is the decimal text of its row number. Ids that no movie has, numbers or not, find nothing.
//
// Throws status_error: UNAVAILABLE while another process locks the database, INTERNAL for every other failure.
class movie_store {
 public:
  // ":memory:" stores nothing beyond the program's end.
  explicit movie_store(const std::string& path);

  // Inserts all movies or none; returns their ids, in order.
  auto insert(const std::vector<movie::Movie>& movies) {
    return coracle::offload(&movie_store::insert_now, this, &movies);
  }
  // Returns at most `limit` movies that were inserted after the one with the id `after`, in order; "" begins with the first.
  auto page(std::string after, int limit) {
    return coracle::offload(&movie_store::page_now, this, std::move(after), limit);
  }
  // Counts a view of the movie, if there is one with this id.
  auto watch(std::string id) { return coracle::offload(&movie_store::watch_now, this, std::move(id)); }

 private:
  std::vector<std::string> insert_now(const std::vector<movie::Movie>* movies);
  std::vector<movie::Movie> page_now(const std::string& after, int limit);
  std::optional<movie::WatchTogetherResponse> watch_now(const std::string& id);

  struct closer {
    void operator()(sqlite3* db) const noexcept;
  };
  std::mutex mutex_;
  std::unique_ptr<sqlite3, closer> db_;
};
