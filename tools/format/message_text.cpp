#include "tools/format/message_text.hpp"

#include "tools/failure.hpp"
#include "tools/format/invalid_message.hpp"
#include "tools/schema/schema.hpp"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <cstddef>

namespace coracle::tools {

namespace pb = google::protobuf;

namespace {

// Keeps the first error; those after it are mostly its consequences.
class first_error final : public pb::io::ErrorCollector {
 public:
  // protobuf calls the first before its version 22, and the second from then on: neither can be marked
  // `override`. NOLINTBEGIN(modernize-use-override)
  void AddError(int line, pb::io::ColumnNumber column, const std::string& why) {
    RecordError(line, column, why);
  }
  void RecordError(int line, pb::io::ColumnNumber column, std::string_view why) {
    if (!reason.empty()) return;
    at = {static_cast<std::size_t>(line) + 1, static_cast<std::size_t>(column) + 1};
    reason = why;
  }
  // NOLINTEND(modernize-use-override)
  text_place at;
  std::string reason;
};

}  // namespace

std::string message_text::text(std::string_view bytes, bool indented) {
  const auto message = types_.make(type_);
  if (!message->ParsePartialFromString(std::string(bytes)))
    throw failure("a message of " + std::to_string(bytes.size()) + " bytes is not a valid " +
                  std::string(type_.full_name()) + ": are the definitions those of the server?");
  pb::TextFormat::Printer printer;
  printer.SetExpandAny(true);
  printer.SetSingleLineMode(!indented);
  std::string text;
  (void)printer.PrintToString(*message, &text);  // a string takes all text
  while (text.ends_with('\n') || text.ends_with(' ')) text.pop_back();
  return text;
}

void message_text::add_lines(const message_batch& all, std::string& to, std::string& errors) {
  std::size_t at = 0;
  while (const auto one = all.next(at)) try {
      const std::string lines = text(*one, true);
      to.append(lines).append(lines.empty() ? "---\n" : "\n---\n");
    } catch (const failure& error) {
      errors.append(error.what()).append("\n");
    }
}

std::string message_text::bytes(std::string_view text) {
  const auto message = types_.make(type_);
  first_error error;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), message.get()))
    throw invalid_message(text, type_, error.at, error.reason);
  return message->SerializeAsString();
}

void message_text::add_messages(std::span<const std::string_view> texts, message_batch& to) {
  for (const std::string_view one : texts) to.add(bytes(one));
}

}  // namespace coracle::tools
