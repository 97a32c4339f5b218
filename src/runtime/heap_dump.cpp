#include "runtime/heap_dump.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

namespace coracle::runtime_internal {

namespace {

// The interfaces of the allocators: mallctl(3) of jemalloc, and heap-profiler.h of gperftools.
using mallctl_function = int (*)(const char* name, void* old, std::size_t* old_bytes, void* set,
                                 std::size_t set_bytes);
using is_running_function = int (*)();
using get_profile_function = char* (*)();

// Each may have a text of the maximum size in memory.
std::atomic<bool> dump_runs{false};

template <class Function>
Function loaded_function(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

status too_large(std::size_t bytes) {
  return status::resource_exhausted("the heap profile has " + std::to_string(bytes) + " bytes, limit " +
                                    std::to_string(heap_dump_bytes_max) +
                                    ": sample fewer blocks (lg_prof_sample of jemalloc)");
}

// A file that ends with the object.
class temporary_file {
 public:
  temporary_file() {
    std::error_code missing;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
    if (missing) return;
    name_ = folder / "coracle-heap-XXXXXX";
    descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(name_.c_str());
  }
  [[nodiscard]] bool exists() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

 private:
  std::string name_;
  int descriptor_ = -1;
};

bool jemalloc_records(mallctl_function control) noexcept {
  bool records = false;
  std::size_t bytes = sizeof records;
  return control("opt.prof", &records, &bytes, nullptr, 0) == 0 && records;
}

result<std::string> dump_of_jemalloc(mallctl_function control) {
  const temporary_file file;
  if (!file.exists())
    return status::unavailable(
        "the folder for temporary files takes no heap profile: set TMPDIR to one that does");
  const char* name = file.name();
  if (const int wrong = control("prof.dump", nullptr, nullptr, &name, sizeof name); wrong != 0)
    return status::unavailable(std::string("jemalloc cannot write a heap profile to ") + name + ": " +
                               std::strerror(wrong));
  std::ifstream content(name, std::ios::binary | std::ios::ate);
  const auto bytes = static_cast<std::size_t>(content.tellg());
  if (content && bytes > heap_dump_bytes_max) return too_large(bytes);
  std::string text(content ? bytes : 0, '\0');
  content.seekg(0);
  content.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!content || text.empty()) return status::unavailable("the heap profile of jemalloc cannot be read");
  return text;
}

}  // namespace

result<std::string> dump_heap() {
  if (dump_runs.exchange(true))
    return status::aborted(
        "a heap profile of this process is in progress, and there is one at a time: try again when it has "
        "ended");
  struct release {
    ~release() { dump_runs.store(false); }
  } const at_the_end;
  if (const auto control = loaded_function<mallctl_function>("mallctl")) {
    if (jemalloc_records(control)) return dump_of_jemalloc(control);
    return status::unimplemented(
        "jemalloc records no heap profile: start the program with MALLOC_CONF=prof:true, and a jemalloc that "
        "was built with --enable-prof");
  }
  const auto is_running = loaded_function<is_running_function>("IsHeapProfilerRunning");
  const auto get_profile = loaded_function<get_profile_function>("GetHeapProfile");
  if (is_running && get_profile) {
    if (is_running() == 0)
      return status::unimplemented(
          "gperftools records no heap profile: start the program with HEAPPROFILE set to the beginning of a "
          "file's name");
    const std::unique_ptr<char, decltype(&std::free)> text(get_profile(), &std::free);
    if (text) {
      const std::size_t bytes = std::strlen(text.get());
      if (bytes > heap_dump_bytes_max) return too_large(bytes);
      return std::string(text.get(), bytes);
    }
    return status::unavailable("gperftools has no memory for a heap profile");
  }
  return status::unimplemented(
      "the allocator records no heap profile: start the program with LD_PRELOAD=libjemalloc.so.2 and "
      "MALLOC_CONF=prof:true");
}

}  // namespace coracle::runtime_internal
