// log_record: one line of the log as data: level, room, time, text, fields and trace ids.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

namespace coracle {

/// The severity of a log line, lowest first.
enum class log_level : unsigned char {
  debug,    ///< details, for finding a fault
  info,     ///< events of normal operation
  warning,  ///< the program continues, but an operator should know
  error,    ///< work was lost, or a defect of the program
};

/// A minimum level above that of all lines. Its name is "none".
inline constexpr log_level log_nothing{static_cast<unsigned char>(4)};

/// The part of the program that writes a log line. Each room has a minimum level of its own.
enum class log_room : unsigned char {
  application,  ///< your code: lines that name no room
  access,       ///< the lines of access_log and call_statistics
  runtime,      ///< loops, the backend, threads, the tasks of a loop
  net,          ///< listeners and name resolution
  tls,          ///< handshakes and certificates
  transport,    ///< connections
  client,       ///< channels: subchannels, service configs, health, callbacks of calls
  server,       ///< servers: accepted and refused connections, handlers, the drain
  services,     ///< health, reflection, channelz
  console,      ///< the console for browsers
  telemetry,    ///< metrics, traces and their exporters
  adapters,     ///< grpc++'s API and the C interface
};

/// All rooms, in the order of the enumeration.
inline constexpr std::array log_rooms{
    log_room::application, log_room::access,    log_room::runtime,   log_room::net,
    log_room::tls,         log_room::transport, log_room::client,    log_room::server,
    log_room::services,    log_room::console,   log_room::telemetry, log_room::adapters,
};

/// Returns "debug", "info", "warning", "error" or, for log_nothing, "none".
std::string_view to_string(log_level level) noexcept;
/// Returns the name of the enumerator, such as "client".
std::string_view to_string(log_room room) noexcept;
/// Returns the level of this name; nothing if there is none.
std::optional<log_level> log_level_of(std::string_view name) noexcept;
/// Returns the room of this name; nothing if there is none.
std::optional<log_room> log_room_of(std::string_view name) noexcept;
/// Returns the number of a level in OpenTelemetry's logs (SeverityNumber): 5, 9, 13 or 17.
[[nodiscard]] constexpr int severity_number(log_level level) noexcept {
  return 5 + 4 * static_cast<int>(level);
}

/// The ids of the trace and the span on whose behalf a log line is written (W3C Trace Context 3.2).
struct log_trace {
  std::array<std::uint8_t, 16> trace{};  ///< the id of the trace; not all zeros
  std::array<std::uint8_t, 8> span{};    ///< the id of the span; not all zeros
  std::uint8_t flags = 0;                ///< the trace flags; 1: sampled
};

/// The value of a field: text, a number, a bool or a duration. Text is borrowed.
class log_value {
 public:
  /// What a value can be.
  using alternatives = std::variant<std::string_view, bool, long long, unsigned long long, double, duration>;

  /// Makes an empty text.
  log_value() noexcept = default;
  /// Makes a value of text, a bool, an integer, a floating-point number or a duration. Text is not copied.
  template <class T>
    requires(std::convertible_to<const T&, std::string_view> || std::is_arithmetic_v<T> ||
             std::convertible_to<const T&, duration>)
  log_value(const T& value) noexcept : value_(of(value)) {}  // NOLINT(google-explicit-constructor)

  /// Returns the value.
  [[nodiscard]] const alternatives& get() const noexcept { return value_; }

 private:
  template <class T>
  static alternatives of(const T& value) noexcept {
    if constexpr (std::is_pointer_v<T>) return value ? std::string_view(value) : std::string_view("(null)");
    else if constexpr (std::convertible_to<const T&, std::string_view>) return std::string_view(value);
    else if constexpr (std::same_as<T, bool>) return value;
    else if constexpr (std::signed_integral<T>) return static_cast<long long>(value);
    else if constexpr (std::unsigned_integral<T>) return static_cast<unsigned long long>(value);
    else if constexpr (std::floating_point<T>) return static_cast<double>(value);
    else return duration(value);
  }
  alternatives value_;
};

/// A field of a log line. As a part of a line it becomes a field in place of text:
///
///   log.info("a movie was added", coracle::log_field("title", title), coracle::log_field("year", year));
///
/// The key and a value that is text are borrowed until the line is written.
class log_field {
 public:
  /// Makes a field without a key, which is not written.
  log_field() noexcept = default;
  /// Makes a field. Use letters, digits, "_", "-" and "." in keys: ready loggers replace other bytes by "_".
  log_field(std::string_view key, log_value value) noexcept : key_(key), value_(value) {}
  /// Returns the key.
  [[nodiscard]] std::string_view key() const noexcept { return key_; }
  /// Returns the value.
  [[nodiscard]] const log_value& value() const noexcept { return value_; }

 private:
  std::string_view key_;
  log_value value_;
};

/// One line of the log. Everything that it refers to is valid while logger::accept() runs.
struct log_record {
  log_level level = log_level::info;  ///< its severity
  log_room room = log_room::application;  ///< who writes it
  std::chrono::system_clock::time_point time{};  ///< when it was written; in a simulation, the simulated time
  std::string_view text;  ///< has no line end; empty if the fields say all
  std::span<const log_field> fields{};  ///< in the order in which they were given
  const log_trace* trace = nullptr;  ///< the call on whose behalf it is written; null: none
};

}  // namespace coracle
