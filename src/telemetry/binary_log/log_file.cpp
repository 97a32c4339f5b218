#include "base/if_memory_allows.hpp"
#include "coracle/telemetry/binary_log.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

namespace coracle {

namespace telemetry_internal {

// The buffer of a file and the thread that empties it.
class log_file_writer {
 public:
  log_file_writer(std::FILE* to, const binary_log_file_options& options)
      : file_(to), options_(options), thread_([this] { run(); }) {}
  log_file_writer(const log_file_writer&) = delete;
  log_file_writer& operator=(const log_file_writer&) = delete;
  ~log_file_writer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    std::fclose(file_);
  }

  void add(std::string_view entry) noexcept {
    const std::lock_guard lock(mutex_);
    const auto bytes = static_cast<std::uint32_t>(entry.size());
    const bool fits = entry.size() <= 0xffffffff && length_bytes + entry.size() <= room();
    const bool kept = fits && base::if_memory_allows([&] {
                        waiting_.reserve(waiting_.size() + length_bytes + entry.size());
                        for (const int shift : {24, 16, 8, 0})
                          waiting_.push_back(static_cast<char>(bytes >> shift));
                        waiting_.append(entry);
                      });
    if (!kept) {
      ++dropped_;
      return;
    }
    ++entries_;
    if (waiting_.size() >= early_bytes) wake_.notify_one();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    const std::uint64_t until = ++flushes_requested_;
    wake_.notify_all();
    done_.wait(lock, [&] { return flushes_done_ >= until; });
  }

  [[nodiscard]] std::uint64_t dropped() const noexcept {
    const std::lock_guard lock(mutex_);
    return dropped_;
  }

 private:
  static constexpr std::size_t length_bytes = 4;
  static constexpr std::size_t early_bytes = std::size_t{256} << 10;  // written before the interval ends

  [[nodiscard]] std::size_t room() const noexcept {
    const std::size_t used = waiting_.size() + writing_bytes_;
    return options_.buffer_bytes - std::min(used, options_.buffer_bytes);
  }

  void run() {
    std::string writing;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait_for(lock, options_.flush_interval, [&] {
        return ending_ || flushes_requested_ != flushes_done_ || waiting_.size() >= early_bytes;
      });
      const std::uint64_t requested = flushes_requested_;
      const bool last = ending_;
      writing.clear();
      writing.swap(waiting_);
      const std::uint64_t entries = std::exchange(entries_, 0);
      writing_bytes_ = writing.size();
      lock.unlock();
      const bool written = writing.empty() || write_all(writing);
      lock.lock();
      writing_bytes_ = 0;
      if (!written) dropped_ += entries;
      flushes_done_ = requested;
      done_.notify_all();
      if (last) return;
    }
  }

  bool write_all(const std::string& bytes) noexcept {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
    return std::fflush(file_) == 0 && written;
  }

  std::FILE* const file_;
  const binary_log_file_options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::string waiting_;
  std::size_t writing_bytes_ = 0;
  std::uint64_t entries_ = 0;  // in waiting_
  std::uint64_t dropped_ = 0;
  std::uint64_t flushes_requested_ = 0;
  std::uint64_t flushes_done_ = 0;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace telemetry_internal

result<std::shared_ptr<binary_log_file>> binary_log_file::open(const std::string& path,
                                                               const binary_log_file_options& options) {
  std::error_code ignored;
  const bool existed = std::filesystem::exists(path, ignored);
  // "e": not for the programs that this one starts.
  std::FILE* const file = std::fopen(path.c_str(), "abe");
  if (!file) return status::unavailable("cannot open the binary log " + path + ": " + std::strerror(errno));
  // Messages and metadata may be secret.
  if (!existed)
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
  std::setvbuf(file, nullptr, _IONBF, 0);
  return std::shared_ptr<binary_log_file>(
      new binary_log_file(std::make_unique<telemetry_internal::log_file_writer>(file, options)));
}

binary_log_file::binary_log_file(std::unique_ptr<telemetry_internal::log_file_writer> writer) noexcept
    : writer_(std::move(writer)) {}
binary_log_file::~binary_log_file() = default;

void binary_log_file::write(std::string&& entry) noexcept { writer_->add(entry); }
void binary_log_file::flush() { writer_->flush(); }
std::uint64_t binary_log_file::dropped() const noexcept { return writer_->dropped(); }

}  // namespace coracle
