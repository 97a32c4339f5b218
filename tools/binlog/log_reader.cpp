#include "tools/binlog/log_reader.hpp"

#include "tools/failure.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace coracle::tools {

using ::grpc::binarylog::v1::GrpcLogEntry;

log_reader::log_reader(const std::string& path) : path_(path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw failure("cannot read " + path + ": it is no regular file");
  from_.open(path, std::ios::binary);
  left_ = std::filesystem::file_size(path, error);
  if (!from_ || error) throw failure("cannot open " + path + ": " + std::strerror(errno));
}

void log_reader::fail(const std::string& reason) const {
  throw failure(path_ + " is no binary log from entry " + std::to_string(number_) + " on: " + reason);
}

std::optional<GrpcLogEntry> log_reader::next() {
  constexpr std::uint64_t prefix_bytes = 4;
  if (left_ == 0) return std::nullopt;
  ++number_;
  char prefix[prefix_bytes];
  if (left_ < prefix_bytes || !from_.read(prefix, sizeof prefix)) fail("the file ends within a length");
  left_ -= prefix_bytes;
  std::uint32_t length = 0;
  for (const char byte : prefix) length = length << 8 | static_cast<unsigned char>(byte);
  if (length > INT_MAX || length > left_)
    fail("a length of " + std::to_string(length) + " bytes, of which " + std::to_string(left_) +
         " are there");
  bytes_.resize(length);
  if (!from_.read(bytes_.data(), static_cast<std::streamsize>(length))) fail("it cannot be read");
  left_ -= length;
  GrpcLogEntry entry;
  if (!entry.ParseFromString(bytes_)) fail("it does not parse");
  return entry;
}

}  // namespace coracle::tools
