// grpc_slice: a range of bytes with a reference count.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace grpc::internal {
struct slice_owner;  // private: src/values/slice.cpp
}

/// A handle, copied by grpc_slice_ref() and released by grpc_slice_unref(). The bytes do not change.
struct grpc_slice {
  grpc::internal::slice_owner* owner;  // null: the bytes are static, or owned by the code that made the slice
  const std::uint8_t* bytes;
  std::size_t length;
};

#define GRPC_SLICE_START_PTR(slice) (const_cast<std::uint8_t*>((slice).bytes))
#define GRPC_SLICE_LENGTH(slice) ((slice).length)
#define GRPC_SLICE_SET_LENGTH(slice, bytes) ((slice).length = static_cast<std::size_t>(bytes))
#define GRPC_SLICE_END_PTR(slice) (GRPC_SLICE_START_PTR(slice) + GRPC_SLICE_LENGTH(slice))
#define GRPC_SLICE_IS_EMPTY(slice) (GRPC_SLICE_LENGTH(slice) == 0)

grpc_slice grpc_slice_ref(grpc_slice s);
void grpc_slice_unref(grpc_slice s);
/// Makes a slice whose bytes the caller fills before it is shared: GRPC_SLICE_START_PTR().
grpc_slice grpc_slice_malloc(std::size_t length);
/// Makes a slice over bytes of the caller. destroy(bytes) is called when the last reference is gone.
grpc_slice grpc_slice_new(void* bytes, std::size_t length, void (*destroy)(void*));
grpc_slice grpc_slice_new_with_user_data(void* bytes, std::size_t length, void (*destroy)(void*), void* user);
grpc_slice grpc_slice_from_copied_buffer(const char* bytes, std::size_t length);
grpc_slice grpc_slice_from_copied_string(const char* text);
/// Makes a slice over bytes that outlive it.
grpc_slice grpc_slice_from_static_buffer(const void* bytes, std::size_t length);
grpc_slice grpc_slice_from_static_string(const char* text);
grpc_slice grpc_empty_slice();
/// Returns the bytes [begin, end) of `s`, with a reference of its own.
grpc_slice grpc_slice_sub(grpc_slice s, std::size_t begin, std::size_t end);
int grpc_slice_eq(grpc_slice a, grpc_slice b);
int grpc_slice_cmp(grpc_slice a, grpc_slice b);
int grpc_slice_str_cmp(grpc_slice a, const char* b);

#include <grpc/impl/codegen/gpr_slice.h>  // IWYU pragma: export
