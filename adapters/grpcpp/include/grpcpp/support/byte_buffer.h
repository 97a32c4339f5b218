// ByteBuffer: the bytes of a message.
#pragma once

#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

/// A sequence of slices, or nothing at all: a buffer without slices that was given none is not Valid().
class ByteBuffer final {
 public:
  ByteBuffer() = default;
  ByteBuffer(const Slice* slices, std::size_t count) : slices_(slices, slices + count), valid_(true) {}
  ByteBuffer(const ByteBuffer&) = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : slices_(std::move(other.slices_)), valid_(std::exchange(other.valid_, false)) {}
  ByteBuffer& operator=(ByteBuffer other) noexcept {
    Swap(&other);
    return *this;
  }

  Status TrySingleSlice(Slice* slice) const;
  Status DumpToSingleSlice(Slice* slice) const;
  Status Dump(std::vector<Slice>* slices) const;
  void Clear() {
    slices_.clear();
    valid_ = false;
  }
  /// The slices are shared anyway.
  void Duplicate() {}
  void Release() { Clear(); }
  std::size_t Length() const;
  void Swap(ByteBuffer* other) noexcept {
    slices_.swap(other->slices_);
    std::swap(valid_, other->valid_);
  }
  bool Valid() const { return valid_; }

  // For the library.
  static ByteBuffer own(std::string bytes);
  const std::vector<Slice>& slices() const { return slices_; }
  std::string bytes() const;

 private:
  std::vector<Slice> slices_;
  bool valid_ = false;
};

/// A message as bytes.
template <>
class SerializationTraits<ByteBuffer, void> {
 public:
  static Status Deserialize(ByteBuffer* from, ByteBuffer* to) {
    to->Swap(from);
    return Status();
  }
  static Status Serialize(const ByteBuffer& from, ByteBuffer* to, bool* own_buffer) {
    *to = from;
    *own_buffer = true;
    return Status();
  }
};

}  // namespace grpc
