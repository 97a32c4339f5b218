#include "tls/revocation_source.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/offload.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle::tls {

namespace {

namespace fs = std::filesystem;

// Of files, in one line of the log.
constexpr std::size_t problems_max = 8;

// Reads at most bytes_max + 1 bytes. False if that fails.
bool read_file_of_crls(const std::string& path, std::size_t bytes_max, std::string& to) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return false;
  const std::streamoff size = file.tellg();
  if (size < 0) return false;
  to.assign(std::min(static_cast<std::size_t>(size), bytes_max + 1), '\0');
  file.seekg(0);
  file.read(to.data(), static_cast<std::streamsize>(to.size()));
  if (file.bad() || file.fail()) return false;
  return true;
}

template <class Entries>
revocation_lists::all lists_of(const Entries& files) {
  revocation_lists::all all;
  for (const auto& [path, one] : files) all.insert(all.end(), one.lists.begin(), one.lists.end());
  return all;
}

status too_large(const std::string& directory) {
  return status::failed_precondition("the CRLs of " + directory + " have more than " +
                                     std::to_string(limits::crl_bytes) +
                                     " bytes (tls::limits::crl_bytes): keep those of the issuers in use");
}

}  // namespace

result<std::shared_ptr<revocation_source>> revocation_source::make(const revocation_options& options,
                                                                   const STACK_OF(X509) * issuers) {
  if (options.pem.empty() && options.directory.empty()) {
    if (options.deny_undetermined)
      return status::failed_precondition(
          "revocation_options::deny_undetermined denies every certificate without CRLs: set pem or "
          "directory");
    return std::shared_ptr<revocation_source>();
  }
  auto made = std::make_shared<revocation_source>(options);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < options.pem.size(); ++i) {
    bytes += options.pem[i].size();
    if (bytes > limits::crl_bytes) return too_large("revocation_options::pem");
    auto lists = revocation_list::parse(options.pem[i]);
    if (!lists)
      return status::failed_precondition("text " + std::to_string(i + 1) + " of revocation_options::pem " +
                                         std::string(lists.status().message()));
    made->fixed_.insert(made->fixed_.end(), lists->begin(), lists->end());
  }
  if (options.directory.empty()) made->use({}, true);
  else if (status s = made->read_now(true); !s.ok()) return s;
  if (issuers) made->lists_->verify_by(*issuers);
  return made;
}

status revocation_source::reload() { return options_.directory.empty() ? status() : read_now(false); }

// Fills `to`, which has the files of before, and `problems` with what could not be read. Fails if nothing of
// the directory can be used; `to` is then as it may be.
status revocation_source::read_directory(entries& to, std::string& problems) const {
  const std::string& directory = options_.directory;
  entries found;
  std::set<std::string> failed;
  std::size_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string path = at->path().string();
    if (at->path().filename().string().starts_with('.')) continue;
    std::error_code of_file;
    if (fs::is_directory(at->path(), of_file)) continue;
    if (found.size() + failed.size() == limits::crl_files)
      return status::failed_precondition(directory + " has more than " + std::to_string(limits::crl_files) +
                                         " files of CRLs (tls::limits::crl_files)");
    // The marks are taken before the file is read, so that the next reading detects a change in between.
    file_marks marks = file_marks::of({path});
    const auto before = to.find(path);
    entry one;
    std::string problem;
    if (before != to.end() && before->second.marks == marks) {
      one = before->second;
    } else {
      std::string text;
      if (!fs::is_regular_file(at->path(), of_file)) problem = "is no file";
      else if (!read_file_of_crls(path, limits::crl_bytes, text)) problem = "cannot be read";
      else if (text.size() > limits::crl_bytes) return too_large(directory);
      if (problem.empty()) {
        auto lists = revocation_list::parse(text);
        if (!lists) problem = lists.status().message();
        else if (file_marks::of({path}) != marks) problem = "has changed while it was read";
        else one.lists = *std::move(lists);
      }
      one.marks = std::move(marks);
      one.bytes = text.size();
    }
    if (!problem.empty()) {
      failed.insert(path);
      if (failed.size() > problems_max) continue;
      problems.append(problems.empty() ? "" : "; ").append(base::printable(path)).append(" ").append(problem);
      continue;
    }
    bytes += one.bytes;
    if (bytes > limits::crl_bytes) return too_large(directory);
    found.insert_or_assign(path, std::move(one));
  }
  if (error)
    return status::failed_precondition("the directory of CRLs, " + base::printable(directory) +
                                       ", cannot be read: " + error.message());
  if (failed.size() > problems_max)
    problems.append("; and ").append(std::to_string(failed.size() - problems_max)).append(" more");
  // A file that cannot be read may be the list of any issuer: what is missing now stays then, unless another
  // file has a list of its issuer.
  if (!failed.empty()) {
    const auto has_list_of = [&found](const X509_NAME* issuer) {
      return std::ranges::any_of(found, [issuer](const auto& f) {
        return std::ranges::any_of(
            f.second.lists, [issuer](const auto& l) { return X509_NAME_cmp(l->issuer(), issuer) == 0; });
      });
    };
    entries kept;
    for (auto& [path, old] : to) {
      if (found.contains(path)) continue;
      // What it had itself stays while its file is there, whatever others have.
      if (!failed.contains(path))
        std::erase_if(old.lists, [&](const auto& l) { return has_list_of(l->issuer()); });
      if (old.lists.empty()) continue;
      bytes += old.bytes;
      if (bytes > limits::crl_bytes) return too_large(directory);
      kept.insert_or_assign(path, entry{{}, old.bytes, std::move(old.lists)});
    }
    found.merge(kept);
  }
  to = std::move(found);
  return {};
}

