#include "server/request_reader.hpp"

#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/timeout.hpp"
#include "rpc/wire_metadata.hpp"

namespace coracle::serving {

namespace {

using transport::field;

// A slot: what the field means in the high byte, a detail below.
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

constexpr std::uint32_t slot_of(meaning m, std::uint32_t detail = 0) noexcept {
  return (static_cast<std::uint32_t>(m) << 24) | detail;
}
constexpr meaning meaning_of(std::uint32_t slot) noexcept { return static_cast<meaning>(slot >> 24); }
constexpr std::uint32_t detail_of(std::uint32_t slot) noexcept { return slot & 0xff'ffff; }

class pass {
 public:
  pass(const router& routes, request_summary& out, metadata& received) noexcept
      : routes_(routes), out_(out), received_(received) {}

  // Acts on the field; returns the slot to leave, 0 for none.
  std::uint32_t by_text(const field& f) {
    if (f.name.front() == ':') return pseudo(f);
    if (f.name == "content-type") {
      const auto name = protocol::grpc::content_subtype(f.value);
      const calls::subtype* s = name ? routes_.subtypes.find(*name) : nullptr;
      return act(s ? slot_of(meaning::grpc_content, routes_.subtypes.index_of(*s)) : 0, f, [&] {
        out_.type = request_summary::content::other;
        if (name && routes_.fallback()) out_.foreign.subtype = *name;
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
      return act(e ? slot_of(meaning::grpc_encoding, static_cast<std::uint32_t>(*e)) : 0, f,
                 [&] { out_.unknown_encoding = true; });
    }
    if (f.name == "grpc-accept-encoding")
      return act(slot_of(meaning::accept_encoding, calls::parse_accepted_encodings(f.value).bits()), f,
                 [] {});
    if (f.name == "content-length") return slot_of(meaning::nothing);
    if (calls::is_binary_key(f.name)) {
      if (!calls::add_wire_field(received_, f.name, f.value)) out_.bad_metadata = true;
      return 0;
    }
    received_.add_received(f.name, f.value);
    return slot_of(meaning::keep);
  }

  void by_slot(std::uint32_t slot, const field& f) {
    switch (meaning_of(slot)) {
      case meaning::unknown:
      case meaning::nothing: return;
      case meaning::get: out_.method = request_summary::verb::get; return;
      case meaning::head: out_.method = request_summary::verb::head; return;
      case meaning::post: out_.method = request_summary::verb::post; return;
      case meaning::path_row: out_.row = &routes_.at(detail_of(slot)); return;
      case meaning::path_root: out_.root_path = true; return;
      case meaning::grpc_content:
        out_.type = request_summary::content::grpc;
        out_.subtype = &routes_.subtypes.at(detail_of(slot));
        return;
      case meaning::grpc_encoding: out_.received = static_cast<encoding>(detail_of(slot)); return;
      case meaning::accept_encoding: out_.accepted = encoding_set::from_bits(detail_of(slot)); return;
      case meaning::keep: received_.add_received(f.name, f.value); return;
    }
  }

 private:
  std::uint32_t pseudo(const field& f) {
    if (f.name == ":method") {
      const meaning m = f.value == "POST"   ? meaning::post
                        : f.value == "GET"  ? meaning::get
                        : f.value == "HEAD" ? meaning::head
                                            : meaning::unknown;
      return act(slot_of(m), f, [] {});
    }
    if (f.name == ":path") {
      if (const router::row* r = routes_.find(f.value))
        return act(slot_of(meaning::path_row, routes_.index_of(*r)), f, [] {});
      if (routes_.keeps_unknown_paths()) out_.foreign.path = f.value;
      return f.value == "/" ? act(slot_of(meaning::path_root), f, [] {}) : 0;
    }
    return slot_of(meaning::nothing);  // :scheme and :authority decide nothing here
  }

  template <class Otherwise>
  std::uint32_t act(std::uint32_t slot, const field& f, Otherwise otherwise) {
    if (slot) by_slot(slot, f);
    else otherwise();
    return slot;
  }

  const router& routes_;
  request_summary& out_;
  metadata& received_;
};

}  // namespace

bool read_request(transport::header_source& fields, const router& routes, request_summary& out,
                  metadata& received) {
  pass p(routes, out, received);
  field f;
  while (fields.next(f)) {
    if (f.slot) p.by_slot(f.slot, f);
    else if (const std::uint32_t slot = p.by_text(f)) fields.set_slot(slot);
  }
  return fields.ok();
}

}  // namespace coracle::serving
