// requests: export requests of OTLP that are within a size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

using text_attributes = std::vector<std::pair<std::string, std::string>>;

// opentelemetry.proto.resource.v1.Resource, encoded. A value of an attribute in `numbers` is written as an
// integer.
[[nodiscard]] std::string encode_resource(const text_attributes& attributes);
// KeyValue with a text, as the field `field`.
void put_attribute(std::string& to, std::uint32_t field, std::string_view key, std::string_view value);

// ExportMetricsServiceRequest, ExportTraceServiceRequest or ExportLogsServiceRequest: all have the same form
// down to their items, which are Metric, Span or LogRecord.
struct export_request {
  std::string body;
  std::size_t items = 0;  // data points, spans or log records
  std::size_t first = 0;  // how many items precede them in the requests of one batch
};

// The requests for a batch of spans or log records.
struct encoded_batch {
  std::vector<export_request> requests;
  std::size_t too_large = 0;  // items that fit into no request
};

// Collects items into requests. `resource` is encoded.
class request_builder {
 public:
  request_builder(std::string_view resource, std::size_t bytes_max);

  // How large an encoded item may be that is added to the present request; less than that if it is 0.
  [[nodiscard]] std::size_t room() const noexcept {
    const std::size_t used = overhead_ + items_.size();
    return used < bytes_max_ ? bytes_max_ - used : 0;
  }
  // Adds an item that stands for `count`. Begins another request if there is no room. Returns false if it has
  // no room in any request.
  bool add(std::string_view item, std::size_t count = 1);
  // Ends the present request, if it has items.
  void end_request();
  [[nodiscard]] std::vector<export_request> take() &&;

 private:
  const std::string resource_;
  const std::size_t bytes_max_;
  std::size_t overhead_;
  std::string items_;
  std::size_t count_ = 0;
  std::size_t total_ = 0;
  std::vector<export_request> made_;
};

}  // namespace coracle::telemetry_internal
