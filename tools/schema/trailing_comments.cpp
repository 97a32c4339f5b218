#include "tools/schema/trailing_comments.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

using text_lines = std::vector<std::string>;

text_lines lines_of(std::string_view text) {
  text_lines lines;
  for (std::size_t end = 0; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    std::string& line = lines.emplace_back(text.substr(0, end));
    // DebugString() puts "// " before each line of a comment; except for the first line, these begin with a
    // space already.
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(begin, 4, "//  ") == 0) line.erase(begin + 2, 1);
  }
  return lines;
}

template <class Element>
text_lines debug_lines(const Element& element) {
  pb::DebugStringOptions options;
  options.include_comments = true;
  return lines_of(element.DebugStringWithOptions(options));
}

bool is_comment(const std::string& line) { return line.starts_with("//"); }

// `own` is the text of one element, not indented: leading comments, the element, trailing comments. Moves the
// trailing comments after the first line of the element.
text_lines with_trailing_behind(const text_lines& own) {
  std::size_t end = own.size();
  while (end > 0 && is_comment(own[end - 1])) --end;
  const auto head = std::find_if(own.begin(), own.end(),
                                 [](const std::string& line) { return !line.empty() && !is_comment(line); });
  if (end == own.size() || head == own.end()) return own;
  text_lines moved(own.begin(), head + 1);
  const std::string margin(head->size() + 2, ' ');
  for (std::size_t i = end; i < own.size(); ++i)
    if (i == end) moved.back() += "  " + own[i];
    else moved.push_back(margin + own[i]);
  moved.insert(moved.end(), head + 1, own.begin() + static_cast<std::ptrdiff_t>(end));
  return moved;
}

class definition {
 public:
  template <class Element>
  explicit definition(const Element& whole) : lines_(debug_lines(whole)) {
    move_comments(whole);
  }

  [[nodiscard]] std::string text() const {
    std::string all;
    for (const std::string& line : lines_) all += line + "\n";
    return all;
  }

 private:
  // Goes from outer to inner elements: the text within an element is still that of DebugString() when it is
  // searched.
  void move_comments(const pb::Descriptor& type) {
    move_own(type);
    for (int i = 0; i < type.nested_type_count(); ++i) move_comments(*type.nested_type(i));
    for (int i = 0; i < type.enum_type_count(); ++i) move_comments(*type.enum_type(i));
    for (int i = 0; i < type.oneof_decl_count(); ++i) move_own(*type.oneof_decl(i));
    for (int i = 0; i < type.field_count(); ++i) move_own(*type.field(i));
  }
  void move_comments(const pb::EnumDescriptor& type) {
    move_own(type);
    for (int i = 0; i < type.value_count(); ++i) move_own(*type.value(i));
  }
  void move_comments(const pb::ServiceDescriptor& service) {
    move_own(service);
    for (int i = 0; i < service.method_count(); ++i) move_own(*service.method(i));
  }
  void move_comments(const pb::MethodDescriptor& method) { move_own(method); }

  template <class Element>
  void move_own(const Element& element) {
    const text_lines before = debug_lines(element);
    const text_lines after = with_trailing_behind(before);
    if (before == after) return;
    // Finds the element by its lines, which all have the same indentation.
    for (auto at = lines_.begin(); at != lines_.end(); ++at) {
      const std::size_t margin = std::min(at->find_first_not_of(' '), at->size());
      const auto same = [&](const std::string& own, const std::string& line) {
        return own.empty() ? line.empty()
                           : line.size() >= margin && line.compare(margin, line.npos, own) == 0;
      };
      if (static_cast<std::size_t>(lines_.end() - at) < before.size()) return;
      if (!std::equal(before.begin(), before.end(), at, same)) continue;
      const std::string indent(margin, ' ');
      for (const std::string& line : after) *at++ = line.empty() ? line : indent + line;
      lines_.erase(at, at + static_cast<std::ptrdiff_t>(before.size() - after.size()));
      return;
    }
  }

  text_lines lines_;
};

}  // namespace

std::string commented_text(const pb::Descriptor& type) { return definition(type).text(); }
std::string commented_text(const pb::EnumDescriptor& type) { return definition(type).text(); }
std::string commented_text(const pb::ServiceDescriptor& service) { return definition(service).text(); }
std::string commented_text(const pb::MethodDescriptor& method) { return definition(method).text(); }

}  // namespace coracle::tools
