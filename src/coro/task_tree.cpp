#include "coracle/coro/impl/task_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace coracle::coro {

namespace {

// GCC names the body of a coroutine "void f(f(int)::_Z1fi.Frame*)", and in an unnamed namespace
// "void {anonymous}::f(f(int)::...": returns "f(int)" and "{anonymous}::f(int)" for them.
std::string body_name(std::string_view name) {
  constexpr std::string_view result = "void ";
  const std::size_t mangled = name.rfind(")::_Z");
  if (!name.ends_with(".Frame*)") || !name.starts_with(result) || mangled == name.npos)
    return std::string(name);
  name = name.substr(result.size(), mangled + 1 - result.size());
  for (std::size_t i = name.find('('); i != name.npos; i = name.find('(', i + 1)) {
    const std::string_view before = name.substr(0, i);
    const std::string_view after = name.substr(i + 1);
    if (after.starts_with(before)) return std::string(after);
    const std::string_view plain = after.substr(0, after.find('('));
    if (!plain.empty() && before.ends_with("::" + std::string(plain)))
      return std::string(before).append(after.substr(plain.size()));
  }
  return std::string(name);
}

std::string indented(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text.find('\n', i) + 1;
    out.append("  ").append(text.substr(i, end - i));
    i = end;
  }
  return out;
}

class drawing {
 public:
  explicit drawing(const std::vector<const tree_node*>& branches) {
    for (const tree_node* b : branches)
      for (const tree_node* n = b; n; n = n->awaits()) known_.insert(n);
    for (const tree_node* b : branches)
      below_[known_.contains(b->parent()) ? b->parent() : nullptr].push_back(b);
  }
  // Returns what runs concurrently with `parent`; lists equal branches once, with their number.
  [[nodiscard]] std::string branches_of(const tree_node* parent) const {
    std::string out;
    const auto found = below_.find(parent);
    if (found == below_.end()) return out;
    std::vector<std::pair<std::string, std::size_t>> kinds;
    std::unordered_map<std::string, std::size_t> place;
    for (const tree_node* b : found->second) {
      std::string text = chain(b);
      const auto [at, is_new] = place.try_emplace(text, kinds.size());
      if (is_new) kinds.emplace_back(std::move(text), 1);
      else ++kinds[at->second].second;
    }
    for (const auto& [text, count] : kinds) {
      if (count > 1) out.append(std::to_string(count)).append(" x ");
      out.append(text);
    }
    return out;
  }

 private:
  [[nodiscard]] std::string chain(const tree_node* n) const {
    std::string out =
        (n->where().line() ? describe(n->where()) : std::string("a task before its first co_await"));
    out.push_back('\n');
    if (n->awaits()) out.append(indented(chain(n->awaits())));
    return out.append(indented(branches_of(n)));
  }
  std::unordered_set<const tree_node*> known_;
  std::unordered_map<const tree_node*, std::vector<const tree_node*>> below_;
};

}  // namespace

std::string describe(const std::source_location& where) {
  std::string_view file = where.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  return body_name(where.function_name())
      .append(" at ")
      .append(file)
      .append(":")
      .append(std::to_string(where.line()));
}

std::string task_tree::describe() const {
  std::vector<const tree_node*> branches;
  branches_.for_each([&](const tree_node& n) { branches.push_back(&n); });
  return drawing(branches).branches_of(nullptr);
}

}  // namespace coracle::coro
