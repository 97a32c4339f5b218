#include "adapters/grpcpp/src/process/one_process.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// A function of gRPC's C core, which this adapter does not define. Not null if that library is linked into
// the program itself.
extern "C" [[gnu::weak]] void grpc_channelz_get_servers();

namespace grpc::internal {
namespace {

constexpr const char* symbol = "grpc_channelz_get_servers";

struct loaded {
  unsigned long long additions = 0;
  std::vector<std::string> names;
};

int add_object(dl_phdr_info* info, std::size_t, void* to) {
  auto& all = *static_cast<loaded*>(to);
  all.additions = info->dlpi_adds;
  all.names.emplace_back(info->dlpi_name ? info->dlpi_name : "");
  return 0;
}
int read_additions(dl_phdr_info* info, std::size_t, void* to) {
  *static_cast<unsigned long long*>(to) = info->dlpi_adds;
  return 1;
}

[[noreturn]] void refuse(const char* where) {
  std::fprintf(
      stderr,
      "coracle::grpcpp: this process also has Google's grpc++ (%s), which defines the same names: link the "
      "program and the libraries that it loads with one of them\n",
      where);
  std::abort();
}

}  // namespace

void require_one_library() {
  static std::atomic<unsigned long long> checked{0};
  unsigned long long additions = 0;
  ::dl_iterate_phdr(&read_additions, &additions);
  if (checked.load(std::memory_order_relaxed) == additions) return;
  if (&grpc_channelz_get_servers) {
    Dl_info of{};
    const bool found = ::dladdr(reinterpret_cast<void*>(&grpc_channelz_get_servers), &of) != 0;
    refuse(found && of.dli_fname ? of.dli_fname : "linked statically");
  }
  loaded objects;
  ::dl_iterate_phdr(&add_object, &objects);
  // Objects that were opened with RTLD_LOCAL are asked one by one. One with a core of its own whose names are
  // hidden, such as Python's package, does not mix with this library, and may stay.
  for (const std::string& name : objects.names) {
    if (name.empty()) continue;
    void* const object = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!object) continue;
    const bool other = ::dlsym(object, symbol) != nullptr;
    ::dlclose(object);
    if (other) refuse(name.c_str());
  }
  checked.store(objects.additions, std::memory_order_relaxed);
}

}  // namespace grpc::internal