void revocation_source::use(const revocation_lists::all& of_files, bool is_first) {
  revocation_lists::all all = fixed_;
  all.insert(all.end(), of_files.begin(), of_files.end());
  auto made = std::make_shared<const revocation_lists>(all, options_.deny_undetermined);
  std::unique_lock lock(mutex_);
  if (const auto before = lists_) {
    lock.unlock();
    made->verify_as(*before);
    lock.lock();
  }
  is_updated_ = !is_first;
  lists_ = std::move(made);
}

// is_first: only a directory that cannot be used at all is an error.
status revocation_source::read_now(bool is_first) {
  const std::lock_guard one_at_a_time(reading_);
  entries files = files_;
  std::string problems;
  status outcome = read_directory(files, problems);
  if (outcome.ok()) {
    const revocation_lists::all now = lists_of(files);
    // The sessions of peers that these lists have let in stay.
    if (is_first || now != lists_of(files_)) use(now, is_first);
    files_ = std::move(files);
    if (!problems.empty())
      outcome = status::failed_precondition("some files of CRLs cannot be used: " + problems);
  } else if (is_first) {
    return outcome;
  }
  {
    const std::lock_guard lock(mutex_);
    problem_ = outcome;
  }
  if (!outcome.ok() && options_.on_error) {
    try {
      options_.on_error(outcome);
    } catch (...) {
    }
  }
  return is_first ? status() : outcome;
}

// One line for each problem, and for its end.
void revocation_source::write_log(loop& on) {
  const std::lock_guard lock(mutex_);
  const bool is_updated = std::exchange(is_updated_, false);
  if (problem_ == logged_) {
    if (is_updated) on.log().write(log_room::tls, log_level::info, "TLS: the CRLs were read again");
    return;
  }
  logged_ = problem_;
  if (problem_.ok()) on.log().write(log_room::tls, log_level::info, "TLS: the CRLs were read again");
  else
    on.log().write(
        log_room::tls, log_level::error,
        "TLS: CRLs were not read, and those from before stay in use: " + std::string(problem_.message()));
}

// Reads the directory again and again, on one loop, until the source or the runtime ends.
class revocation_source::watch final : public runtime_internal::loop_service {
 public:
  explicit watch(std::weak_ptr<revocation_source> of) noexcept : of_(std::move(of)) {}
  ~watch() override {
    const auto source = has_begun_ ? of_.lock() : nullptr;
    if (!source) return;
    const std::lock_guard lock(source->mutex_);
    source->watch_ = nullptr;  // another runtime may go on
  }
  void begin() {
    has_begun_ = true;
    work_.spawn(run());
  }

 private:
  void begin_shutdown() noexcept override {
    work_.request_stop();
    if (work_.running() == 0) shutdown_finished();
  }
  [[nodiscard]] duration interval() const noexcept {
    const auto source = of_.lock();
    return source ? std::max(source->options_.interval, limits::crl_interval_min) : limits::crl_interval;
  }
  task<> run() {
    try {
      while (true) {
        // Also at first: the lists may have been read long before the first connection. Without a thread or
        // memory for it, they stay until the next time.
        if (const auto source = of_.lock()) {
          try {
            offload reading([](revocation_source* s) { return s->read_now(false); }, source.get());
            const status outcome = co_await reading;
            static_cast<void>(outcome);  // the source keeps it
            source->write_log(*loop::current());
          } catch (const std::bad_alloc&) {
          } catch (const status_error&) {
          }
        }
        co_await sleep_for(interval());
      }
    } catch (const coro::cancelled&) {
    }
    shutdown_finished();
  }

  bool has_begun_ = false;
  const std::weak_ptr<revocation_source> of_;
  scope work_;
};

revocation_source::~revocation_source() {
  if (watch_) watch_->request_shutdown();
}

std::shared_ptr<const revocation_lists> revocation_source::current(loop& on) {
  std::unique_lock lock(mutex_);
  const auto lists = lists_;
  if (options_.directory.empty() || watch_) return lists;
  // Without memory for it, the next connection tries again.
  base::if_memory_allows([&] {
    auto made = std::make_unique<watch>(weak_from_this());
    watch& begun = *made;
    const auto handle = runtime_internal::loop_service::start(on, std::move(made));
    watch_ = handle;
    if (!base::if_memory_allows([&] { begun.begin(); })) handle->request_shutdown();
  });
  lock.unlock();
  write_log(on);
  return lists;
}

}  // namespace coracle::tls
