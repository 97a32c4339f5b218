#include "services/content_types.hpp"

#include "protocol/web/ascii.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace coracle::services {

namespace {

struct row {
  std::string_view end;
  content_type type;
};

// What pages consist of, and what people download. Others are added here, in the order of the alphabet.
constexpr row rows[] = {
    {"avif", {"image/avif", false}},
    {"bmp", {"image/bmp", true}},
    {"css", {"text/css; charset=utf-8", true}},
    {"csv", {"text/csv; charset=utf-8", true}},
    {"gif", {"image/gif", false}},
    {"gz", {"application/gzip", false}},
    {"htm", {"text/html; charset=utf-8", true}},
    {"html", {"text/html; charset=utf-8", true}},
    {"ico", {"image/x-icon", true}},
    {"jpeg", {"image/jpeg", false}},
    {"jpg", {"image/jpeg", false}},
    {"js", {"text/javascript; charset=utf-8", true}},
    {"json", {"application/json", true}},
    {"m4a", {"audio/mp4", false}},
    {"map", {"application/json", true}},
    {"md", {"text/markdown; charset=utf-8", true}},
    {"mjs", {"text/javascript; charset=utf-8", true}},
    {"mp3", {"audio/mpeg", false}},
    {"mp4", {"video/mp4", false}},
    {"ogg", {"audio/ogg", false}},
    {"otf", {"font/otf", true}},
    {"pdf", {"application/pdf", false}},
    {"png", {"image/png", false}},
    {"proto", {"text/plain; charset=utf-8", true}},
    {"svg", {"image/svg+xml", true}},
    {"tar", {"application/x-tar", false}},
    {"ttf", {"font/ttf", true}},
    {"txt", {"text/plain; charset=utf-8", true}},
    {"wasm", {"application/wasm", true}},
    {"wav", {"audio/wav", false}},
    {"webm", {"video/webm", false}},
    {"webmanifest", {"application/manifest+json", true}},
    {"webp", {"image/webp", false}},
    {"woff", {"font/woff", false}},
    {"woff2", {"font/woff2", false}},
    {"xml", {"application/xml", true}},
    {"yaml", {"application/yaml", true}},
    {"zip", {"application/zip", false}},
};

}  // namespace

content_type content_type_of(std::string_view file_name) noexcept {
  const std::size_t dot = file_name.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view end = file_name.substr(dot + 1);
    const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const row& r) {
      return protocol::web::equal_ignoring_case(r.end, end);
    });
    if (found != std::end(rows)) return found->type;
  }
  return {"application/octet-stream", false};
}

}  // namespace coracle::services
