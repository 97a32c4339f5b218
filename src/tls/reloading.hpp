// reloading: something that was made of files, and is made anew when they have changed.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/tls/limits.hpp"
#include "coracle/tls/pem_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls {

// What stat() says of each file behind its symbolic links: a new file that was renamed over an old one, a link that
// points elsewhere (Kubernetes) and a file that was written to are all different.
class file_marks {
 public:
  file_marks() = default;
  // Now. A file that is not there has a mark of its own.
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

// Any thread. Whoever took the old one keeps it; what cannot be made changes nothing.
template <class T>
class reloading {
 public:
  using made = result<std::shared_ptr<const T>>;

  // `make` may read files and may block for as long; what it is made of goes to `files`.
  reloading(std::function<made()> make, std::vector<std::string> files)
      : make_(std::move(make)), files_(std::move(files)) {}

  status reload() {
    const std::lock_guard lock(mutex_);
    return make_anew(file_marks::of(files_));
  }

  // The present one, after a look at the files when the last one was long ago. After a first reload() that was OK.
  std::shared_ptr<const T> get(loop& on) {
    const std::lock_guard lock(mutex_);
    if (files_.empty() || on.now() < next_look_) return current_;
    next_look_ = deadline_after(on.now(), limits::file_look_interval);
    file_marks marks = file_marks::of(files_);
    if (marks == marks_) return current_;
    const bool again = marks == tried_;
    tried_ = marks;
    const status s = make_anew(std::move(marks));
    if (s.ok()) on.log().write(log_level::info, "TLS: certificates were read anew");
    else if (!again)
      on.log().write(log_level::error, "TLS: the old certificates stay in use: " + std::string(s.message()));
    return current_;
  }

 private:
  // The marks are older than what is read: a change in between is seen at the next look. Files that could not be used
  // are tried again as long as they are other ones than those in use: what was in the way may pass.
  status make_anew(file_marks marks) {
    made m = make_();
    if (m) {
      current_ = *std::move(m);
      marks_ = std::move(marks);
    }
    return m.status();
  }

  const std::function<made()> make_;
  const std::vector<std::string> files_;
  std::mutex mutex_;
  file_marks marks_;  // of those in use
  file_marks tried_;  // at the last look that found others
  std::shared_ptr<const T> current_;
  time_point next_look_{};
};

}  // namespace coracle::tls
