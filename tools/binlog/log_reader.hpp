// log_reader: the entries of a binary log (gRFC A16), one after the other.
#pragma once

#include "grpc/binarylog/v1/binarylog.pb.h"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

namespace coracle::tools {

// A file as coracle::binary_log_file and grpc-go write it: each entry is a length of 4 bytes, big-endian, and
// a message GrpcLogEntry. Only one entry is in memory at a time, and a length that the file cannot have is
// refused unread.
class log_reader {
 public:
  // Throws failure with the name and the reason.
  explicit log_reader(const std::string& path);
  // Empty at the end. Throws failure if the file is damaged, or ends within an entry, as it does while it is
  // written.
  [[nodiscard]] std::optional<::grpc::binarylog::v1::GrpcLogEntry> next();

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  const std::string path_;
  std::ifstream from_;
  std::uint64_t left_ = 0;  // bytes of the file
  std::uint64_t number_ = 0;
  std::string bytes_;
};

}  // namespace coracle::tools
