#include "protocol/rest/route_table.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "protocol/web/uri.hpp"

#include <algorithm>
#include <utility>

namespace coracle::protocol::rest {

namespace {

using segment_kind = path_template::segment_kind;

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool contains_escape(std::string_view text) noexcept { return text.find('%') != std::string_view::npos; }

template <class Edges>
auto lower_bound(Edges& edges, std::string_view literal) {
  return std::lower_bound(edges.begin(), edges.end(), literal,
                          [](const auto& e, std::string_view l) { return e.literal < l; });
}

}  // namespace

std::uint32_t route_table::method_index(std::string_view http_method) const noexcept {
  const auto at = std::find(methods_.begin(), methods_.end(), http_method);
  return at == methods_.end() ? none : static_cast<std::uint32_t>(at - methods_.begin());
}

status route_table::add(std::string_view http_method, const path_template& path, std::uint32_t index,
                        std::string_view owner) {
  std::string description = std::string(http_method) + " " + path.text() + " of " + std::string(owner);
  if (!is_token(http_method))
    return status::invalid_argument("the route of " + std::string(owner) + " has no valid HTTP method: '" +
                                    base::printable(http_method) + "'");
  std::uint32_t method = method_index(http_method);
  if (method == none) {
    if (methods_.size() == methods_max)
      return status::invalid_argument("the route " + description + " adds one HTTP method too many, limit " +
                                      std::to_string(methods_max));
    method = static_cast<std::uint32_t>(methods_.size());
    methods_.emplace_back(http_method);
  }

  std::uint32_t at = 0;
  bool rest = false;
  for (const path_template::segment& s : path.segments()) {
    const auto next = static_cast<std::uint32_t>(nodes_.size());
    if (s.kind == segment_kind::rest) {
      rest = true;  // the last one
    } else if (s.kind == segment_kind::one) {
      if (nodes_[at].one == none) {
        nodes_[at].one = next;
        nodes_.emplace_back();
      }
      at = nodes_[at].one;
    } else {
      auto& edges = nodes_[at].literals;
      auto found = lower_bound(edges, s.literal);
      if (found == edges.end() || found->literal != s.literal) {
        edges.insert(found, {s.literal, next});
        nodes_.emplace_back();
        at = next;
      } else {
        at = found->node;
      }
    }
  }
  auto& ends = rest ? nodes_[at].rests : nodes_[at].ends;
  for (const std::uint32_t other : ends)
    if (leaves_[other].method == method && leaves_[other].verb == path.verb())
      return {status_code::already_exists, "the routes " + leaves_[other].description + " and " +
                                               description +
                                               " match the same paths; change one of the templates"};
  ends.push_back(static_cast<std::uint32_t>(leaves_.size()));
  leaves_.push_back({method, index, static_cast<std::uint32_t>(path.segments().size()), path.verb(),
                     path.variables(), std::move(description)});
  has_verbs_ = has_verbs_ || !path.verb().empty();
  return {};
}

// Walks the tree of templates along one path, and returns to the next best branch where a more specific one
// leads to no route. It visits no node twice.
std::string decode_variable(std::string_view raw, bool several) {
  std::string value;
  value.reserve(raw.size());
  // find() has checked the escapes.
  static_cast<void>(web::decode(raw, several ? web::uri_part::path_segments : web::uri_part::path, value));
  return value;
}

class route_table::search {
 public:
  search(const route_table& table, std::string_view path, std::string_view verb, std::uint32_t method,
         std::uint32_t any_method)
      : table_(table), path_(path), verb_(verb), method_(method), any_method_(any_method) {}

