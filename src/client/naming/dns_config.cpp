#include "client/naming/dns_config.hpp"

#include "rpc/json_document.hpp"
#include "rpc/json_syntax.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace coracle::client {

namespace {

using nlohmann::json;

status wrong_choices(std::string_view problem) {
  return status::invalid_argument("the record \"grpc_config=\" is invalid: " + std::string(problem));
}

std::string in_lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// An empty list selects every client, as one that is missing does.
result<bool> lists(const json& choice, const char* name, std::string_view wanted) {
  const auto found = choice.find(name);
  if (found == choice.end() || found->is_null()) return true;
  if (!found->is_array() || std::ranges::any_of(*found, [](const json& one) { return !one.is_string(); }))
    return wrong_choices(std::string(name) + " must be a list of strings");
  return found->empty() || std::ranges::any_of(*found, [&](const json& one) {
           return in_lower_case(one.get<std::string>()) == wanted;
         });
}

result<bool> is_for_this_client(const json& choice, std::string_view host_name, unsigned percent) {
  if (!choice.is_object()) return wrong_choices("each choice must be an object");
  constexpr std::string_view language = "c++";
  for (const auto& [name, wanted] : {std::pair{"clientLanguage", std::string(language)},
                                     {"clientHostName", in_lower_case(std::string(host_name))}}) {
    result<bool> listed = lists(choice, name, wanted);
    if (!listed.ok() || !*listed) return listed;
  }
  const auto percentage = choice.find("percentage");
  if (percentage == choice.end() || percentage->is_null()) return true;
  if (!percentage->is_number_unsigned() || percentage->get<std::uint64_t>() > 100)
    return wrong_choices("percentage must be a whole number from 0 to 100");
  return percent < percentage->get<std::uint64_t>();
}

}  // namespace

result<std::string> choose_dns_config(const std::vector<std::string>& texts, std::string_view host_name,
                                      unsigned percent) {
  constexpr std::string_view prefix = "grpc_config=";
  const auto text =
      std::ranges::find_if(texts, [&](const std::string& one) { return one.starts_with(prefix); });
  if (text == texts.end()) return std::string();
  const std::string_view choices_text = std::string_view(*text).substr(prefix.size());
  if (const status valid = rpc::check_json(choices_text); !valid.ok()) return wrong_choices(valid.message());
  const rpc::json_document document(choices_text);
  if (!document.whole().is_array()) return wrong_choices("it must be a list of choices");
  for (const json& choice : document.whole()) {
    const result<bool> chosen = is_for_this_client(choice, host_name, percent);
    if (!chosen.ok()) return chosen.status();
    if (!*chosen) continue;
    const auto config = choice.find("serviceConfig");
    if (config == choice.end() || !config->is_object()) return wrong_choices("a choice has no serviceConfig");
    return config->dump();
  }
  return std::string();
}

}  // namespace coracle::client
