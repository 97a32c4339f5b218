#include "net/confined_folder.hpp"

#include "net/io_error.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <utility>

namespace coracle::net {

namespace {

// O_NONBLOCK: a FIFO without a writer must not block a thread, and is then rejected.
constexpr int file_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

int open_by_kernel(int folder, const char* path) noexcept {
  open_how how{};
  how.flags = file_flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int opened = -EAGAIN;
  // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether ".." left the folder.
  for (int tries = 0; tries < 8 && opened == -EAGAIN; ++tries) {
    const long n = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
    opened = n < 0 ? -errno : static_cast<int>(n);
  }
  return opened;
}

int open_by_steps(int folder, const std::string& path) noexcept {
  std::unique_ptr<const owned_descriptor> step;
  for (std::size_t from = 0;;) {
    const std::size_t slash = path.find('/', from);
    const bool last = slash == std::string::npos;
    const std::string name = path.substr(from, last ? slash : slash - from);
    const int flags = last ? file_flags : O_PATH | O_DIRECTORY | O_CLOEXEC;
    const int opened = ::openat(step ? step->number() : folder, name.c_str(), flags | O_NOFOLLOW);
    if (opened < 0) return -errno;
    if (last) return opened;
    step = std::make_unique<const owned_descriptor>(opened);
    from = slash + 1;
  }
}

}  // namespace

owned_descriptor::~owned_descriptor() { ::close(number_); }

std::string confined_file::read(std::uint64_t offset, std::size_t bytes) const {
  std::string text(bytes, '\0');
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t n =
        ::pread(handle->number(), text.data() + got, bytes - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw status_error(file_error(-errno, "reading", "a file"));
    if (n == 0) break;
    got += static_cast<std::size_t>(n);
  }
  text.resize(got);
  return text;
}

result<std::shared_ptr<const confined_folder>> confined_folder::open(const std::string& path, confinement c) {
  const int number = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (number < 0) return file_error(-errno, "opening", path);
  return std::shared_ptr<const confined_folder>(new confined_folder(number, c));
}

int confined_folder::open_below(const std::string& path) const noexcept {
  const char* const text = path.empty() ? "." : path.c_str();
  if (confinement_ == confinement::by_kernel) {
    const int opened = open_by_kernel(handle_.number(), text);
    // ENOSYS: an older kernel. EPERM: a container whose filter does not know the call.
    if (opened != -ENOSYS && opened != -EPERM) return opened;
    confinement_ = confinement::by_steps;
  }
  return open_by_steps(handle_.number(), text);
}

result<confined_file> confined_folder::find(const std::string& path) const {
  const int number = open_below(path);
  if (number == -EMFILE || number == -ENFILE || number == -ENOMEM) return file_error(number, "opening", path);
  if (number < 0) return status::not_found("there is no such file");
  confined_file f;
  f.handle = std::make_shared<const owned_descriptor>(number);
  struct stat s{};
  if (::fstat(number, &s) != 0 || (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)))
    return status::not_found("there is no such file");
  f.is_folder = S_ISDIR(s.st_mode);
  f.size_bytes = static_cast<std::uint64_t>(s.st_size);
  f.modified_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  return f;
}

}  // namespace coracle::net
