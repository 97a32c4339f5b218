// Functions of the C library that programs in C++ use beside grpc++.
#include <grpc/compression.h>
#include <grpc/support/alloc.h>
#include <grpc/support/cpu.h>
#include <grpc/support/string_util.h>
#include <grpc/support/thd_id.h>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

void* or_abort(void* p) {
  if (!p) std::abort();
  return p;
}

constexpr const char* algorithms[] = {"identity", "deflate", "gzip"};
static_assert(std::size(algorithms) == GRPC_COMPRESS_ALGORITHMS_COUNT);

}  // namespace

void* gpr_malloc(std::size_t bytes) { return bytes == 0 ? nullptr : or_abort(std::malloc(bytes)); }

void* gpr_zalloc(std::size_t bytes) { return bytes == 0 ? nullptr : or_abort(std::calloc(bytes, 1)); }

void* gpr_realloc(void* p, std::size_t bytes) {
  if (bytes == 0 && !p) return nullptr;
  return or_abort(std::realloc(p, std::max<std::size_t>(bytes, 1)));
}

void gpr_free(void* p) { std::free(p); }

void* gpr_malloc_aligned(std::size_t bytes, std::size_t alignment) {
  // aligned_alloc() takes whole multiples.
  return or_abort(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
}

void gpr_free_aligned(void* p) { std::free(p); }

unsigned gpr_cpu_num_cores() { return std::max(std::thread::hardware_concurrency(), 1U); }

unsigned gpr_cpu_current_cpu() {
  // A process that may use some of the cores alone is on one with a greater number.
  return static_cast<unsigned>(std::max(sched_getcpu(), 0)) % gpr_cpu_num_cores();
}

char* gpr_strdup(const char* text) {
  if (!text) return nullptr;
  const std::size_t bytes = std::strlen(text) + 1;
  return static_cast<char*>(std::memcpy(gpr_malloc(bytes), text, bytes));
}

int gpr_asprintf(char** text, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(text, format, arguments);
  va_end(arguments);
  if (length < 0) *text = nullptr;
  return length;
}

gpr_thd_id gpr_thd_currentid() { return static_cast<gpr_thd_id>(pthread_self()); }

int grpc_compression_algorithm_name(grpc_compression_algorithm algorithm, const char** name) {
  if (algorithm < 0 || algorithm >= GRPC_COMPRESS_ALGORITHMS_COUNT) return 0;
  *name = algorithms[algorithm];
  return 1;
}

int grpc_compression_algorithm_parse(grpc_slice name, grpc_compression_algorithm* algorithm) {
  for (int i = 0; i < GRPC_COMPRESS_ALGORITHMS_COUNT; ++i) {
    if (grpc_slice_str_cmp(name, algorithms[i]) != 0) continue;
    *algorithm = static_cast<grpc_compression_algorithm>(i);
    return 1;
  }
  return 0;
}
