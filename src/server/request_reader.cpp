#include "server/request_reader.hpp"

#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/timeout.hpp"
#include "rpc/accepted_encodings.hpp"
#include "rpc/wire_metadata.hpp"

namespace coracle::serving {

namespace {

using transport::field;

// A slot: what the field means above the detail.
enum class meaning : std::uint32_t {
  unknown = 0,
  nothing,
  get,
  head,
  post,
  path_row,
  path_root,
  grpc_content,
  grpc_encoding,
  accept_encoding,
  keep
};

constexpr unsigned detail_bits = 19;
constexpr std::uint32_t detail_max = (1u << detail_bits) - 1;
// 0, and so no slot, for a detail that has no room.
constexpr std::uint32_t slot_of(meaning m, std::uint32_t detail = 0) noexcept {
  return detail > detail_max ? 0 : (static_cast<std::uint32_t>(m) << detail_bits) | detail;
}
constexpr meaning meaning_of(std::uint32_t slot) noexcept {
  return static_cast<meaning>(slot >> detail_bits);
}
constexpr std::uint32_t detail_of(std::uint32_t slot) noexcept { return slot & detail_max; }
static_assert(slot_of(meaning::keep, detail_max) <= http2::header_reader::slot_max);

class pass {
 public:
  pass(const router& routes, calls::request_head& out, metadata& received) noexcept
      : routes_(routes), out_(out), received_(received) {}

  // Acts on the field; returns the slot to leave, 0 for none.
  [[gnu::noinline]] std::uint32_t by_text(const field& f) {
    if (f.name.front() == ':') return pseudo(f);
    if (f.name == "content-type") {
      const auto name = protocol::grpc::content_subtype(f.value);
      const calls::subtype* s = name ? routes_.subtypes.find(*name) : nullptr;
      return act(s ? slot_of(meaning::grpc_content, routes_.subtypes.index_of(*s)) : 0, [&] {
        out_.type = calls::request_head::content::other;
        if (name && routes_.fallback()) out_.foreign_subtype = *name;
      });
    }
    if (f.name == "te") return slot_of(meaning::nothing);
    if (f.name == "grpc-timeout") {
      const auto parsed = protocol::grpc::parse_timeout(f.value);
      out_.bad_timeout = !parsed;
      if (parsed) out_.timeout = *parsed;
      return 0;
    }
    if (f.name == "grpc-encoding") {
      const auto e = calls::accepted_encoding(f.value, routes_.encodings);
      return act(e ? slot_of(meaning::grpc_encoding, static_cast<std::uint32_t>(*e)) : 0,
                 [&] { out_.unknown_encoding = true; });
    }
    if (f.name == "grpc-accept-encoding")
      return act(slot_of(meaning::accept_encoding, calls::parse_accepted_encodings(f.value).bits()), [] {});
    if (f.name == "content-length") return slot_of(meaning::nothing);
    if (calls::is_binary_key(f.name)) {
      if (!calls::add_wire_field(received_, f.name, f.value)) out_.bad_metadata = true;
      return 0;
    }
    keep(f);
    return slot_of(meaning::keep);
  }
  void keep(const field& f) { received_.add_received(f.name, f.value); }

  // Of any meaning but `keep`. False when the slot says nothing, and the text is to be looked at.
  bool by_slot(std::uint32_t slot) {
    switch (meaning_of(slot)) {
      case meaning::unknown:
      case meaning::keep: return false;
      case meaning::nothing: return true;
      case meaning::get: return out_.method = calls::request_head::verb::get, true;
      case meaning::head: return out_.method = calls::request_head::verb::head, true;
      case meaning::post: return out_.method = calls::request_head::verb::post, true;
      case meaning::path_row: return out_.row = &routes_.at(detail_of(slot)), true;
      case meaning::path_root: return out_.root_path = true;
      case meaning::grpc_content:
        out_.type = calls::request_head::content::grpc;
        out_.subtype = &routes_.subtypes.at(detail_of(slot));
        return true;
      case meaning::grpc_encoding: return out_.received = static_cast<encoding>(detail_of(slot)), true;
      case meaning::accept_encoding: return out_.accepted = encoding_set::from_bits(detail_of(slot)), true;
    }
    switch (slot) {
      case http2::header_reader::static_slot(2): return by_slot(slot_of(meaning::get));
      case http2::header_reader::static_slot(3): return by_slot(slot_of(meaning::post));
      case http2::header_reader::static_slot(6):
      case http2::header_reader::static_slot(7): return true;  // :scheme
      default: return false;
    }
  }

 private:
  std::uint32_t pseudo(const field& f) {
    if (f.name == ":method") {
      const meaning m = f.value == "POST"   ? meaning::post
                        : f.value == "GET"  ? meaning::get
                        : f.value == "HEAD" ? meaning::head
                                            : meaning::unknown;
      return act(slot_of(m), [] {});
    }
    if (f.name == ":path") {
      if (const router::row* r = routes_.find(f.value))
        return out_.row = r, slot_of(meaning::path_row, routes_.index_of(*r));
      if (routes_.keeps_unknown_paths()) out_.foreign_path = f.value;
      return f.value == "/" ? act(slot_of(meaning::path_root), [] {}) : 0;
    }
    return slot_of(meaning::nothing);  // :scheme and :authority decide nothing here
  }

  template <class Otherwise>
  std::uint32_t act(std::uint32_t slot, Otherwise otherwise) {
    if (!by_slot(slot)) otherwise();
    return slot;
  }

  const router& routes_;
  calls::request_head& out_;
  metadata& received_;
};

}  // namespace

bool read_request(transport::header_source& fields, const router& routes, calls::request_head& out,
                  metadata& received) {
  pass p(routes, out, received);
  return fields.read([&](std::uint32_t slot, auto text) -> std::uint32_t {
    if (meaning_of(slot) == meaning::keep) p.keep(text());
    else if (!p.by_slot(slot)) return p.by_text(text());
    return 0;
  });
}

}  // namespace coracle::serving
