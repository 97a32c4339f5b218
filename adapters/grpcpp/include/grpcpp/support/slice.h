// Slice: a range of bytes with a reference count.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/string_ref.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace grpc {

/// Refers to bytes that its copies share, and that do not change. Any thread may copy and destroy its own
/// object.
class Slice final {
 public:
  enum AddRef { ADD_REF };
  enum StealRef { STEAL_REF };
  enum StaticSlice { STATIC_SLICE };

  Slice() : slice_(grpc_empty_slice()) {}
  Slice(grpc_slice slice, AddRef) : slice_(grpc_slice_ref(slice)) {}
  Slice(grpc_slice slice, StealRef) : slice_(slice) {}
  explicit Slice(std::size_t length) : slice_(grpc_slice_malloc(length)) {}
  Slice(const void* bytes, std::size_t length)
      : slice_(grpc_slice_from_copied_buffer(static_cast<const char*>(bytes), length)) {}
  Slice(const std::string& text) : Slice(text.data(), text.size()) {}  // NOLINT
  Slice(const void* bytes, std::size_t length, StaticSlice)
      : slice_(grpc_slice_from_static_buffer(bytes, length)) {}
  /// The caller keeps the bytes until destroy(bytes), or destroy(user), is called.
  Slice(void* bytes, std::size_t length, void (*destroy)(void*))
      : slice_(grpc_slice_new(bytes, length, destroy)) {}
  Slice(void* bytes, std::size_t length, void (*destroy)(void*), void* user)
      : slice_(grpc_slice_new_with_user_data(bytes, length, destroy, user)) {}
  Slice(void* bytes, std::size_t length, void (*destroy)(void*, std::size_t));
  Slice(const Slice& other) : slice_(grpc_slice_ref(other.slice_)) {}
  Slice(Slice&& other) noexcept : slice_(std::exchange(other.slice_, grpc_empty_slice())) {}
  Slice& operator=(Slice other) noexcept {
    swap(other);
    return *this;
  }
  ~Slice() { grpc_slice_unref(slice_); }

  void swap(Slice& other) noexcept { std::swap(slice_, other.slice_); }
  std::size_t size() const { return slice_.length; }
  const std::uint8_t* begin() const { return slice_.bytes; }
  const std::uint8_t* end() const { return slice_.bytes + slice_.length; }
  /// Returns the bytes [first, last).
  Slice sub(std::size_t first, std::size_t last) const {
    return Slice(grpc_slice_sub(slice_, first, last), STEAL_REF);
  }
  /// Returns the slice with a reference of its own, which the caller releases.
  grpc_slice c_slice() const { return grpc_slice_ref(slice_); }

 private:
  grpc_slice slice_;
};

inline string_ref StringRefFromSlice(const grpc_slice* slice) {
  return {reinterpret_cast<const char*>(slice->bytes), slice->length};
}
inline std::string StringFromCopiedSlice(grpc_slice slice) {
  return {reinterpret_cast<const char*>(slice.bytes), slice.length};
}
inline grpc_slice SliceReferencingString(const std::string& text) {
  return grpc_slice_from_static_buffer(text.data(), text.size());
}
inline grpc_slice SliceFromCopiedString(const std::string& text) {
  return grpc_slice_from_copied_buffer(text.data(), text.size());
}

}  // namespace grpc
