// WriteOptions: the options of one message that is written.
#pragma once

#include <grpc/compression.h>
#include <grpcpp/impl/one_library.h>

#include <cstdint>

namespace grpc {

/// A value; the setters return the object. buffer_hint, corked and write_through have no effect: messages of
/// one turn of a loop leave together anyway.
class WriteOptions {
 public:
  WriteOptions() = default;
  void Clear() { *this = WriteOptions(); }
  std::uint32_t flags() const {
    return (buffer_hint_ ? 1U : 0U) | (no_compression_ ? 2U : 0U) | (write_through_ ? 4U : 0U);
  }
  WriteOptions& set_no_compression() { return no_compression_ = true, *this; }
  WriteOptions& clear_no_compression() { return no_compression_ = false, *this; }
  bool get_no_compression() const { return no_compression_; }
  WriteOptions& set_buffer_hint() { return buffer_hint_ = true, *this; }
  WriteOptions& clear_buffer_hint() { return buffer_hint_ = false, *this; }
  bool get_buffer_hint() const { return buffer_hint_; }
  WriteOptions& set_corked() { return set_buffer_hint(); }
  WriteOptions& clear_corked() { return clear_buffer_hint(); }
  bool is_corked() const { return buffer_hint_; }
  /// The message is the last one: it ends this side of the stream.
  WriteOptions& set_last_message() { return last_message_ = true, *this; }
  WriteOptions& clear_last_message() { return last_message_ = false, *this; }
  bool is_last_message() const { return last_message_; }
  WriteOptions& set_write_through() { return write_through_ = true, *this; }
  bool is_write_through() const { return write_through_; }

 private:
  bool no_compression_ = false;
  bool buffer_hint_ = false;
  bool last_message_ = false;
  bool write_through_ = false;
};

}  // namespace grpc
