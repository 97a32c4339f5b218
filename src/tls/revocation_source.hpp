// revocation_source: the CRLs of a security object, and the directory from which they are read again.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/tls/revocation_options.hpp"
#include "runtime/loop_service.hpp"
#include "tls/reloading.hpp"
#include "tls/revocation_lists.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace coracle::tls {

// Any thread may use it.
class revocation_source : public std::enable_shared_from_this<revocation_source> {
 public:
  // Null if the options have neither lists nor a directory. FAILED_PRECONDITION if they are invalid, and if
  // the directory cannot be read. issuers: those that are trusted, as far as they are known. Blocks.
  [[nodiscard]] static result<std::shared_ptr<revocation_source>> make(const revocation_options& options,
                                                                       const STACK_OF(X509) * issuers);
  // Use make().
  explicit revocation_source(const revocation_options& options) : options_(options) {}
  revocation_source(const revocation_source&) = delete;
  revocation_source& operator=(const revocation_source&) = delete;
  ~revocation_source();

  // Reads the directory again. Blocks. Fails if a part of it could not be read.
  status reload();
  // The lists in use. The first loop that asks reads the directory again after each interval, until its
  // runtime ends.
  [[nodiscard]] std::shared_ptr<const revocation_lists> current(loop& on);

 private:
  // A file of the directory, with what it had when it could last be read.
  struct entry {
    file_marks marks;
    std::size_t bytes = 0;
    revocation_lists::all lists;
  };
  using entries = std::map<std::string, entry>;  // by path
  class watch;

  [[nodiscard]] status read_directory(entries& to, std::string& problems) const;
  void use(const revocation_lists::all& of_files, bool is_first);
  status read_now(bool is_first);
  void write_log(loop& on);

  const revocation_options options_;
  revocation_lists::all fixed_;  // of options_.pem
  std::mutex reading_;  // held while the directory is read
  entries files_;  // under reading_
  std::mutex mutex_;
  std::shared_ptr<const revocation_lists> lists_;
  std::shared_ptr<runtime_internal::loop_service_handle> watch_;  // null: none
  status problem_;  // of the last reading
  status logged_;  // the last problem that was written to the log
  bool is_updated_ = false;  // since the last line in the log
};

}  // namespace coracle::tls
