// reloading: an object that is built from files, and rebuilt when they have changed.
#pragma once

#include "base/log_time.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/certificates_in_use.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls {

// The result of stat() for each file, following symbolic links. It differs if a new file was renamed over the
// old one, if a link refers to another file (Kubernetes), and if a file was written to.
class file_marks {
 public:
  file_marks() = default;
  // Returns the present marks. A missing file has a distinct mark.
  static file_marks of(const std::vector<std::string>& paths);
  friend bool operator==(const file_marks&, const file_marks&) = default;

 private:
  struct mark {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size_bytes = -1;
    std::int64_t changed_ns = 0;
    friend bool operator==(const mark&, const mark&) = default;
  };
  std::vector<mark> marks_;
};

// May be used from any thread. Users of the old object keep it; a failed build changes nothing.
template <class T>
class reloading {
 public:
  using made = result<std::shared_ptr<const T>>;

  // make: builds the object; it may read files and may block on that. files: the files that it reads.
  reloading(std::function<made()> make, std::vector<std::string> files)
      : make_(std::move(make)), files_(std::move(files)) {}

  status reload() {
    const std::lock_guard lock(mutex_);
    return load_now(file_marks::of(files_), base::log_time());
  }

  // Returns the current object. Checks the files first if the last check was more than
  // limits::file_check_interval ago. Requires a successful reload().
  std::shared_ptr<const T> get(loop& on) {
    const std::lock_guard lock(mutex_);
    check(on);
    return loaded_;
  }
  // Returns the current object, without a look at the files. The same requirement.
  [[nodiscard]] std::shared_ptr<const T> loaded() {
    const std::lock_guard lock(mutex_);
    return loaded_;
  }
  // Returns what the current object lists, with the history of its files. Checks them as get() does.
  security::certificates_in_use certificates(loop& on) {
    const std::lock_guard lock(mutex_);
    check(on);
    security::certificates_in_use listed = loaded_->certificates();
    listed.loaded = loaded_at_;
    listed.reload_error = error_;
    listed.reload_failed = failed_at_;
    return listed;
  }

 private:
  using wall_time = std::chrono::system_clock::time_point;

  void check(loop& on) {
    if (files_.empty() || on.now() < next_check_) return;
    next_check_ = deadline_after(on.now(), limits::file_check_interval);
    file_marks marks = file_marks::of(files_);
    if (marks == marks_) {
      if (tried_ != marks_) error_ = {};  // the files are those in use again
      tried_ = marks_;
      return;
    }
    const bool again = marks == tried_;
    tried_ = marks;
    const status s = load_now(std::move(marks), on.wall_now());
    if (s.ok()) on.log().write(log_room::tls, log_level::info, "TLS: the certificates were reloaded");
    else if (!again)
      on.log().write(log_room::tls, log_level::error,
                     "TLS: the certificates were not reloaded, and the previous ones stay in use: " +
                         std::string(s.message()));
  }
  // The marks were taken before the files are read, so that the next check detects a change in between. If
  // the files could not be used, each check tries again while they differ from those in use, because the
  // cause may be temporary.
  status load_now(file_marks marks, wall_time now) {
    made m = make_();
    if (m) {
      loaded_ = *std::move(m);
      loaded_at_ = now;
      error_ = {};
      tried_ = marks_ = std::move(marks);
      return {};
    }
    error_ = m.status();
    failed_at_ = now;
    return error_;
  }

  const std::function<made()> make_;
  const std::vector<std::string> files_;
  std::mutex mutex_;
  file_marks marks_;  // of the files in use
  file_marks tried_;  // at the last check that found different ones
  std::shared_ptr<const T> loaded_;
  wall_time loaded_at_{};
  // Of the last attempt to load other files; OK if they were loaded, or are those in use again.
  status error_;
  wall_time failed_at_{};
  time_point next_check_{};
};

}  // namespace coracle::tls
