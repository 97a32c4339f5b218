// The events and the output of an engine depend neither on the pieces in which its input arrives, nor on
// where its user stops reading, nor on whether the user reads repeated headers again, or takes frames that
// have arrived together at once. The first byte of the input chooses the role (bit 0), whether the peer's
// preface and SETTINGS precede the rest (bit 1), and whether frames are taken (bit 2); the second is the
// number of the lengths; then come the lengths, and the peer's bytes.
#include "fuzz/http2_session.hpp"
#include "http2/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coracle;
using namespace coracle::http2;

namespace {

using pieces = std::vector<std::uint8_t>;

class reader {
 public:
  explicit reader(role r, bool takes = false)
      : engine_(r, fuzz::small_limits(), time_point{}), takes_(takes) {
    for (int i = 0; r == role::client && i < 3; ++i) {
      const stream_ref s = engine_.open(nullptr);
      fuzz::require(engine_.begin_headers(s));
      engine_.add_field(":method", i == 1 ? "HEAD" : "POST");
      engine_.add_field(":scheme", "http");
      engine_.add_field(":path", "/a.B/C");
      engine_.end_headers(i == 2);
    }
  }

  void read_at_once(const pieces& input) {
    feed(input);
    for (event e = next(); e.type != event::kind::none; e = next()) on(e, false);
    engine_.feed_end(time_point{});
    for (event e = next(); e.type != event::kind::none; e = next()) on(e, false);
  }
  // Bits 0 to 5 of a length are the bytes of the next piece; with bit 6 the user stops reading after its
  // first event, with bit 7 it recognises repeated headers.
  void read_in_pieces(bytes_view input, fuzz::dice lengths) {
    while (!input.empty()) {
      const std::uint8_t choice = lengths.empty() ? 63 : lengths.octet();
      const std::size_t n = std::min<std::size_t>(input.size(), choice & 63);
      auto piece = std::make_unique<pieces>(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(n));
      input = input.subspan(n);
      feed(*piece);
      for (event e = next(); e.type != event::kind::none; e = next()) {
        on(e, choice & 128);
        if (!(choice & 64)) continue;
        const bytes_view rest = engine_.take_unread();
        piece = std::make_unique<pieces>(rest.begin(), rest.end());
        feed(*piece);
      }
      if (engine_.failed()) break;
    }
    engine_.feed_end(time_point{});
    for (event e = next(); e.type != event::kind::none; e = next()) on(e, false);
  }

  [[nodiscard]] const std::string& trace() const { return trace_; }
  [[nodiscard]] std::string_view output() { return as_text(engine_.output().pending()); }

 private:
  using header_fields = std::vector<std::pair<std::string, std::string>>;

  void feed(const pieces& bytes) { engine_.feed(bytes, time_point{}); }
  event next() { return engine_.next(); }

  void on(const event& e, bool recognise) {
    // Pieces of one DATA frame are reported as one.
    const bool continues = e.type == event::kind::data && data_of_ == e.stream;
    if (!continues) note("\n" + std::to_string(static_cast<int>(e.type)) + " " + std::to_string(e.id) + " ");
    data_of_ = e.type == event::kind::data && !e.end_stream ? e.stream : no_stream;
    // What follows a wrong preface is reported up to the end of the piece.
    if (e.type != event::kind::no_preface) note(as_text(e.data));
    if (e.end_stream) note(" end");
    if (e.trailers) note(" trailers");
    if (e.informational) note(" informational");
    if (e.unprocessed) note(" unprocessed");
    if (e.type == event::kind::reset || e.type == event::kind::failed || e.type == event::kind::goaway)
      note(std::to_string(static_cast<std::uint32_t>(e.code)));
    note(e.reason);
    if (e.type == event::kind::headers) {
      read_fields(recognise);
      if (takes_ && !e.end_stream && !e.trailers && !e.informational && engine_.headers_ok()) take(e);
    }
    if (e.type == event::kind::reset) engine_.release(e.stream);
  }
  // Keeps the headers that have a number, as a server does: trailers, malformed and refused requests may
  // stand between two of a number, and may change the table. The fields of a malformed one do not count.
  void read_fields(bool recognise) {
    header_fields fields;
    if (!recognise || !read_repeated(fields)) {
      for (field f; engine_.next_field(f);) fields.emplace_back(f.name, f.value);
      const std::uint32_t number = engine_.header_block_number();
      if (number != 0 && engine_.headers_ok()) kept_[number] = fields;
    }
    if (engine_.headers_ok())
      for (const auto& [name, value] : fields) note(name + "=" + value + ";");
    note(engine_.headers_ok() ? " good" : " bad");
  }
  // As the events would be that do not follow.
  void take(const event& e) {
    constexpr std::size_t bytes_max = 1024;
    const auto begin = [&](event::kind k) {
      note("\n" + std::to_string(static_cast<int>(k)) + " " + std::to_string(e.id) + " ");
    };
    bytes_view content;
    if (engine_.peek_content(e.stream, bytes_max, content)) {
      begin(event::kind::data);
      note(as_text(content));
      note(" end");
      return engine_.take_content(e.stream, content);
    }
    response_rest rest;
    if (!engine_.peek_rest(e.stream, bytes_max, rest)) return;
    const auto known = kept_.find(rest.number);
    if (known == kept_.end()) return;
    begin(event::kind::data);
    note(as_text(rest.data));
    begin(event::kind::headers);
    note(" end trailers");
    for (const auto& [name, value] : known->second) note(name + "=" + value + ";");
    note(" good");
    engine_.take_rest(e.stream, rest);
  }
  bool read_repeated(header_fields& fields) {
    const auto known = kept_.find(engine_.header_block_number());
    if (known == kept_.end()) return false;
    const auto count = [](const auto& of, std::string_view name, auto name_of) {
      return std::count_if(of.begin(), of.end(), [&](const auto& one) { return name_of(one) == name; });
    };
    // A name that varies stands for all fields of this name.
    const auto varying_names = engine_.varying_literals();
    for (const auto& v : varying_names)
      if (count(varying_names, v.name, [](const auto& one) { return one.name; }) !=
          count(known->second, v.name, [](const auto& one) { return std::string_view(one.first); }))
        return false;
    std::span<const hpack::field> varying;
    if (!engine_.read_varying_fields(varying)) return false;
    fields = known->second;
    std::map<std::string, std::size_t, std::less<>> taken;
    for (const hpack::field& f : varying) {
      std::size_t skip = taken[std::string(f.name)]++;
      for (auto& [name, value] : fields)
        if (name == f.name && skip-- == 0) value = f.value;
    }
    return true;
  }
  void note(std::string_view text) { trace_.append(text); }

  connection engine_;
  const bool takes_;
  std::string trace_;
  std::map<std::uint32_t, header_fields> kept_;
  stream_ref data_of_ = no_stream;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::dice input({data, size});
  const std::uint8_t choice = input.octet();
  const role side = choice & 1 ? role::client : role::server;
  const bytes_view lengths = input.take(input.octet());
  pieces bytes;
  if (choice & 2) {
    const bytes_view preface = as_bytes(client_preface);
    if (side == role::server) bytes.assign(preface.begin(), preface.end());
    bytes.insert(bytes.end(), {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0});
  }
  const bytes_view rest = input.take(size);
  bytes.insert(bytes.end(), rest.begin(), rest.end());

  reader whole(side), split(side, choice & 4);
  whole.read_at_once(bytes);
  split.read_in_pieces(bytes, fuzz::dice(lengths));
  fuzz::require(whole.trace() == split.trace() && whole.output() == split.output());
  return 0;
}
