// A library to preload: counts the calls of malloc and similar functions of a whole process, on all its
// threads, into the file that BENCH_MALLOC_COUNT names, whose first eight bytes are the current number.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

// glibc's own functions, below the names that are replaced here, because looking them up would allocate.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

std::atomic<std::uint64_t> before_main;
std::atomic<std::atomic<std::uint64_t>*> counter{&before_main};

void count() noexcept { counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed); }

[[gnu::constructor]] void map_counter() {
  const char* const name = std::getenv("BENCH_MALLOC_COUNT");
  const int file = name ? ::open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ::ftruncate(file, sizeof before_main) != 0) return;
  void* const there = ::mmap(nullptr, sizeof before_main, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (there != MAP_FAILED) counter = static_cast<std::atomic<std::uint64_t>*>(there);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) { return count(), __libc_malloc(bytes); }
[[gnu::visibility("default")]] void* calloc(std::size_t n, std::size_t bytes) {
  return count(), __libc_calloc(n, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* old, std::size_t bytes) {
  return count(), __libc_realloc(old, bytes);
}
[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) {
  return count(), __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return count(), __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
  count();
  void* const made = __libc_memalign(alignment, bytes);
  if (!made) return ENOMEM;
  *to = made;
  return 0;
}

}  // extern "C"