  // `from` is where the next segment begins, or beyond the end of the path if there is none.
  const leaf* walk(std::uint32_t at, std::size_t depth, std::size_t from) {
    const node& n = table_.nodes_[at];
    starts_[depth] = from;
    if (from > path_.size()) {
      if (const leaf* l = choose(n.ends)) return l;
      return choose(n.rests);
    }
    const std::size_t slash = std::min(path_.find('/', from), path_.size());
    const std::string_view segment = path_.substr(from, slash - from);
    if (const std::uint32_t next = step(n, segment); next != none)
      if (const leaf* l = walk(next, depth + 1, slash + 1)) return l;
    if (n.one != none && !segment.empty())
      if (const leaf* l = walk(n.one, depth + 1, slash + 1)) return l;
    return choose(n.rests);
  }

  // The part of the path that a variable of the leaf matches, once walk() has returned that leaf.
  [[nodiscard]] std::string_view value(const leaf& l, const path_template::variable& v) const noexcept {
    const std::size_t from = starts_[v.first];
    if (from > path_.size()) return {};  // `**` without a segment
    // The last segment of the template ends where the path does, even if it is `**`.
    const std::size_t to = v.end < l.segment_count ? starts_[v.end] - 1 : path_.size();
    return path_.substr(from, to - from);
  }
  // A bit for each HTTP method that has a route for the path.
  [[nodiscard]] std::uint64_t allowed() const noexcept { return allowed_; }

 private:
  static std::uint32_t step(const node& n, std::string_view segment) {
    if (n.literals.empty()) return none;
    const auto find = [&](std::string_view literal) {
      const auto found = lower_bound(n.literals, literal);
      return found != n.literals.end() && found->literal == literal ? found->node : none;
    };
    return contains_escape(segment) ? find(base::percent_decode(segment)) : find(segment);
  }

  const leaf* choose(const std::vector<std::uint32_t>& candidates) {
    const leaf* found = nullptr;
    for (const std::uint32_t c : candidates) {
      const leaf& l = table_.leaves_[c];
      if (l.verb != verb_) continue;
      allowed_ |= std::uint64_t{1} << l.method;
      if (l.method == method_ || (l.method == any_method_ && !found)) found = &l;
    }
    return found;
  }

  const route_table& table_;
  std::string_view path_;
  std::string_view verb_;
  std::uint32_t method_;
  std::uint32_t any_method_;
  std::uint64_t allowed_ = 0;
  std::array<std::size_t, path_template::segments_max + 1> starts_{};
};

route_match route_table::find(std::string_view http_method, std::string_view path) const {
  route_match m;
  if (path.empty() || path.front() != '/' || !web::has_valid_escapes(path)) {
    m.outcome = match_outcome::malformed;
    return m;
  }
  const std::uint32_t method = method_index(http_method);
  const std::uint32_t any_method = method_index("*");
  const auto look_up = [&](std::string_view segments, std::string_view verb) {
    search s(*this, segments, verb, method, any_method);
    // "/" has no segments.
    const leaf* l = s.walk(0, 0, segments.size() == 1 ? 2 : 1);
    m.allowed |= s.allowed();
    if (!l) return false;
    m.outcome = match_outcome::found;
    m.index = l->index;
    for (const path_template::variable& v : l->variables) m.values[m.value_count++] = s.value(*l, v);
    return true;
  };
  if (has_verbs_) {
    const std::size_t colon = path.rfind(':');
    if (colon != std::string_view::npos && colon > path.rfind('/')) {
      const std::string_view verb = path.substr(colon + 1);
      const std::string_view segments = path.substr(0, colon);
      if (!verb.empty() &&
          (contains_escape(verb) ? look_up(segments, base::percent_decode(verb)) : look_up(segments, verb)))
        return m;
    }
  }
  if (!look_up(path, {}) && m.allowed != 0) m.outcome = match_outcome::method_not_allowed;
  return m;
}

std::string route_table::allow(const route_match& m) const {
  std::string list;
  for (std::size_t i = 0; i < methods_.size(); ++i)
    if (m.allowed >> i & 1) list.append(list.empty() ? "" : ", ").append(methods_[i]);
  return list;
}

}  // namespace coracle::protocol::rest
