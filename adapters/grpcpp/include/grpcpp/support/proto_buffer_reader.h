// ProtoBufferReader: reads a ByteBuffer as protobuf's streams do.
#pragma once

#include <grpcpp/impl/config_protobuf.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstdint>

namespace grpc {

class ProtoBufferReader : public protobuf::io::ZeroCopyInputStream {
 public:
  /// The buffer must outlive the reader.
  explicit ProtoBufferReader(ByteBuffer* buffer);
  ~ProtoBufferReader() override = default;
  bool Next(const void** data, int* size) override;
  Status status() const { return status_; }
  void BackUp(int count) override;
  bool Skip(int count) override;
  std::int64_t ByteCount() const override { return count_ - backed_up_; }

 private:
  const ByteBuffer* from_;
  std::size_t next_ = 0;  // the slice
  std::int64_t count_ = 0;
  int backed_up_ = 0;
  Status status_;
};

}  // namespace grpc
