#include "tools/frames/frame_list.hpp"

#include "tools/frames/frame_names.hpp"
#include "tools/utc_text.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <string_view>

namespace coracle::tools {

namespace {

std::string duration_text(duration d) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3f ms", std::chrono::duration<double, std::milli>(d).count());
  return text;
}

std::string_view name_of_event(const recorded_event& e) {
  switch (e.kind) {
    case recorded_kind::frame: return "frame";
    case recorded_kind::connection_opened: return "opened";
    case recorded_kind::connection_closed: return "closed";
    case recorded_kind::call_began: return e.client ? "attempt" : "began";
    case recorded_kind::call_queued: return "queued";
    case recorded_kind::message: return "message";
    case recorded_kind::call_ended: return "ended";
    case recorded_kind::long_iteration: return "long iteration";
    case recorded_kind::loop_stalled: return "stalled";
  }
  return "";
}

// Calls over HTTP/1.1 and those of web protocols are no streams.
std::string stream_text(std::uint32_t stream) {
  constexpr std::uint32_t no_stream = std::uint32_t{1} << 31;
  return stream >= no_stream ? "web" : std::to_string(stream);
}

std::string value_text(const recorded_event& e) {
  if (!e.value) return {};
  if (e.frame_type == frame_types::window_update) return "+" + std::to_string(*e.value);
  return name_of_error(*e.value);
}

std::string details_of(const recorded_event& e) {
  std::string text;
  const auto add = [&](std::string_view part) {
    if (!part.empty()) text.append(text.empty() ? "" : " ").append(part);
  };
  if (e.kind == recorded_kind::frame) {
    add(names_of_flags(e.frame_type, e.frame_flags));
    add(value_text(e));
  }
  if (e.kind == recorded_kind::call_ended) add(name_of(e.status));
  add(e.method);
  add(e.text);
  if (e.kind == recorded_kind::connection_opened) add(e.client ? "as client" : "as server");
  if (e.kind == recorded_kind::message && e.compressed) add("compressed");
  if (e.call != 0) add("call " + std::to_string(e.call));
  if (e.attempts != 0) add("after " + std::to_string(e.attempts) + " attempts");
  if (e.kind == recorded_kind::call_began && e.time > duration::zero())
    add("deadline " + duration_text(e.time));
  if (e.kind == recorded_kind::long_iteration || e.kind == recorded_kind::loop_stalled)
    add(duration_text(e.time));
  return text;
}

std::string line_of(const recorded_event& e) {
  const bool has_direction = e.kind == recorded_kind::frame || e.kind == recorded_kind::message;
  const std::string what =
      e.kind == recorded_kind::frame ? name_of_frame(e.frame_type) : std::string(name_of_event(e));
  const std::string connection = e.connection == 0 ? "" : std::to_string(e.connection);
  const std::string stream = e.stream == 0 ? "" : stream_text(e.stream);
  char text[160];
  std::snprintf(text, sizeof text, "%s %4u %6s %s %-14s %7s %9s ", utc_text(e.when, "%H:%M:%S").c_str(),
                static_cast<unsigned>(e.loop), connection.c_str(),
                !has_direction ? "  "
                : e.sent       ? "->"
                               : "<-",
                what.c_str(), stream.c_str(), has_direction ? std::to_string(e.length).c_str() : "");
  std::string line = text + details_of(e);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string frame_list(const recording& from, const std::function<bool(const recorded_event&)>& included) {
  std::string text = "process " + std::to_string(from.process()) + ", written " +
                     utc_text(from.written(), "%Y-%m-%d %H:%M:%S") + " UTC";
  if (from.signal() != 0) text += ", after signal " + std::to_string(from.signal());
  text += "\ntime            loop   conn    event           stream    length\n";
  for (const recorded_event& e : from.events())
    if (included(e)) text += line_of(e);
  return text;
}

std::string frame_json(const recording& from, const std::function<bool(const recorded_event&)>& included) {
  std::string lines;
  for (const recorded_event& e : from.events()) {
    if (!included(e)) continue;
    nlohmann::ordered_json line{{"time", utc_text(e.when, "%Y-%m-%dT%H:%M:%S") + "Z"},
                                {"runtime", e.runtime},
                                {"loop", e.loop},
                                {"event", name_of_event(e)}};
    if (e.connection != 0) line["connection"] = e.connection;
    if (e.stream != 0) line["stream"] = e.stream;
    if (e.call != 0) line["call"] = e.call;
    if (e.kind == recorded_kind::frame) {
      line["type"] = name_of_frame(e.frame_type);
      line["flags"] = names_of_flags(e.frame_type, e.frame_flags);
      if (e.value) line["value"] = value_text(e);
    }
    if (e.kind == recorded_kind::frame || e.kind == recorded_kind::message) {
      line["sent"] = e.sent;
      line["length"] = e.length;
    }
    if (e.kind == recorded_kind::call_ended) line["status"] = name_of(e.status);
    if (!e.method.empty()) line["method"] = e.method;
    if (!e.text.empty()) line["text"] = e.text;
    if (e.time != duration::zero()) line["ms"] = std::chrono::duration<double, std::milli>(e.time).count();
    lines += line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return lines;
}

}  // namespace coracle::tools
