#include "telemetry/otlp/requests.hpp"

#include "coracle/base/version.hpp"
#include "telemetry/otlp/wire.hpp"

#include <charconv>

namespace coracle::telemetry_internal {

namespace {

// The tags and lengths around the items and around one item: at most a byte and five bytes each.
constexpr std::size_t envelopes_bytes = 2 * 6;
constexpr std::size_t item_envelope_bytes = 6;

std::string encode_scope() {
  std::string scope;
  put_text(scope, 1, "coracle");
  put_text(scope, 2, version_text);
  return scope;
}

}  // namespace

void put_attribute(std::string& to, std::uint32_t field, std::string_view key, std::string_view value) {
  std::string any;
  put_string(any, 1, value, true);
  std::string pair;
  put_string(pair, 1, key);
  put_text(pair, 2, any);
  put_text(to, field, pair);
}

std::string encode_resource(const text_attributes& attributes) {
  std::string resource;
  for (const auto& [key, value] : attributes) {
    std::int64_t number = 0;
    const char* const end = value.data() + value.size();
    // The only number among the attributes of the conventions that are known here.
    if (key == "process.pid" && std::from_chars(value.data(), end, number).ptr == end) {
      std::string any;
      put_number(any, 3, static_cast<std::uint64_t>(number));
      std::string pair;
      put_text(pair, 1, key);
      put_text(pair, 2, any);
      put_text(resource, 1, pair);
      continue;
    }
    put_attribute(resource, 1, key, value);
  }
  return resource;
}

request_builder::request_builder(std::string_view resource, std::size_t bytes_max)
    : resource_(resource),
      bytes_max_(bytes_max),
      overhead_(envelopes_bytes + item_envelope_bytes + resource.size() + item_envelope_bytes +
                encode_scope().size() + 2) {}

bool request_builder::add(std::string_view item, std::size_t count) {
  if (item.size() > room()) end_request();
  if (item.size() > room()) return false;
  put_text(items_, 2, item, true);
  count_ += count;
  return true;
}

void request_builder::end_request() {
  if (count_ == 0) return;
  std::string scoped;
  put_text(scoped, 1, encode_scope());
  scoped += items_;
  std::string of_resource;
  put_text(of_resource, 1, resource_);
  put_text(of_resource, 2, scoped);
  export_request r;
  put_text(r.body, 1, of_resource);
  r.items = count_;
  r.first = total_;
  made_.push_back(std::move(r));
  total_ += count_;
  count_ = 0;
  items_.clear();
}

std::vector<export_request> request_builder::take() && {
  end_request();
  return std::move(made_);
}

}  // namespace coracle::telemetry_internal
