// binary_log: records calls with their metadata and messages, as gRFC A16 defines it.
#pragma once

#include "coracle/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle {

class client_interceptor;
class server;

namespace telemetry_internal {
class binary_log_filter;  // private: src/telemetry/binary_log/filter.hpp
class log_file_writer;    // private: src/telemetry/binary_log/log_file.cpp
}  // namespace telemetry_internal

/// Receives the entries of a binary log. Derive from it to send them elsewhere than to a file.
class binary_log_sink {
 public:
  virtual ~binary_log_sink() = default;
  /// Takes one entry: a message grpc.binarylog.v1.GrpcLogEntry in protobuf's binary format. Called on the
  /// loops of the calls, concurrently if there are several, so it must be short and must not block. The
  /// entries of one call come in their order. A sink that sends them by gRPC must exclude its own method from
  /// the log.
  virtual void write(std::string&& entry) noexcept = 0;
};

/// How a binary_log_file buffers.
struct binary_log_file_options {
  /// How long an entry waits in memory until it is written. Default: 1 s.
  std::chrono::milliseconds flush_interval = std::chrono::seconds(1);
  /// The maximum of bytes that wait to be written, because the disk is slow. Entries that do not fit are
  /// dropped and counted. Default: 16 MiB.
  std::size_t buffer_bytes = std::size_t{16} << 20;
};

/// Writes entries to a file, on a thread of its own: a slow disk costs calls nothing. Each entry is a length
/// of 4 bytes, big-endian, followed by the message, as grpc-go writes it.
class binary_log_file final : public binary_log_sink {
 public:
  /// Opens a file to append to; creates it, readable by its owner alone, if there is none. Fails with
  /// UNAVAILABLE and the reason.
  static result<std::shared_ptr<binary_log_file>> open(const std::string& path,
                                                       const binary_log_file_options& options = {});
  binary_log_file(const binary_log_file&) = delete;
  binary_log_file& operator=(const binary_log_file&) = delete;
  /// Writes what is still in memory. Blocks.
  ~binary_log_file() override;

  void write(std::string&& entry) noexcept override;
  /// Returns when the entries that were written before are in the file. Blocks: for plain threads, and
  /// offload().
  void flush();
  /// Returns how many entries were dropped, because the buffer was full or the file could not be written.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  explicit binary_log_file(std::unique_ptr<telemetry_internal::log_file_writer> writer) noexcept;
  std::unique_ptr<telemetry_internal::log_file_writer> writer_;
};

/// Which calls are logged, how much of each, and where to.
class binary_log {
 public:
  /// Parses a filter in the format of GRPC_BINARY_LOG_FILTER: "*", "Service/*,-Service/Method",
  /// "Service/Method{h:256;m:1024}" (gRFC A16). An empty filter logs nothing. Fails with INVALID_ARGUMENT and
  /// a message that shows where the filter is malformed: a program should not start then.
  static result<std::shared_ptr<const binary_log>> make(std::string_view filter,
                                                        std::shared_ptr<binary_log_sink> sink);
  /// The same, with the filter in the environment variable GRPC_BINARY_LOG_FILTER; unset means empty.
  static result<std::shared_ptr<const binary_log>> from_environment(std::shared_ptr<binary_log_sink> sink);
  binary_log(const binary_log&) = delete;
  binary_log& operator=(const binary_log&) = delete;
  ~binary_log();

  /// @cond  For the library.
  [[nodiscard]] const telemetry_internal::binary_log_filter& filter() const noexcept { return *filter_; }
  [[nodiscard]] binary_log_sink& sink() const noexcept { return *sink_; }
  /// @endcond

 private:
  binary_log(std::unique_ptr<telemetry_internal::binary_log_filter> filter,
             std::shared_ptr<binary_log_sink> sink) noexcept;
  std::unique_ptr<telemetry_internal::binary_log_filter> filter_;
  std::shared_ptr<binary_log_sink> sink_;
};

/// Logs the calls of a server that the filter selects, by an interceptor. Call it before other interceptors
/// are added, so that the log shows what the client sent and received, and before the first listen().
void with_binary_log(server& to, std::shared_ptr<const binary_log> log);

/// Returns an interceptor that logs the calls of a channel that the filter selects. Make it the last of
/// channel_options::interceptors, so that the log shows what the other ones have made of a call.
[[nodiscard]] std::shared_ptr<client_interceptor> binary_log_interceptor(
    std::shared_ptr<const binary_log> log);

}  // namespace coracle
