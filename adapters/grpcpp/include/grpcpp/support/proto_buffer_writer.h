// ProtoBufferWriter: writes a ByteBuffer as protobuf's streams do.
#pragma once

#include <grpcpp/impl/config_protobuf.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <vector>

namespace grpc {

class ProtoBufferWriter : public protobuf::io::ZeroCopyOutputStream {
 public:
  static constexpr int kProtoBufferWriterMaxBufferLength = 1024 * 1024;
  /// Writes slices of at most block_size bytes. The buffer has them when the writer is destroyed.
  ProtoBufferWriter(ByteBuffer* to, int block_size, int total_size);
  ~ProtoBufferWriter() override;
  bool Next(void** data, int* size) override;
  void BackUp(int count) override;
  std::int64_t ByteCount() const override { return count_; }

 private:
  ByteBuffer* to_;
  int block_size_;
  int total_size_;
  std::int64_t count_ = 0;
  std::vector<Slice> slices_;
};

}  // namespace grpc
