#include "tools/proxy/recording.hpp"

#include "tools/failure.hpp"
#include "tools/files/new_files.hpp"
#include "tools/utf8.hpp"

#include <coracle/base/impl/base64.hpp>
#include <coracle/rpc/metadata.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <utility>

namespace coracle::tools {

namespace {

using nlohmann::ordered_json;

constexpr const char* base64_suffix = "_base64";

double milliseconds(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// Clamps to 0 and `max`, whatever the file contains.
duration from_milliseconds(double ms, duration max) {
  if (ms >= milliseconds(max)) return max;
  return std::chrono::duration_cast<duration>(std::chrono::duration<double, std::milli>(std::max(ms, 0.0)));
}

// Throws for a number with a fraction or outside the bounds, which cannot be converted.
std::int64_t whole(const ordered_json& value, std::int64_t min, std::int64_t max) {
  const std::int64_t n = value.is_number_integer() ? value.get<std::int64_t>() : min - 1;
  if (n < min || n > max) throw std::out_of_range("not a whole number within the limits");
  return n;
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  if (!base::base64_decode(text, bytes)) throw failure("'" + text + "' is not base64");
  return bytes;
}

// JSON text must be UTF-8; other text is stored as base64, under a name of its own.
void set_text(ordered_json& to, const std::string& name, const std::string& text) {
  if (is_utf8(text)) to[name] = text;
  else to[name + base64_suffix] = base::padded_base64(text);
}

std::string text_of(const ordered_json& from, const std::string& name) {
  const auto coded = from.find(name + base64_suffix);
  if (coded != from.end()) return from_base64(coded->get<std::string>());
  return from.value(name, std::string());
}

ordered_json event(std::uint64_t number, duration at) { return {{"call", number}, {"ms", milliseconds(at)}}; }

}  // namespace

recorder::recorder(const std::string& path) : path_(path) {
  new_files made;  // the recording has metadata, which includes passwords and tokens
  made.write(path, "", new_files::readable::by_owner);
  made.keep();
  file_.open(path, std::ios::binary | std::ios::app);
  if (!file_) throw failure("the file " + path + " cannot be written");
}

void recorder::write(const std::string& line) {
  file_ << line << '\n';
  file_.flush();
  if (!file_) throw failure("the file " + path_ + " cannot be written: is the disk full?");
}

void recorder::call(const recorded_call& begun, const metadata& sent) {
  ordered_json e = event(begun.number, begun.at);
  set_text(e, "method", begun.path);
  if (!begun.content_subtype.empty()) set_text(e, "subtype", begun.content_subtype);
  if (begun.timeout != duration::max()) e["timeout_ms"] = milliseconds(begun.timeout);
  for (const auto field : sent)
    e["metadata"].push_back({std::string(field.name), base::padded_base64(field.value)});
  write(e.dump());
}

void recorder::request(std::uint64_t number, duration at, std::string_view bytes) {
  ordered_json e = event(number, at);
  e["request"] = base::padded_base64(bytes);
  write(e.dump());
}

void recorder::reply(std::uint64_t number, duration at, std::string_view bytes) {
  ordered_json e = event(number, at);
  e["reply"] = base::padded_base64(bytes);
  write(e.dump());
}

void recorder::end(std::uint64_t number, duration at, int status) {
  ordered_json e = event(number, at);
  e["status"] = status;
  write(e.dump());
}

std::vector<recorded_call> read_recording(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw failure("the file " + path + " cannot be read");
  std::vector<recorded_call> calls;
  std::map<std::uint64_t, std::size_t> place;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) try {
      const auto e = ordered_json::parse(line);
      const auto id =
          static_cast<std::uint64_t>(whole(e.at("call"), 0, std::numeric_limits<std::int64_t>::max()));
      const duration at = from_milliseconds(e.at("ms").get<double>(), recorded_time_max);
      if (std::string method = text_of(e, "method"); !method.empty()) {
        recorded_call c;
        c.number = id;
        c.at = at;
        c.path = std::move(method);
        c.content_subtype = text_of(e, "subtype");
        if (e.contains("timeout_ms"))
          c.timeout = from_milliseconds(e.at("timeout_ms").get<double>(), duration::max());
        for (const auto& field : e.value("metadata", ordered_json::array()))
          c.metadata.emplace_back(field.at(0).get<std::string>(),
                                  from_base64(field.at(1).get<std::string>()));
        place[id] = calls.size();
        calls.push_back(std::move(c));
        continue;
      }
      recorded_call& c = calls.at(place.at(id));
      if (e.contains("request")) c.requests.push_back({at, from_base64(e.at("request").get<std::string>())});
      else if (e.contains("reply")) c.replies.push_back(from_base64(e.at("reply").get<std::string>()));
      else if (e.contains("status")) c.status = static_cast<int>(whole(e.at("status"), 0, 16)), c.ended = at;
    } catch (const std::exception&) {
      throw failure(path + ":" + std::to_string(number) +
                    ": this is not a line of a recording, or its call has not begun before it");
    }
  return calls;
}

}  // namespace coracle::tools
