#include "http2/recurring_blocks.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http2 {

void recurring_blocks::start(bytes_view block, http::header_kind kind,
                             const hpack::dynamic_table& table) noexcept {
  block_ = block;
  kind_ = kind;
  inserted_before_ = table.inserted();
  matched_ = nullptr;
  similar_ = block_count;
  const std::size_t last = history_of_kind().last;
  if (matches(last, table)) [[likely]]
    return;
  for (std::size_t i = 0; i < block_count; ++i)
    if (i != last && matches(i, table)) return;
}

inline bool recurring_blocks::matches(std::size_t i, const hpack::dynamic_table& table) noexcept {
  if (!kept_[i] || kept_[i]->kind != kind_) return false;
  switch (kept_[i]->pattern.match(block_, table)) {
    case hpack::block_pattern::likeness::none: return false;
    case hpack::block_pattern::likeness::similar: similar_ = i; return false;
    case hpack::block_pattern::likeness::like: break;
  }
  matched_ = kept_[i].get();
  matched_->has_matched = true;
  history_of_kind() = {i, 0};
  return true;
}

void recurring_blocks::remember(const hpack::dynamic_table& table, const reading& read,
                                bool (*may_vary)(std::string_view name)) {
  if (matched_) return;
  // Trailers of requests are rare, and the memory of a server is counted.
  const auto is_request = [](const auto& k) { return k && k->kind == http::header_kind::request; };
  if (kind_ == http::header_kind::trailers && std::any_of(kept_.begin(), kept_.end(), is_request)) return;
  history& h = history_of_kind();
  if (++h.misses > misses_in_a_row && h.misses % misses_per_learning != 0) return;
  const std::size_t to = similar_ != block_count ? similar_ : place_to_learn();
  if (to == block_count) return;
  if (!kept_[to]) kept_[to] = std::make_unique<kept>();
  kept& k = *kept_[to];
  if (similar_ != block_count) k.pattern.add_differing(varying_names_);
  k.number = static_cast<std::uint32_t>(++learned_ * block_count + to);
  k.kind = kind_;
  k.has_matched = false;
  static const hpack::block_pattern::varying_names none;
  k.pattern.learn(block_, inserted_before_, table,
                  kind_ == http::header_kind::request ? varying_names_ : none, may_vary);
  k.read = read;
  k.read.list_bytes -= k.pattern.varying_bytes();
  h.last = to;
}

// The next one that has not matched since this function last passed it. If all of them match, a client uses
// more methods than are kept: most of its blocks are not learned then.
std::size_t recurring_blocks::place_to_learn() noexcept {
  for (std::size_t i = 0; i < block_count; ++i) {
    const std::size_t at = (next_ + i) % block_count;
    if (kept_[at] && kept_[at]->has_matched) continue;
    next_ = (at + 1) % block_count;
    return at;
  }
  if (++crowded_ % misses_per_learning != 0) return block_count;
  for (const auto& k : kept_) k->has_matched = false;
  return std::exchange(next_, (next_ + 1) % block_count);
}

std::size_t recurring_blocks::capacity_bytes() const noexcept {
  std::size_t bytes = varying_names_.capacity_bytes();
  for (const auto& k : kept_)
    if (k) bytes += sizeof *k + k->pattern.capacity_bytes();
  return bytes;
}

}  // namespace coracle::http2
